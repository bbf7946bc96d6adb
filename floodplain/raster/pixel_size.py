"""How many bytes a pixel of a band takes, and in which type a warp works.

Names are rasterio's. Not numpy's itemsize: numpy knows no `complex_int16`, and the arithmetic runs without numpy.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodplain.problem import RuleError, did_you_mean

_BYTES = {
    "uint8": 1,
    "int8": 1,
    "uint16": 2,
    "int16": 2,
    "float16": 2,
    "uint32": 4,
    "int32": 4,
    "float32": 4,
    "uint64": 8,
    "int64": 8,
    "float64": 8,
    "complex_int16": 4,
    "complex64": 8,
    "complex128": 16,
}
_ALIASES = {"ubyte": "uint8", "byte": "uint8", "sbyte": "int8", "complex": "complex128", "float": "float64"}
_MANTISSA_BITS = {"float16": 11, "float32": 24, "float64": 53}


def itemsize(dtype: str) -> int:
    """Bytes of one pixel of one band. GDAL's CInt32 is `complex64` in rasterio, 8 bytes like it.

    Raises RuleError for a name that rasterio does not know.
    """
    return _BYTES[_known(dtype)]


def array_dtype(dtype: str) -> str:
    """The type of an array that rasterio reads such a band into: `complex_int16` becomes `complex64`, twice as wide."""
    return "complex64" if dtype == "complex_int16" else dtype


def warped_dtype(dtype: str) -> str:
    """The type of the bands of a WarpedVRT over bands of this type: int8 becomes int16 (rasterio 1.4 takes GDAL's union
    with uint8)."""
    return "int16" if _known(dtype) == "int8" else dtype


def widest(dtypes: Iterable[str]) -> str:
    """The type in which GDAL warps bands of these types together: the narrowest that holds the values of all.

    GDAL takes one working type for all bands (GDALDataTypeUnion over the bands): uint8 with int16 is int16, uint16 with
    int16 is int32, int32 with float32 is float64. Raises RuleError when there is no type, or an unknown one.
    """
    names = [_known(dtype) for dtype in dtypes]
    if not names:
        raise RuleError("a warp needs at least one band", "give the dtype of every band")
    found = names[0]
    for name in names[1:]:
        found = _union(found, name)
    return found


def _known(dtype: str) -> str:
    name = _ALIASES.get(dtype.lower(), dtype.lower())
    if name not in _BYTES:
        raise RuleError(
            "is no data type of a band", did_you_mean(dtype, _BYTES) or f"one of {', '.join(_BYTES)}", (), dtype
        )
    return name


def _union(one: str, other: str) -> str:
    if one == other:
        return one
    if _is_complex(one) or _is_complex(other):
        return _complex_over(_union(_part(one), _part(other)))
    if one.startswith("float") or other.startswith("float"):
        return _float_over(one, other)
    return _integer_over(one, other)


def _is_complex(dtype: str) -> bool:
    return dtype.startswith("complex")


def _part(dtype: str) -> str:
    """The type of the real part."""
    return {"complex_int16": "int16", "complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _complex_over(part: str) -> str:
    if part in {"int8", "uint8", "int16"}:
        return "complex_int16"
    return "complex64" if part in {"uint16", "int32", "uint32", "float16", "float32"} else "complex128"


def _float_over(one: str, other: str) -> str:
    floats = [dtype for dtype in (one, other) if dtype.startswith("float")]
    bits = max((_value_bits(dtype) for dtype in (one, other) if not dtype.startswith("float")), default=0)
    least = max(floats, key=itemsize)
    for name in ("float16", "float32", "float64"):
        if itemsize(name) >= itemsize(least) and _MANTISSA_BITS[name] >= bits:
            return name
    return "float64"


def _value_bits(dtype: str) -> int:
    return 8 * itemsize(dtype) - (0 if dtype.startswith("u") else 1)


def _integer_over(one: str, other: str) -> str:
    bits = max(_value_bits(one), _value_bits(other))
    if one.startswith("u") and other.startswith("u"):
        return f"uint{bits}"
    for width in (8, 16, 32, 64):
        if width - 1 >= bits:
            return f"int{width}"
    return "float64"
