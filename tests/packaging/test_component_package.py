"""`pulumi package add <repo>.git/components`: the clone, its own requirements, and the wire."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import errors_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from components.package import package_schema
from preview.monitor import RecordingMonitor

POOL = {
    "name": "batch",
    "families": ["r6id"],
    "limits": {"cpu": "64", "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
INPUTS = {
    "pool": POOL,
    "cluster": {"name": "theirs", "kubernetesVersion": "1.34"},
    "nodeRoleName": "their-nodes",
}


def test_the_schema_is_the_reviewed_one(golden: Any) -> None:
    golden.check("packaging/golden/schema.json", json.dumps(package_schema(), indent=2, sort_keys=True) + "\n")


def test_every_property_in_the_schema_is_described() -> None:
    schema = package_schema()
    places = {**schema["resources"], **schema["types"]}
    bare = [
        f"{token}.{name}"
        for token, shape in places.items()
        for section in ("inputProperties", "properties")
        for name, described in shape.get(section, {}).items()
        if not described.get("description")
    ]
    assert bare == []
    unexplained = [
        f"{token} {one['name']}"
        for token, shape in places.items()
        for one in shape.get("enum", ())
        if not one["description"]
    ]
    assert unexplained == []


@pytest.fixture(scope="module")
def python(new_environment: Callable[[Path], Path], clone: Path) -> Path:
    return new_environment(clone / "components" / "requirements.txt")


Construct = Callable[..., provider_pb2.ConstructResponse]


@pytest.fixture(scope="module")
def provider(
    python: Path, clone: Path, log_address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """The package started as the engine starts it: in its own folder, with the engine's address.

    One process for all tests, as it serves all of a program's components.
    """
    process = subprocess.Popen(
        [python, "__main__.py", log_address],
        cwd=clone / "components",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path_factory.mktemp("home"))},
    )
    assert process.stdout and process.stderr
    try:
        assert select.select([process.stdout], [], [], 60)[0], "the package did not say its port within 60 s"
        port = process.stdout.readline().strip()
        assert port.isdigit(), process.stderr.read()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield provider_pb2_grpc.ResourceProviderStub(channel)
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture
def construct(provider: provider_pb2_grpc.ResourceProviderStub, engine: tuple[RecordingMonitor, str]) -> Construct:
    def call(inputs: dict[str, Any], component: str = "SwapNodePool") -> provider_pb2.ConstructResponse:
        properties = struct_pb2.Struct()
        json_format.ParseDict(inputs, properties)
        answer: provider_pb2.ConstructResponse = provider.Construct(
            provider_pb2.ConstructRequest(
                project="elsewhere",
                stack="test",
                parallel=4,
                monitorEndpoint=engine[1],
                type=f"floodplain:index:{component}",
                name="batch",
                inputs=properties,
            ),
            timeout=60,
        )
        return answer

    return call


def property_errors(error: grpc.RpcError) -> dict[str, str]:
    """Path to reason. They travel in the rich status, not in the error's text."""
    (raw,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    found = {}
    for detail in status_pb2.Status.FromString(raw).details:
        message = errors_pb2.InputPropertiesError()
        assert detail.Unpack(message)
        found.update({one.property_path: one.reason for one in message.errors})
    return found


def test_the_package_started_alone_tells_the_same_schema(provider: provider_pb2_grpc.ResourceProviderStub) -> None:
    told = json.loads(provider.GetSchema(provider_pb2.GetSchemaRequest(version=0), timeout=60).schema)
    assert told == package_schema()


def test_a_pool_is_constructed_over_the_wire(construct: Construct, engine: tuple[RecordingMonitor, str]) -> None:
    state = json_format.MessageToDict(construct(INPUTS).state)
    document = json.loads(state.pop("poolDocument"))
    assert state == {
        "poolName": "batch",
        "runtimeClassName": "floodplain-batch",
        "priorityClassName": "floodplain-batch",
        "headroomDaemonSetName": "floodplain-headroom-batch",
        "taint": "floodplain.dev/pool=batch:NoSchedule",
    }
    assert "batch" in json.dumps(document)
    recording = engine[0].recording()
    assert sorted(one.type.rsplit(":", 1)[1] for one in recording.resources) == [
        "DaemonSet",
        "EC2NodeClass",
        "NodePool",
        "PriorityClass",
        "RuntimeClass",
        "SwapNodePool",
    ]
    assert recording.one(":NodePool").inputs["spec"]["limits"] == {"cpu": "64", "memory": "512Gi"}
    assert recording.one(":EC2NodeClass").inputs["spec"]["role"] == "their-nodes"


def test_sizing_is_constructed_over_the_wire_whose_numbers_are_all_doubles(
    construct: Construct, engine: tuple[RecordingMonitor, str]
) -> None:
    settings = {"compatibility": "scaleodm", "onDemandFromImages": 2000, "capacitySelector": False}
    inputs = {
        "image": f"registry.example/floodplain/service@sha256:{'a' * 64}",
        "cluster": INPUTS["cluster"],
        "pools": [POOL],
        "sizing": {"replicas": 2, "settings": settings},
    }
    state = json_format.MessageToDict(construct(inputs, "SizingService").state)
    assert state["address"] == "http://floodplain-sizing.floodplain.svc:8080"
    recording = engine[0].recording()
    assert json.loads(recording.one(":ConfigMap").inputs["data"]["sizing.json"]) == settings
    assert recording.one(":Deployment", "batch-sizing").inputs["spec"]["replicas"] == 2


def test_raster_workers_are_constructed_over_the_wire(
    construct: Construct, engine: tuple[RecordingMonitor, str]
) -> None:
    small = {"memory": "8Gi", "slots": 4, "processes": 4, "autoscaling": {"maxReplicas": 20, "cpuPercent": 60}}
    workers = {
        "name": "tiles",
        "image": "registry.example/tiles:1.2",
        "small": small,
        "big": {"memory": "64Gi", "drains": "finish"},
        "gdal": {"siblingFiles": "FALSE"},
    }
    state = json_format.MessageToDict(construct({"workers": workers}, "WorkerPools").state)
    assert (state["slots"], state["gdalCachemax"]) == (4, "128MB")
    recording = engine[0].recording()
    (container,) = recording.one(":StatefulSet").inputs["spec"]["template"]["spec"]["containers"]
    assert {"name": "GDAL_DISABLE_READDIR_ON_OPEN", "value": "FALSE"} in container["env"]
    assert recording.one(":HorizontalPodAutoscaler").inputs["spec"]["maxReplicas"] == 20

    with pytest.raises(grpc.RpcError) as caught:
        construct({"workers": {**workers, "gdal": {"cache": 512}, "small": {**small, "slots": 0}}}, "WorkerPools")
    errors = property_errors(caught.value)
    assert sorted(errors) == ["workers.gdal.cache", "workers.small.slots"]
    assert "write the unit, such as 512Mi" in errors["workers.gdal.cache"]


def test_bad_input_arrives_with_its_path_and_reason(construct: Construct) -> None:
    bad = {**POOL, "limits": {"cpu": "64", "memory": "512GB"}, "swap": {"swappiness": 300}}
    with pytest.raises(grpc.RpcError) as caught:
        construct({**INPUTS, "pool": bad})
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    errors = property_errors(caught.value)
    assert sorted(errors) == ["pool.limits.memory", "pool.swap.swappiness"]
    assert "512G (decimal)" in errors["pool.limits.memory"]
    assert "300" in errors["pool.swap.swappiness"]


def test_a_role_given_as_arn_is_told_as_such(construct: Construct) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        construct({**INPUTS, "nodeRoleName": "arn:aws:iam::111122223333:role/their-nodes"})
    errors = property_errors(caught.value)
    assert list(errors) == ["nodeRoleName"]
    assert errors["nodeRoleName"].endswith("write the role's name: their-nodes")


def test_a_missing_input_is_told_by_name(construct: Construct) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        construct({**INPUTS, "pool": {key: value for key, value in POOL.items() if key != "limits"}})
    assert list(property_errors(caught.value)) == ["pool.limits"]
