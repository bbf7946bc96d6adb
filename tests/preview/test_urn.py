from __future__ import annotations

import pytest

from preview.urn import Urn, child, parse

STACK = "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"
OUTER = "urn:pulumi:dev::shop::shop:index:Outer::outer"


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        ("", "urn:pulumi:dev::shop::aws:sqs/queue:Queue::q"),
        (STACK, "urn:pulumi:dev::shop::aws:sqs/queue:Queue::q"),
        (OUTER, "urn:pulumi:dev::shop::shop:index:Outer$aws:sqs/queue:Queue::q"),
        (
            "urn:pulumi:dev::shop::shop:index:Outer$shop:index:Inner::inner",
            "urn:pulumi:dev::shop::shop:index:Outer$shop:index:Inner$aws:sqs/queue:Queue::q",
        ),
    ],
)
def test_a_child_carries_every_component_above_it_but_not_the_stack(parent: str, expected: str) -> None:
    assert child(parent, "aws:sqs/queue:Queue", "q", stack="dev", project="shop") == expected


def test_a_name_may_hold_double_colons() -> None:
    text = "urn:pulumi:dev::shop::a:b:C$d:e:F::one::two"
    assert parse(text) == Urn("dev", "shop", ("a:b:C", "d:e:F"), "one::two")
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", ["", "urn:pulumi:dev::shop", "arn:aws:iam::1:role/x"])
def test_what_is_no_urn_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not a resource name; it must look like urn:pulumi:stack::project"):
        parse(text)
