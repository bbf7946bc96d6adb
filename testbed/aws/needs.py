"""Which permissions does a call of Karpenter's need? As AWS's Service Authorization Reference says per action.

Pure: from the recorded call to actions on resources. A launch needs more than its own action: RunInstances on what it
creates and refers to, CreateTags for each kind it tags, PassRole for the instance profile's role. A call that is not
known here needs its own action on every resource, so that a new one cannot pass unseen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.aws import query
from testbed.aws.calls import Call
from testbed.aws.permissions import Need, Tags

_KINDS = {"i": "instance", "lt": "launch-template", "vol": "volume", "eni": "network-interface", "fleet": "fleet"}
_REFERRED = ("image", "security-group", "subnet")
_LAUNCHED = ("instance", "network-interface", "volume")


@dataclass(frozen=True)
class Account:
    """Where calls were made. `tags_of` gives the tags of a resource by its ARN, None where they are not known."""

    account_id: str
    region: str
    node_role: str
    tags_of: Callable[[str], Tags | None] = lambda arn: None

    def ec2(self, kind: str, name: str) -> str:
        owner = "" if kind in ("image", "snapshot") else self.account_id
        return f"arn:aws:ec2:{self.region}:{owner}:{kind}/{name}"

    def iam(self, what: str) -> str:
        return f"arn:aws:iam::{self.account_id}:{what}"

    def need(self, action: str, resource: str, request_tags: Tags | None = None, **facts: str) -> Need:
        """A need with what is known about every request: its region, and the resource's tags."""
        region = {"aws:RequestedRegion": self.region}
        named = {key.replace("__", ":"): value for key, value in facts.items()}
        return Need(action, resource, request_tags or {}, self.tags_of(resource), region | named)


def needs(call: Call, account: Account) -> list[Need]:
    """All that a call needs, each once."""
    special = _SPECIAL.get((call.service, call.action))
    if special is None:
        return [account.need(f"{call.service}:{call.action}", "*")]
    return list(special(call.parameters, account))


