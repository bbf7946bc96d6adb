"""Puts the tiles together: a VRT, which names them and holds no pixels. GDAL, QGIS and rasterio read it as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rasterio.crs import CRS

from mosaic.tiles import Tile

_BANDS = ("Red", "Green", "Blue", "Alpha")


def assemble(tiles: Sequence[Tile], folder: Path) -> Path:
    """The mosaic of these tiles, which lie in the folder already and are of one grid. Written whole, then named."""
    path = folder / "mosaic.vrt"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(vrt(tiles), encoding="utf-8")
    return unfinished.rename(path)


def vrt(tiles: Sequence[Tile]) -> str:
    """The text of the mosaic. Raises ValueError where there is no tile: that is no raster."""
    if not tiles:
        raise ValueError("no tile was built: a mosaic needs one at least")
    first = tiles[0]
    metres = (first.bounds[2] - first.bounds[0]) / first.width
    left, top = min(tile.bounds[0] for tile in tiles), max(tile.bounds[3] for tile in tiles)
    right, bottom = max(tile.bounds[2] for tile in tiles), min(tile.bounds[1] for tile in tiles)
    size = {"rasterXSize": str(round((right - left) / metres)), "rasterYSize": str(round((top - bottom) / metres))}
    root = ElementTree.Element("VRTDataset", size)
    ElementTree.SubElement(root, "SRS").text = CRS.from_user_input(first.crs).to_wkt()
    ElementTree.SubElement(root, "GeoTransform").text = f"{left!r}, {metres!r}, 0.0, {top!r}, 0.0, {-metres!r}"
    for number, color in enumerate(_BANDS, start=1):
        band = ElementTree.SubElement(root, "VRTRasterBand", {"dataType": "Byte", "band": str(number)})
        ElementTree.SubElement(band, "ColorInterp").text = color
        for tile in tiles:
            source = ElementTree.SubElement(band, "SimpleSource")
            name = ElementTree.SubElement(source, "SourceFilename", {"relativeToVRT": "1"})
            name.text = f"tiles/{tile.name}.tif"
            ElementTree.SubElement(source, "SourceBand").text = str(number)
            whole = {"xSize": str(tile.width), "ySize": str(tile.height)}
            ElementTree.SubElement(source, "SrcRect", {"xOff": "0", "yOff": "0", **whole})
            place = {
                "xOff": str(round((tile.bounds[0] - left) / metres)),
                "yOff": str(round((top - tile.bounds[3]) / metres)),
            }
            ElementTree.SubElement(source, "DstRect", {**place, **whole})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
