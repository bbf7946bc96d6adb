"""Reading EC2: what moto says of instance types becomes a table, and failures become messages."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import botocore.session  # type: ignore[import-untyped]
import pytest
from botocore.stub import Stubber  # type: ignore[import-untyped]
from moto import mock_aws

from floodplain.catalogue import InstanceType, load
from floodplain.catalogue.described import instance_type
from floodplain.catalogue.refresh import (
    Changed,
    Changes,
    RefreshError,
    compare,
    default_output,
    read_region,
    refresh,
    sort_types,
)
from floodplain.catalogue.table import parse

REGION = "eu-central-1"
PACKAGED = {kind.name: kind for kind in load()}


@pytest.fixture(autouse=True)
def _no_real_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.fixture(scope="module")
def read() -> dict[str, InstanceType]:
    with mock_aws():
        return {kind.name: kind for kind in read_region(REGION)}


@cache
def moto_infos() -> dict[str, dict[str, Any]]:
    """Moto needs seconds for an answer, so all tests share one."""
    names = ["r6id.2xlarge", "m6id.large"]
    with mock_aws():
        client = boto3.Session(region_name=REGION).client("ec2")
        answer = client.describe_instance_types(InstanceTypes=names)
    return {info["InstanceType"]: info for info in answer["InstanceTypes"]}


def described(name: str) -> dict[str, Any]:
    return deepcopy(moto_infos()[name])


def test_what_ec2_says_equals_the_packaged_facts(read: dict[str, InstanceType]) -> None:
    """All columns but two: bandwidth has another source, and moto counts cards of the four largest i types anew."""
    differing = {"i7ie.48xlarge", "i7ie.metal-48xl", "i8ge.48xlarge", "i8ge.metal-48xl"}
    shared = sorted(read.keys() & PACKAGED.keys())
    assert len(shared) > 500
    for name in shared:
        wanted = replace(PACKAGED[name], network_mbps=read[name].network_mbps)
        if name in differing:
            wanted = replace(wanted, pods=read[name].pods)
        assert read[name] == wanted


def test_only_types_with_local_nvme_that_kubernetes_runs_on_are_kept(read: dict[str, InstanceType]) -> None:
    assert "m6i.large" not in read  # no instance store
    assert "m3.large" not in read  # an instance store without NVMe
    assert not [name for name in read if name.startswith("mac")]
    assert {kind.storage for kind in read.values() if kind.family == "d3"} == {"hdd"}


def test_pods_are_counted_on_the_default_network_card() -> None:
    info = described("r6id.2xlarge")
    network = {
        **info["NetworkInfo"],
        "DefaultNetworkCardIndex": 1,
        "NetworkCards": [{"MaximumNetworkInterfaces": 15}, {"MaximumNetworkInterfaces": 3}],
        "Ipv4AddressesPerInterface": 10,
    }
    kind = instance_type({**info, "NetworkInfo": network})
    assert kind is not None
    assert (kind.pods, kind.network_mbps) == (3 * 9 + 2, None)


@pytest.mark.parametrize(
    "change",
    [
        {"InstanceStorageInfo": None},
        {"InstanceStorageInfo": {"TotalSizeInGB": 100, "NvmeSupport": "unsupported"}},
        {"InstanceStorageInfo": {"TotalSizeInGB": 0, "NvmeSupport": "required"}},
        {"ProcessorInfo": {"SupportedArchitectures": ["arm64_mac"]}},
        {"InstanceType": "nonsense"},
    ],
)
def test_other_types_are_left_out(change: dict[str, Any]) -> None:
    assert instance_type({**described("r6id.2xlarge"), **change}) is None


def test_facts_that_ec2_leaves_out_are_empty() -> None:
    info = {**described("r6id.2xlarge"), "EbsInfo": {"EbsOptimizedSupport": "unsupported"}}
    info["ProcessorInfo"] = {"SupportedArchitectures": ["i386", "x86_64"]}
    kind = instance_type(info)
    assert kind is not None
    assert (kind.ebs_mbps, kind.cpu_manufacturer, kind.arch) == (None, "", "amd64")


def test_a_first_refresh_adds_every_type_and_a_second_changes_nothing(
    tmp_path: Path, read: dict[str, InstanceType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floodplain.catalogue.refresh.read_region", lambda region: tuple(read.values()))
    output = tmp_path / "types.tsv"
    first = refresh(output, REGION)
    written = output.read_bytes()
    second = refresh(output, REGION)
    assert len(first.added) == len(parse(output.read_text())) > 500
    assert second == Changes()
    assert output.read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["types.tsv"]
    assert output.stat().st_mode & 0o777 == 0o644


def test_every_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    infos = [described(name) for name in ("r6id.2xlarge", "m6id.large")]
    client = botocore.session.get_session().create_client("ec2", region_name=REGION)
    filters = [{"Name": "instance-storage-supported", "Values": ["true"]}]
    with Stubber(client) as stub:
        stub.add_response(
            "describe_instance_types", {"InstanceTypes": infos[:1], "NextToken": "more"}, {"Filters": filters}
        )
        stub.add_response(
            "describe_instance_types", {"InstanceTypes": infos[1:]}, {"Filters": filters, "NextToken": "more"}
        )
        monkeypatch.setattr(boto3.Session, "client", lambda *args, **options: client)
        assert [kind.name for kind in read_region(REGION)] == ["r6id.2xlarge", "m6id.large"]


def test_what_changed_is_told_by_column() -> None:
    old = {"a": PACKAGED["r6id.large"], "b": PACKAGED["r6id.xlarge"], "c": PACKAGED["m6id.large"]}
    new = [replace(old["a"], pods=30, gpu_count=1), old["b"], PACKAGED["c6id.large"]]
    assert compare(old.values(), new) == Changes(
        added=("c6id.large",),
        removed=("m6id.large",),
        changed=(Changed("r6id.large", (("pods", 29, 30), ("gpu_count", None, 1))),),
    )


def test_types_are_sorted_by_family_and_size_with_bare_metal_last() -> None:
    names = ["r6id.metal", "r6id.16xlarge", "r6id.2xlarge", "m6id.large"]
    assert [kind.name for kind in sort_types(PACKAGED[name] for name in names)] == [
        "m6id.large",
        "r6id.2xlarge",
        "r6id.16xlarge",
        "r6id.metal",
    ]


def failing(code: str, monkeypatch: pytest.MonkeyPatch) -> str:
    client = botocore.session.get_session().create_client("ec2", region_name=REGION)
    with Stubber(client) as stub:
        stub.add_client_error("describe_instance_types", code, "said EC2")
        monkeypatch.setattr(boto3.Session, "client", lambda *args, **options: client)
        with pytest.raises(RefreshError) as caught:
            read_region(REGION)
    return str(caught.value)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("UnauthorizedOperation", "These credentials lack ec2:DescribeInstanceTypes."),
        ("AuthFailure", "Sign in anew"),
        ("RequestExpired", "have expired"),
        ("OptInRequired", "not enabled this region"),
        ("InternalError", "said EC2."),
    ],
)
def test_what_ec2_refuses_is_told_with_advice(code: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    message = failing(code, monkeypatch)
    assert message.startswith("EC2 cannot be read: ")
    assert advice in message


def test_no_region_is_told() -> None:
    with pytest.raises(RefreshError, match=r"No AWS region is set. Give --region"):
        read_region()


def test_no_credentials_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(RefreshError, match="No AWS credentials were found"):
        read_region(REGION)


@pytest.mark.parametrize(("region", "advice"), [("bad region", "Give --region the name"), ("x" * 300, "EC2 cannot")])
def test_a_name_that_is_no_region_is_told(region: str, advice: str) -> None:
    with pytest.raises(RefreshError, match=advice):
        read_region(region)


def test_a_profile_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(RefreshError, match="Set AWS_PROFILE to a profile that exists"):
        read_region(REGION)


@pytest.fixture
def two_types(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (PACKAGED["r6id.large"], PACKAGED["m6id.large"])
    monkeypatch.setattr("floodplain.catalogue.refresh.read_region", lambda region: kinds)


def test_a_damaged_table_is_not_overwritten(two_types: None, tmp_path: Path) -> None:
    output = tmp_path / "types.tsv"
    output.write_text("not a table")
    with pytest.raises(
        RefreshError, match=r"types.tsv, line 1: is not a catalogue[^\n]*\nName another file, or remove"
    ):
        refresh(output)
    assert output.read_text() == "not a table"


def test_a_binary_file_is_not_overwritten(two_types: None, tmp_path: Path) -> None:
    output = tmp_path / "types.tsv"
    output.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RefreshError, match="cannot be read"):
        refresh(output)


def test_a_folder_that_does_not_exist_is_told(two_types: None, tmp_path: Path) -> None:
    with pytest.raises(RefreshError, match=r"cannot be written \(No such file or directory\)"):
        refresh(tmp_path / "nowhere" / "types.tsv")


def test_a_failed_write_leaves_the_old_table_and_no_other_file(
    two_types: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "types.tsv"
    refresh(output)
    before = output.read_bytes()

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RefreshError, match="No space left on device"):
        refresh(output)
    assert output.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["types.tsv"]


def test_the_mode_of_the_old_table_is_kept(two_types: None, tmp_path: Path) -> None:
    output = tmp_path / "types.tsv"
    refresh(output)
    output.chmod(0o640)
    refresh(output)
    assert output.stat().st_mode & 0o777 == 0o640


def test_an_empty_answer_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floodplain.catalogue.refresh.read_region", lambda region: ())
    with pytest.raises(RefreshError, match="nothing was written"):
        refresh(tmp_path / "types.tsv")
    assert not list(tmp_path.iterdir())


def test_the_default_output_is_the_packaged_table() -> None:
    assert parse(default_output().read_text()) == load()