def _launch(action: str) -> Callable[[Mapping[str, Any], Account], Iterator[Need]]:
    """CreateFleet and RunInstances by a launch template."""

    def found(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
        tagged = tags_by_kind(parameters)
        spot = parameters.get("TargetCapacitySpecification.DefaultTargetCapacityType") == "spot"
        actions = ["RunInstances"] if action == "RunInstances" else ["CreateFleet", "RunInstances"]
        for one in actions:
            for kind in _REFERRED:
                yield account.need(f"ec2:{one}", account.ec2(kind, "any"))
            for template in _templates(parameters):
                yield account.need(f"ec2:{one}", account.ec2("launch-template", template))
        for kind in _LAUNCHED:
            # Tags of network interfaces stand in the launch template, not in a fleet's request.
            tags = tagged.get(kind) or tagged.get("instance") or {}
            yield account.need("ec2:RunInstances", account.ec2(kind, "new"), tags)
        if action == "CreateFleet":
            yield account.need("ec2:CreateFleet", account.ec2("fleet", "new"), tagged.get("fleet"))
        if spot:
            # Which tags EC2 reckons with here is not documented.
            yield Need(
                "ec2:RunInstances",
                account.ec2("spot-instances-request", "new"),
                None,
                None,
                {"aws:RequestedRegion": account.region},
            )
        yield from _tagging(tagged, account, action)
        role = account.iam(f"role/{account.node_role}")
        yield account.need("iam:PassRole", role, iam__PassedToService="ec2.amazonaws.com")

    return found


def _tagging(tagged: Mapping[str, Tags], account: Account, action: str) -> Iterator[Need]:
    for kind, tags in tagged.items():
        yield account.need("ec2:CreateTags", account.ec2(kind, "new"), tags, ec2__CreateAction=action)


def _create_launch_template(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    tagged = tags_by_kind(parameters)
    template = account.ec2("launch-template", "new")
    yield account.need("ec2:CreateLaunchTemplate", template, tagged.get("launch-template"))
    yield from _tagging(tagged, account, "CreateLaunchTemplate")


def _delete_launch_template(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    name = parameters.get("LaunchTemplateName") or parameters["LaunchTemplateId"]
    yield account.need("ec2:DeleteLaunchTemplate", account.ec2("launch-template", name))


def _terminate(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    for identity in query.numbered(parameters, "InstanceId"):
        yield account.need("ec2:TerminateInstances", account.ec2("instance", identity))


def _create_tags(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    tags = _tags(parameters, "Tag")
    for identity in query.numbered(parameters, "ResourceId"):
        kind = _KINDS[identity.partition("-")[0]]
        yield account.need("ec2:CreateTags", account.ec2(kind, identity), tags)


def _profile(action: str) -> Callable[[Mapping[str, Any], Account], Iterator[Need]]:
    def found(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
        path, name = parameters.get("Path", "/"), parameters["InstanceProfileName"]
        profile = account.iam(f"instance-profile{path}{name}")
        tags = _tags(parameters, "Tags.member")
        yield account.need(f"iam:{action}", profile, tags)
        if action == "AddRoleToInstanceProfile":
            role = account.iam(f"role/{parameters['RoleName']}")
            yield account.need("iam:PassRole", role, iam__PassedToService="ec2.amazonaws.com")

    return found


def _tag_new_profile(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    """Creating a profile with tags needs the right to tag it; it has those tags by then."""
    yield from _profile("CreateInstanceProfile")(parameters, account)
    tags = _tags(parameters, "Tags.member")
    if tags:
        profile = account.iam(f"instance-profile{parameters.get('Path', '/')}{parameters['InstanceProfileName']}")
        yield Need("iam:TagInstanceProfile", profile, tags, tags, {"aws:RequestedRegion": account.region})


def _queue(action: str) -> Callable[[Mapping[str, Any], Account], Iterator[Need]]:
    def found(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
        name = parameters.get("QueueName") or str(parameters["QueueUrl"]).rpartition("/")[2]
        yield account.need(f"sqs:{action}", f"arn:aws:sqs:{account.region}:{account.account_id}:{name}")

    return found


def _cluster(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    arn = f"arn:aws:eks:{account.region}:{account.account_id}:cluster/{parameters['name']}"
    yield account.need("eks:DescribeCluster", arn)


def _parameter(parameters: Mapping[str, Any], account: Account) -> Iterator[Need]:
    name = parameters["Name"]
    owner = "" if name.startswith("/aws/") else account.account_id
    yield account.need("ssm:GetParameter", f"arn:aws:ssm:{account.region}:{owner}:parameter{name}")


_SPECIAL: dict[tuple[str, str], Callable[[Mapping[str, Any], Account], Iterable[Need]]] = {
    ("ec2", "CreateFleet"): _launch("CreateFleet"),
    ("ec2", "RunInstances"): _launch("RunInstances"),
    ("ec2", "CreateLaunchTemplate"): _create_launch_template,
    ("ec2", "DeleteLaunchTemplate"): _delete_launch_template,
    ("ec2", "TerminateInstances"): _terminate,
    ("ec2", "CreateTags"): _create_tags,
    ("iam", "CreateInstanceProfile"): _tag_new_profile,
    **{
        ("iam", action): _profile(action)
        for action in (
            "AddRoleToInstanceProfile",
            "DeleteInstanceProfile",
            "GetInstanceProfile",
            "RemoveRoleFromInstanceProfile",
            "TagInstanceProfile",
        )
    },
    **{("sqs", action): _queue(action) for action in ("DeleteMessage", "GetQueueUrl", "ReceiveMessage")},
    ("eks", "DescribeCluster"): _cluster,
    ("ssm", "GetParameter"): _parameter,
}


def tags_by_kind(parameters: Mapping[str, Any]) -> dict[str, Tags]:
    """The tags that a request puts on each kind of resource it creates."""
    kinds = {
        match[1]: value
        for key, value in parameters.items()
        if (match := re.fullmatch(r"TagSpecification\.(\d+)\.ResourceType", key))
    }
    return {kind: _tags(parameters, f"TagSpecification.{number}.Tag") for number, kind in sorted(kinds.items())}


def _tags(parameters: Mapping[str, Any], prefix: str) -> dict[str, str]:
    pattern = re.compile(rf"{re.escape(prefix)}\.(\d+)\.Key")
    return {
        value: str(parameters[f"{prefix}.{match[1]}.Value"])
        for key, value in parameters.items()
        if (match := pattern.fullmatch(key))
    }


def _templates(parameters: Mapping[str, Any]) -> list[str]:
    names = [str(value) for key, value in parameters.items() if key.endswith(".LaunchTemplateName")]
    return query.each_once(names)
