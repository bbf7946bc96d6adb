from __future__ import annotations

import asyncio
import json
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import pytest
from pulumi import Alias, CustomTimeouts, InvokeOptions, ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource

from preview import document
from preview.outputs import Apply, Plan
from preview.recorder import DuplicateUrnError, record
from preview.recording import Message, Recorded
from preview.wire import SECRET, UNKNOWN

STACK = "urn:pulumi:test::floodplain::"
OUTER = "test:index:Outer"


class Outer(pulumi.ComponentResource):
    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__(OUTER, name, {"size": 1}, opts)
        self.role = aws.iam.Role(
            f"{name}-role",
            name="worker",
            assume_role_policy="{}",
            opts=ResourceOptions(parent=self, aliases=[Alias(name=f"{name}-rolle")], protect=True),
        )
        self.facts = kubernetes.core.v1.ConfigMap(
            f"{name}-facts",
            metadata={"name": "facts", "namespace": "jobs"},
            data={"arn": self.role.arn, "hush": pulumi.Output.secret("secret")},
            opts=ResourceOptions(
                parent=self,
                depends_on=[self.role],
                custom_timeouts=CustomTimeouts(delete="5m"),
                ignore_changes=["data.ignored"],
                retain_on_delete=True,
                delete_before_replace=False,
                replace_on_changes=["data.arn"],
                additional_secret_outputs=["data"],
                deleted_with=self.role,
                version="4.1.0",
            ),
        )
        self.register_outputs({"roleArn": self.role.arn, "plain": 1})


def program() -> None:
    region = aws.Provider("aws", region="us-gov-west-1")
    found = aws.eks.get_cluster_output(name="small", opts=InvokeOptions(provider=region))
    inside = kubernetes.Provider("inside", kubeconfig=pulumi.Output.secret("{}"), cluster_identifier=found.arn)
    outer = Outer("outer", ResourceOptions(providers=[region, inside], aliases=[Alias(name="old")]))
    aws.sqs.Queue.get("queue", "https://sqs/queue", opts=ResourceOptions(provider=region))
    pulumi.export("arn", outer.role.arn)
    pulumi.log.warn("take care")


def test_everything_on_the_wire_is_recorded() -> None:
    recording = record(program, Apply())
    role = f"{STACK}{OUTER}$aws:iam/role:Role::outer-role"
    assert recording.one("core/v1:ConfigMap") == Recorded(
        urn=f"{STACK}{OUTER}$kubernetes:core/v1:ConfigMap::outer-facts",
        type="kubernetes:core/v1:ConfigMap",
        name="outer-facts",
        parent=f"{STACK}{OUTER}::outer",
        inputs={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "facts", "namespace": "jobs"},
            "data": {"arn": "arn:aws-us-gov:iam::111122223333:role/worker", "hush": {SECRET: "secret"}},
        },
        provider=f"{STACK}pulumi:providers:kubernetes::inside",
        depends_on=(role,),
        property_depends_on={"data": (role,)},
        aliases=(f"{STACK}{OUTER}$kubernetes:core/v1:ConfigMap::old-facts",),
        options={
            "additionalSecretOutputs": ["data"],
            "customTimeouts": {"delete": "5m"},
            "deleteBeforeReplace": False,
            "deletedWith": role,
            "ignoreChanges": ["data.ignored"],
            "replaceOnChanges": ["data.arn"],
            "retainOnDelete": True,
            "version": "4.1.0",
        },
    )
    outer = recording.one(":Outer")
    assert (outer.parent, outer.custom, outer.remote) == ("", False, False)
    assert outer.inputs == {"size": 1}
    assert outer.outputs == {"plain": 1, "roleArn": "arn:aws-us-gov:iam::111122223333:role/worker"}
    assert outer.providers == {
        "aws": f"{STACK}pulumi:providers:aws::aws",
        "kubernetes": f"{STACK}pulumi:providers:kubernetes::inside",
    }
    assert recording.one("Role").options["protect"] is True
    assert recording.outputs == {"arn": "arn:aws-us-gov:iam::111122223333:role/worker"}
    assert recording.messages == (Message("warning", "take care"),)
    [call] = recording.invokes
    assert (call.token, call.arguments) == ("aws:eks/getCluster:getCluster", {"name": "small"})
    [read] = recording.reads
    assert (read.type, read.name, read.id) == ("aws:sqs/queue:Queue", "queue", "https://sqs/queue")
    assert read.provider == call.provider == f"{STACK}pulumi:providers:aws::aws"


def test_before_the_first_update_no_output_no_id_and_no_call_is_known() -> None:
    recording = record(program, Plan())
    assert recording.one("core/v1:ConfigMap").inputs["data"] == {"arn": UNKNOWN, "hush": {SECRET: "secret"}}
    assert recording.one("providers:kubernetes").inputs == {
        "clusterIdentifier": UNKNOWN,
        "kubeconfig": {SECRET: "{}"},
    }
    assert recording.outputs == {"arn": UNKNOWN}


def test_inputs_are_known_as_outputs_in_both_modes() -> None:
    def names() -> None:
        pulumi.export("name", aws.iam.Role("role", name="worker", assume_role_policy="{}").name)

    assert record(names, Plan()).outputs == record(names, Apply()).outputs == {"name": "worker"}


def test_the_same_program_is_recorded_alike_each_time() -> None:
    assert len({json.dumps(document.of(record(program, Apply()))) for _ in range(4)}) == 1


