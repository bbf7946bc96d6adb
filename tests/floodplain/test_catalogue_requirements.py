"""Selection of types by NodePool requirements, as Karpenter reads labels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floodplain.catalogue import InstanceType, Requirement, load, matches, select
from floodplain.catalogue.requirements import OPERATORS, Operator
from floodplain.problem import RuleError

AWS = "karpenter.k8s.aws/"
TYPES = {kind.name: kind for kind in load()}
R6ID = TYPES["r6id.2xlarge"]


def admits(kind: InstanceType, name: str, operator: Operator, *values: str) -> bool:
    key = name if "/" in name else f"{AWS}instance-{name}"
    return matches(kind, Requirement(key, operator, values))


@pytest.mark.parametrize(
    ("name", "operator", "values", "wanted"),
    [
        ("family", "In", ("r6id", "m6id"), True),
        ("family", "In", ("m6id",), False),
        ("family", "NotIn", ("m6id",), True),
        ("family", "NotIn", ("r6id",), False),
        ("family", "NotIn", (), True),
        ("family", "Exists", (), True),
        ("family", "DoesNotExist", (), False),
        ("category", "In", ("c", "m", "r"), True),
        ("generation", "Gt", ("5",), True),
        ("generation", "Gt", ("6",), False),
        ("generation", "Gte", ("6",), True),
        ("generation", "Lt", ("6",), False),
        ("generation", "Lte", ("6",), True),
        ("generation", "Lt", ("7",), True),
        ("cpu", "In", ("4", "8", "16"), True),
        ("cpu", "In", ("08",), False),
        ("memory", "Gt", ("65535",), True),
        ("memory", "Gte", ("65536",), True),
        ("memory", "Gt", ("65536",), False),
        # Decimal GB: 474, not 441 (GiB).
        ("local-nvme", "Gt", ("473",), True),
        ("local-nvme", "Gt", ("474",), False),
        ("size", "In", ("2xlarge",), True),
        ("size", "Gt", ("1",), False),
        ("hypervisor", "In", ("nitro",), True),
        ("cpu-manufacturer", "In", ("intel",), True),
        ("gpu-count", "Gt", ("0",), False),
        ("gpu-count", "Lt", ("1",), False),
        ("gpu-count", "In", ("0",), False),
        ("gpu-count", "Exists", (), False),
        ("gpu-count", "NotIn", ("1",), True),
        ("gpu-count", "DoesNotExist", (), True),
        ("gpu-name", "DoesNotExist", (), True),
        ("gpu-name", "In", ("t4",), False),
        ("accelerator-name", "DoesNotExist", (), True),
        ("encryption-in-transit-supported", "In", ("true",), True),
        ("capability-flex", "NotIn", ("true",), True),
        ("cpu-sustained-clock-speed-mhz", "Exists", (), True),
        ("network-bandwidth", "Gte", ("3125",), True),
        ("ebs-bandwidth", "Gt", ("10000",), False),
        ("kubernetes.io/arch", "In", ("amd64",), True),
        ("kubernetes.io/arch", "In", ("arm64",), False),
        ("beta.kubernetes.io/arch", "In", ("arm64",), False),
        ("node.kubernetes.io/instance-type", "In", ("r6id.2xlarge",), True),
        ("beta.kubernetes.io/instance-type", "NotIn", ("r6id.2xlarge",), False),
        # What belongs to a launch or to the user does not narrow types.
        ("karpenter.sh/capacity-type", "In", ("spot",), True),
        ("topology.kubernetes.io/zone", "In", ("eu-central-1a",), True),
        ("kubernetes.io/os", "In", ("windows",), True),
        ("tenancy", "In", ("dedicated",), True),
        ("example.org/team", "DoesNotExist", (), True),
    ],
)
def test_one_requirement_on_an_r6id_2xlarge(
    name: str, operator: Operator, values: tuple[str, ...], wanted: bool
) -> None:
    assert admits(R6ID, name, operator, *values) is wanted


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_missing_nvme_label_meets_only_not_in_and_does_not_exist(operator: Operator) -> None:
    bare = replace(R6ID, nvme_gb=0)
    assert admits(bare, "local-nvme", operator, "100") is (operator in ("NotIn", "DoesNotExist"))


def test_bare_metal_has_the_hypervisor_label_with_an_empty_value() -> None:
    metal = TYPES["r6id.metal"]
    assert not admits(metal, "hypervisor", "In", "nitro")
    assert admits(metal, "hypervisor", "NotIn", "nitro")
    assert admits(metal, "hypervisor", "Exists")


def test_a_fraction_of_a_gpu_counts_zero_but_exists() -> None:
    assert admits(TYPES["g6f.large"], "gpu-count", "In", "0")
    assert admits(TYPES["g6f.large"], "gpu-name", "Exists")


def test_select_keeps_types_that_meet_every_requirement_in_table_order() -> None:
    chosen = select(
        load(),
        [
            Requirement(f"{AWS}instance-family", "In", ("r6id", "m6id", "m6gd")),
            Requirement(f"{AWS}instance-cpu", "In", ("8", "16")),
            Requirement("kubernetes.io/arch", "In", ("amd64",)),
            Requirement(f"{AWS}instance-hypervisor", "In", ("nitro",)),
            Requirement("karpenter.sh/capacity-type", "In", ("spot",), min_values=1),
        ],
    )
    assert [kind.name for kind in chosen] == ["m6id.2xlarge", "m6id.4xlarge", "r6id.2xlarge", "r6id.4xlarge"]


def test_a_range_needs_both_requirements_on_one_key() -> None:
    chosen = select(
        load(),
        [
            Requirement(f"{AWS}instance-family", "In", ("r6id",)),
            Requirement(f"{AWS}instance-memory", "Gt", ("65536",)),
            Requirement(f"{AWS}instance-memory", "Lte", ("262144",)),
        ],
    )
    assert [kind.size for kind in chosen] == ["4xlarge", "8xlarge"]


def test_the_bare_nvme_requirement_of_the_production_files_admits_disks_that_cannot_hold_twice_the_memory() -> None:
    chosen = select(
        load(),
        [
            Requirement(f"{AWS}instance-category", "In", ("c", "m", "r", "x", "d")),
            Requirement(f"{AWS}instance-local-nvme", "Gt", ("100",)),
        ],
    )
    assert {"x2idn", "x2iedn", "d3"} <= {kind.family for kind in chosen}


def test_no_requirement_selects_everything() -> None:
    assert select(load(), []) == load()


@pytest.mark.parametrize(
    ("requirement", "path", "message"),
    [
        (Requirement("kubernetes.io/arch", "Is", ("amd64",)), ("operator",), "is not an operator"),  # type: ignore[arg-type]
        (Requirement("kubernetes.io/arch", "In"), ("values",), "needs at least one value with In"),
        (Requirement("kubernetes.io/arch", "Exists", ("x",)), ("values",), "must be empty with Exists"),
        (Requirement(f"{AWS}instance-cpu", "Gt"), ("values",), "must be one whole number with Gt"),
        (Requirement(f"{AWS}instance-cpu", "Gte", ("-1",)), ("values",), "must be one whole number with Gte"),
        (Requirement(f"{AWS}instance-cpu", "Lt", ("1", "2")), ("values",), "must be one whole number with Lt"),
        (Requirement(f"{AWS}instance-cpu", "Lte", ("1.5",)), ("values",), "must be one whole number with Lte"),
        (Requirement(f"{AWS}instance-famly", "Exists"), ("key",), "did you mean `karpenter.k8s.aws/instance-family`?"),
    ],
)
def test_a_malformed_requirement_is_refused(requirement: Requirement, path: tuple[str, ...], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        select(load(), [requirement])
    assert caught.value.path == path
    assert message in str(caught.value)


def test_values_that_the_catalogue_does_not_know_are_an_error_not_a_guess() -> None:
    with pytest.raises(RuleError, match="values the catalogue does not know"):
        select(load(), [Requirement(f"{AWS}instance-gpu-name", "In", ("t4",))])


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("node.kubernetes.io/instance-type", "r6id.2xlarge"),
        ("kubernetes.io/arch", "amd64"),
        (f"{AWS}instance-category", "r"),
        (f"{AWS}instance-family", "r6id"),
        (f"{AWS}instance-generation", "6"),
        (f"{AWS}instance-size", "2xlarge"),
        (f"{AWS}instance-cpu", "8"),
        (f"{AWS}instance-cpu-manufacturer", "intel"),
        (f"{AWS}instance-memory", "65536"),
        (f"{AWS}instance-local-nvme", "474"),
        (f"{AWS}instance-network-bandwidth", "3125"),
        (f"{AWS}instance-ebs-bandwidth", "10000"),
        (f"{AWS}instance-hypervisor", "nitro"),
        (f"{AWS}instance-encryption-in-transit-supported", "true"),
        (f"{AWS}instance-capability-flex", "false"),
    ],
)
def test_a_type_has_each_label_with_one_value(label: str, value: str) -> None:
    assert matches(R6ID, Requirement(label, "In", (value,)))
    assert not matches(R6ID, Requirement(label, "NotIn", (value,)))
    assert not matches(R6ID, Requirement(label, "In", (f"{value}0",)))
