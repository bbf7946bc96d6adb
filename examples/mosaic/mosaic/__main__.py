"""The example's commands: `python -m mosaic run build/mosaic` and the parts of it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic.make_scene import make_scene
from mosaic.settings import BIG, SMALL, TIMEOUT_SECONDS
from mosaic.tiles import Tile, grid, read_tiles, write_tiles


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mosaic", description="A mosaic in two pools of workers.")
    parser.add_argument("command", choices=sorted(_COMMANDS))
    parser.add_argument("folder", type=Path, help="where rasters, tiles and the mosaic go")
    parser.add_argument("--timeout-seconds", type=float, default=TIMEOUT_SECONDS, help="of one try of one tile")
    parser.add_argument("--everything-to", choices=[SMALL, BIG], help="whatever the estimates say, to see what happens")
    given = parser.parse_args(arguments)
    given.folder = given.folder.resolve()
    return _COMMANDS[given.command](given, work_list(given.folder))


def work_list(folder: Path) -> list[Tile]:
    """The tiles of tiles.jsonl; it and the rasters are made where they are not there."""
    path = folder / "tiles.jsonl"
    if not path.exists():
        write_tiles(path, grid([str(raster) for raster in make_scene(folder / "scene")]))
    return read_tiles(path)


def _scene(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    for source in tiles[0].sources:
        print(f"{source}: {Path(source).stat().st_size / 1024:.0f} KiB")
    print(f"{given.folder / 'tiles.jsonl'}: {len(tiles)} tiles")
    return 0


def _route(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    """Needs no engine."""
    from mosaic.routes import route_tile

    for route in map(route_tile, tiles):
        print(f"{route.tile.name}  {route.place:8}  {route.why}")
    return 0


def _run(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    """Server, pools and workers of Prefect on this machine, and the flow once."""
    from mosaic.local_prefect import local_prefect

    with local_prefect(given.folder / "prefect") as prefect:
        command = [sys.executable, "-m", "mosaic", "flow", str(given.folder)]
        command += ["--timeout-seconds", str(given.timeout_seconds)]
        command += ["--everything-to", given.everything_to] if given.everything_to else []
        return subprocess.run(command, env=dict(prefect.environment), check=False).returncode


def _flow(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    """The flow alone, against the server that PREFECT_API_URL names."""
    if "PREFECT_API_URL" not in os.environ:
        print("PREFECT_API_URL names no server; `run` starts one", file=sys.stderr)
        return 1
    from mosaic.flows import mosaic

    state = mosaic(
        list(tiles), str(given.folder), given.timeout_seconds, everything_to=given.everything_to, return_state=True
    )
    if not state.is_completed():
        print(state.message, file=sys.stderr)
        return 1
    print(given.folder / "mosaic.vrt")
    return 0


def _kueue(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    """The manifests, one JSON document a line, as `kubectl apply -f -` reads them."""
    from mosaic.kueue import jobs, queues
    from mosaic.routes import route_tile

    for manifest in [*queues(), *jobs([route_tile(tile) for tile in tiles])]:
        print(json.dumps(manifest))
    return 0


def _assemble(given: argparse.Namespace, tiles: Sequence[Tile]) -> int:
    """After Jobs that nobody waited for: the mosaic of the tiles that are there, and the names of the others."""
    from mosaic.assemble import assemble
    from mosaic.routes import Place, route_tile

    wanted = [tile for tile in tiles if route_tile(tile).place is not Place.SKIPPED]
    there = [tile for tile in wanted if (given.folder / "tiles" / f"{tile.name}.tif").exists()]
    if there:
        print(assemble(there, given.folder))
    missing = [tile.name for tile in wanted if tile not in there]
    if missing:
        print(f"{len(missing)} tiles are missing: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


_COMMANDS: dict[str, Callable[[argparse.Namespace, Sequence[Tile]], int]] = {
    "scene": _scene,
    "route": _route,
    "run": _run,
    "flow": _flow,
    "kueue": _kueue,
    "assemble": _assemble,
}

if __name__ == "__main__":
    sys.exit(main())
