"""Sizes of pixels and the type of a warp."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.problem import RuleError
from floodplain.raster.kernel import radius
from floodplain.raster.pixel_size import itemsize, widest

NAMES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")
COMPLEX = ("complex_int16", "complex64", "complex128")


@pytest.mark.parametrize("dtype", [*NAMES, "complex64", "complex128"])
def test_sizes_are_numpys_where_numpy_has_the_type(dtype: str) -> None:
    numpy = pytest.importorskip("numpy")
    assert itemsize(dtype) == numpy.dtype(dtype).itemsize


def test_complex_int16_is_two_numbers_of_two_bytes() -> None:
    assert itemsize("complex_int16") == 4


def test_an_unknown_type_is_told_with_the_nearest() -> None:
    with pytest.raises(RuleError, match="is no data type of a band; did you mean `float32`") as told:
        itemsize("flaot32")
    assert told.value.value == "flaot32"


@pytest.mark.parametrize(
    ("dtypes", "working"),
    [
        (("uint8",), "uint8"),
        (("uint8", "uint8", "uint16"), "uint16"),
        (("uint8", "int16"), "int16"),
        (("uint8", "int8"), "int16"),
        (("uint16", "int16"), "int32"),
        (("uint32", "int16"), "int64"),
        (("uint64", "int8"), "float64"),
        (("uint16", "float32"), "float32"),
        (("int32", "float32"), "float64"),
        (("float32", "float64"), "float64"),
        (("complex_int16", "uint8"), "complex_int16"),
        (("complex_int16", "float32"), "complex64"),
        (("complex64", "float64"), "complex128"),
    ],
)
def test_a_warp_works_in_the_narrowest_type_for_all_bands(dtypes: tuple[str, ...], working: str) -> None:
    assert widest(dtypes) == working


def test_no_bands_have_no_type() -> None:
    with pytest.raises(RuleError, match="at least one band"):
        widest(())


@given(st.lists(st.sampled_from([*NAMES, *COMPLEX]), min_size=1, max_size=5))
def test_the_working_type_is_as_wide_as_each_band(dtypes: list[str]) -> None:
    assert itemsize(widest(dtypes)) >= max(map(itemsize, dtypes))


@pytest.mark.parametrize(
    ("resampling", "pixels"), [("nearest", 0), ("bilinear", 1), ("cubic", 2), ("cubic_spline", 2), ("lanczos", 3)]
)
def test_kernels_reach_as_far_as_gdals(resampling: str, pixels: int) -> None:
    assert radius(resampling) == pixels


def test_every_resampling_of_rasterio_has_a_radius() -> None:
    enums = pytest.importorskip("rasterio.enums")
    assert {one.name: radius(one.name) >= 0 for one in enums.Resampling} == dict.fromkeys(
        (one.name for one in enums.Resampling), True
    )


def test_an_unknown_resampling_is_told_with_the_nearest() -> None:
    with pytest.raises(RuleError, match="is no resampling of rasterio; did you mean `lanczos`"):
        radius("lanzcos")
