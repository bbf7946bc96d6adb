"""Kubernetes quantities: every suffix, exactly, and refused texts with a hint."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from floodplain import quantity
from floodplain.problem import problems_of
from floodplain.quantity import BytesText, QuantityError, QuantityText


class Sized(BaseModel):
    memory: QuantityText = "1Gi"
    disk: BytesText = "1Gi"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("1000m", 1),
        ("2000000u", 2),
        ("3000000000n", 3),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("0.5Gi", 2**29),
        (".5Gi", 2**29),
        ("5.", 5),
        ("1.1G", 1_100_000_000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1500e-2", 15),
        ("1E0", 1),
        ("0.1e1", 1),
        (17, 17),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_every_suffix_is_read_exactly(text: str | int, wanted: int) -> None:
    assert quantity.to_bytes(text) == wanted


def test_what_a_double_would_blur_stays_exact() -> None:
    assert quantity.to_bytes("9007199254740993") == 2**53 + 1
    assert quantity.exact("0.1") == Fraction(1, 10)
    assert quantity.exact("1n") == Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10GB", "'10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)"),
        ("10gb", "'10gb' is not a quantity; write 10G (decimal) or 10Gi (binary)"),
        ("10 Gi", "'10 Gi' is not a quantity; write 10Gi"),
        (" 10Gi", "' 10Gi' is not a quantity; write 10Gi"),
        ("10GiB", "'10GiB' is not a quantity; write 10Gi"),
        ("10gi", "'10gi' is not a quantity; write 10Gi"),
        ("10KB", "'10KB' is not a quantity; write 10k (decimal) or 10Ki (binary)"),
        ("10K", "'10K' is not a quantity; write 10k (decimal) or 10Ki (binary)"),
        ("10B", "'10B' is not a quantity; write 10"),
        ("1,5Gi", "'1,5Gi' is not a quantity; write 1.5Gi"),
        ("1_000Mi", "'1_000Mi' is not a quantity; write 1000Mi"),
        ("1e", "'1e' is not a quantity; write 1E (decimal) or 1Ei (binary)"),
        ("-1Gi", "'-1Gi' is negative; write zero or more"),
        ("1.5", "'1.5' is not a whole number of bytes; write whole bytes or a smaller unit, such as 1536Mi for 1.5Gi"),
        ("10m", "'10m' is not a whole number of bytes; `m` means a thousandth: write 10M (decimal) or 10Mi (binary)"),
        ("8Ei", "'8Ei' is above 2^63 - 1, the largest quantity of Kubernetes; write less"),
        ("1e999", "'1e999' is above 2^63 - 1, the largest quantity of Kubernetes; write less"),
        (1.5, "1.5 is not a quantity; put it in quotes: '1.5'"),
    ],
)
def test_a_refused_text_is_named_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        quantity.to_bytes(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["", ".", "+", "Gi", "1.2.3", "1ee3", "1e1.5", "0x10", "\uff11Gi", "1Gi\n", "NaN", "inf", "1" * 65, "ten"]
)
def test_other_nonsense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity; write"):
        quantity.to_bytes(text)


@pytest.mark.parametrize("value", [True, None, [], b"1Gi"])
def test_values_of_other_types_are_refused(value: object) -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        quantity.to_bytes(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1024, "1Ki"),
        (16 << 20, "16Mi"),
        (1536 << 20, "1536Mi"),
        (2**60, "1Ei"),
        (2**62, "4Ei"),
    ],
)
def test_bytes_are_written_with_the_largest_binary_suffix_that_is_exact(count: int, text: str) -> None:
    assert quantity.from_bytes(count) == text


@pytest.mark.parametrize(
    ("text", "millicores"),
    [("2", 2000), ("100m", 100), ("0.5", 500), ("1500m", 1500), (4, 4000), ("1e-3", 1), ("2k", 2_000_000)],
)
def test_cpu_is_read_in_millicores(text: str | int, millicores: int) -> None:
    assert quantity.to_millicores(text) == millicores


def test_cpu_finer_than_a_millicore_is_refused() -> None:
    with pytest.raises(QuantityError, match="finer than 1m"):
        quantity.to_millicores("0.0005")


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_bytes_survive_writing_and_reading(count: int) -> None:
    assert quantity.to_bytes(quantity.from_bytes(count)) == count


@given(st.integers(min_value=0, max_value=10**9))
def test_millicores_survive_writing_and_reading(count: int) -> None:
    assert quantity.to_millicores(quantity.from_millicores(count)) == count


@given(
    st.integers(min_value=0, max_value=10**6),
    st.integers(min_value=0, max_value=3),
    st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
def test_a_decimal_point_only_shifts_the_number(digits: int, places: int, suffix: str) -> None:
    text = f"{digits:0{places + 1}d}"
    shifted = f"{text[:-places]}.{text[-places:]}{suffix}" if places else f"{text}{suffix}"
    assert quantity.exact(shifted) * 10**places == quantity.exact(f"{digits}{suffix}")


@given(st.text(max_size=12))
def test_any_text_gives_a_number_or_a_quantity_error(text: str) -> None:
    try:
        assert quantity.to_bytes(text) >= 0
    except QuantityError as error:
        assert error.rule


def test_a_field_keeps_the_text_as_written_and_takes_whole_yaml_numbers() -> None:
    assert Sized.model_validate({"memory": "0.50Gi", "disk": 10}) == Sized(memory="0.50Gi", disk="10")


def test_a_field_reports_rule_and_remedy() -> None:
    with pytest.raises(ValidationError) as caught:
        Sized.model_validate({"memory": "10GB", "disk": "100m"})
    assert [str(problem) for problem in problems_of(caught.value, Sized)] == [
        "memory: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)",
        "disk: '100m' is not a whole number of bytes; `m` means a thousandth: write 100M (decimal) or 100Mi (binary)",
    ]


def test_the_schema_tells_editors_the_pattern() -> None:
    schema = Sized.model_json_schema()["properties"]["memory"]
    assert schema["anyOf"][0]["type"] == "string"
    assert schema["anyOf"][1] == {"type": "integer", "minimum": 0}