def test_aliases_of_a_component_are_inherited_as_the_engine_does() -> None:
    role = f"{STACK}{OUTER}$aws:iam/role:Role::"
    assert record(program, Apply()).one("Role").aliases == (
        f"{role}old-role",
        f"{role}old-rolle",
        f"{role}outer-rolle",
    )


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        (Alias(name="b"), f"{STACK}{OUTER}$aws:sqs/queue:Queue::b"),
        (Alias(parent=None), f"{STACK}aws:sqs/queue:Queue::a"),
        (Alias(type_="aws:sqs/old:Old"), f"{STACK}{OUTER}$aws:sqs/old:Old::a"),
        (Alias(parent=f"{STACK}x:y:Z::z"), f"{STACK}x:y:Z$aws:sqs/queue:Queue::a"),
        (
            Alias(project="p", stack="s", name="b"),
            f"urn:pulumi:s::p::{OUTER}$aws:sqs/queue:Queue::b",
        ),
        (f"{STACK}q:r:S::t", f"{STACK}q:r:S::t"),
    ],
)
def test_every_form_of_alias_becomes_a_whole_urn(alias: Alias | str, expected: str) -> None:
    class Bare(pulumi.ComponentResource):
        def __init__(self) -> None:
            super().__init__(OUTER, "bare")
            aws.sqs.Queue("a", opts=ResourceOptions(parent=self, aliases=[alias]))

    assert record(Bare, Apply()).one("Queue").aliases == (expected,)


def test_configuration_does_not_leak_from_one_run_to_the_next() -> None:
    def reads() -> None:
        config = pulumi.Config("floodplain")
        pulumi.export("a", config.get("a"))
        pulumi.export("b", config.get_secret("b"))

    first = record(reads, Apply(), config={"floodplain:a": "1", "floodplain:b": "2"}, secret_keys=["floodplain:b"])
    assert first.outputs == {"a": "1", "b": {SECRET: "2"}}
    assert record(reads, Apply()).outputs.get("a") is None


def test_two_registrations_of_one_name_are_refused_with_the_names() -> None:
    def twice() -> None:
        for _ in range(2):
            aws.sqs.Queue("queue")

    with pytest.raises(DuplicateUrnError, match=r"registered more than once: urn:\S+Queue::queue$") as caught:
        record(twice, Apply())
    assert caught.value.urns == (f"{STACK}aws:sqs/queue:Queue::queue",)


def test_what_the_program_raises_reaches_the_caller() -> None:
    def fails() -> None:
        raise pulumi.RunError("first\nsecond")

    def fails_later() -> None:
        aws.sqs.Queue("queue", name="a").name.apply(lambda name: dict[str, str]()[name])

    with pytest.raises(pulumi.RunError, match="first\nsecond"):
        record(fails, Apply())
    with pytest.raises(KeyError, match="a"):
        record(fails_later, Apply())


def test_an_async_program_is_awaited() -> None:
    async def later() -> None:
        await asyncio.sleep(0)
        pulumi.export("later", 1)

    assert record(later, Apply()).outputs == {"later": 1}


def test_a_custom_resource_goes_out_untouched() -> None:
    def makes() -> None:
        CustomResource("x", api_version="a.b/v1", kind="X", metadata={"name": "x"}, spec={"snake_key": {"n": 1.5}})

    resource = record(makes, Apply()).one("a.b/v1:X")
    assert resource.type == "kubernetes:a.b/v1:X"
    assert resource.inputs == {
        "apiVersion": "a.b/v1",
        "kind": "X",
        "metadata": {"name": "x"},
        "spec": {"snake_key": {"n": 1.5}},
    }


def test_a_remote_component_is_one_registration() -> None:
    def makes() -> None:
        kubernetes.helm.v4.Chart("chart", chart="oci://example.com/chart", version="1.2.3")

    chart = record(makes, Apply()).one("helm.sh/v4:Chart")
    assert (chart.remote, chart.custom, chart.inputs["chart"]) == (True, False, "oci://example.com/chart")


def test_a_resource_may_be_passed_to_another() -> None:
    class Taker(pulumi.CustomResource):
        def __init__(self, name: str, queue: pulumi.Resource) -> None:
            super().__init__("test:index:Taker", name, {"queue": queue})

    def passes() -> None:
        Taker("taker", aws.sqs.Queue("queue"))

    assert record(passes, Apply()).one("Taker").inputs == {
        "queue": {"<resource>": f"{STACK}aws:sqs/queue:Queue::queue"}
    }


def test_looking_for_one_names_what_is_there() -> None:
    recording = record(program, Apply())
    with pytest.raises(LookupError, match=r"0 resources are ...:Nothing; there are \[\('"):
        recording.one(":Nothing")
    assert [resource.name for resource in recording.of(":Role")] == ["outer-role"]


def test_a_recording_becomes_a_document_without_its_secrets() -> None:
    made = document.of(record(program, Apply()))
    text = json.dumps(made)
    assert "secret" in text and '"hush": "<secret>"' in text
    assert made["outputs"] == {"arn": "arn:aws-us-gov:iam::111122223333:role/worker"}


def test_a_call_that_no_table_answers_says_where_to_add_it() -> None:
    def calls() -> Any:
        return aws.sqs.get_queue_output(name="a")

    with pytest.raises(LookupError, match=r"calls aws:sqs/getQueue:getQueue.*FUNCTIONS of preview/outputs_aws.py"):
        record(calls, Apply())
