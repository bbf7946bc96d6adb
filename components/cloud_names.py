"""Names of things in AWS and Kubernetes that follow from a cluster's name, and the ARNs that follow from those.

Two guarantees. *Always valid*: whatever the free part is, the name keeps to the length and the characters of its kind.
*No collisions*: two different inputs get two different names, up to a chance of 2**-48, also where names differ only
by case and IAM would take them for one. A name that would break either is shortened or cleaned and ends in a hash of
the whole input; every other name stays as one would write it.

Not for names that a person chooses, such as a pool's: those are checked, not changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from floodplain.problem import RuleError

_HASH_DIGITS = 12
_LOOKS_SHORTENED = re.compile(rf".*-[0-9a-f]{{{_HASH_DIGITS}}}", re.DOTALL)


@dataclass(frozen=True)
class Kind:
    """What names of one kind may be: at most `limit` characters, each in `characters` (inside of a regex class).

    `case_blind`: two names that differ only by case are one to the service, or capitals are not allowed.
    `ends`: characters allowed first and last.
    """

    what: str
    limit: int
    characters: str
    ends: str = ""
    case_blind: bool = False

    def accepts(self, name: str) -> bool:
        """Whether `name` is valid as it stands."""
        ends = self.ends or self.characters
        whole = rf"[{ends}](?:[{self.characters}]*[{ends}])?"
        return len(name) <= self.limit and re.fullmatch(whole, name, re.ASCII) is not None


# IAM and STS quotas; SQS CreateQueue; EventBridge PutRule; Kubernetes' names and labels. IAM names are unique
# without regard to case.
IAM_ROLE = Kind("IAM role", 64, r"A-Za-z0-9_+=,.@-", case_blind=True)
IAM_POLICY = Kind("IAM policy", 128, r"A-Za-z0-9_+=,.@-", case_blind=True)
SQS_QUEUE = Kind("SQS queue", 80, r"A-Za-z0-9_-")
EVENT_RULE = Kind("EventBridge rule", 64, r"A-Za-z0-9_.-")
DNS_LABEL = Kind("Kubernetes name", 63, r"a-z0-9-", ends="a-z0-9", case_blind=True)


def role_name_problems(role: str) -> Iterator[RuleError]:
    """Why Karpenter, which compares names of roles, could not work with `role` as that of its nodes."""
    name = role.rsplit("/", 1)[-1]
    if role.startswith("arn:"):
        yield RuleError(
            "is an ARN, while Karpenter compares names and makes instance profiles without end",
            f"write the role's name: {name}",
            value=role,
        )
    elif "/" in role:
        yield RuleError(
            "holds a path, while Karpenter compares names and makes instance profiles without end",
            f"write the role's name: {name}",
            value=role,
        )
    elif not IAM_ROLE.accepts(role):
        yield RuleError(
            "is no name of an IAM role", f"use 1 to {IAM_ROLE.limit} letters, digits and +=,.@-_", value=role
        )


def cloud_name(kind: Kind, words: str, free: str = "") -> str:
    """The name of kind `kind` for fixed `words` and the free part, which comes last: `KarpenterNodeRole-prod`.

    `words` are ours and must not run into each other: none of one kind may continue another's with a dash.
    """
    plain = f"{words}-{free}" if words and free else words or free
    ambiguous = _LOOKS_SHORTENED.fullmatch(plain.lower()) or (kind.case_blind and free != free.lower())
    if kind.accepts(plain) and not ambiguous:
        return plain
    readable = plain.lower() if kind is DNS_LABEL else plain
    readable = re.sub(rf"[^{kind.characters}]", "-", readable, flags=re.ASCII)
    if kind.ends:
        readable = re.sub(rf"^[^{kind.ends}]+", "", readable, flags=re.ASCII)
    readable = readable[: kind.limit - _HASH_DIGITS - 1].rstrip("-_.") or "x"
    digest = hashlib.sha256(f"{words}\0{free}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:_HASH_DIGITS]}"


_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+")

# Isolated and sovereign partitions have other service names and are not offered here.
_PARTITIONS = {"us-gov-": "aws-us-gov", "cn-": "aws-cn"}
_ELSEWHERE = ("us-iso", "eu-iso", "eusc-")


def partition_of(region: str) -> str:
    """The partition of a region: `aws`, `aws-us-gov` or `aws-cn`. Raises RuleError for what is not one of theirs."""
    if region.startswith(_ELSEWHERE):
        raise RuleError(
            "is in a partition that is not supported",
            "use a region of the partitions aws, aws-us-gov or aws-cn",
            value=region,
        )
    if not _REGION.fullmatch(region):
        raise RuleError("is not an AWS region", "write it as eu-central-1", value=region)
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), "aws")


def ec2_principal(partition: str) -> str:
    """The service principal of EC2, which alone has another name in China."""
    return "ec2.amazonaws.com.cn" if partition == "aws-cn" else "ec2.amazonaws.com"


@dataclass(frozen=True)
class Place:
    """Where a cluster is, as ARNs need it."""

    partition: str
    region: str
    account_id: str

    def iam(self, resource: str) -> str:
        """ARN of an IAM resource of the account: `role/NAME`, `policy/NAME`."""
        return f"arn:{self.partition}:iam::{self.account_id}:{resource}"

    def aws_policy(self, name: str) -> str:
        """ARN of a policy that AWS manages."""
        return f"arn:{self.partition}:iam::aws:policy/{name}"

    def regional(self, service: str, resource: str) -> str:
        """ARN of a resource of the account in the region: `sqs`, `NAME`."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account_id}:{resource}"


_POLICY_ARN = re.compile(r"arn:(aws[a-z-]*):iam::(aws|[0-9]{12}):policy/(?:[!-.0-~]+/)*([A-Za-z0-9_+=,.@-]{1,128})")
_ADMINISTRATORS = ("AdministratorAccess", "PowerUserAccess", "IAMFullAccess")


def policy_arn_problems(arn: str, place: Place) -> Iterator[RuleError]:
    """Why `arn` cannot be that of a policy for a role of the account at `place`."""
    found = _POLICY_ARN.fullmatch(arn)
    if not found:
        example = place.iam("policy/NAME")
        yield RuleError("is not the ARN of an IAM policy", f"it looks like {example}", value=arn)
        return
    yield from account_problems(arn, place)


def administrator_problems(arn: str) -> Iterator[RuleError]:
    """Why the policy `arn` is not for nodes: every pod without an identity of its own can use their role."""
    found = _POLICY_ARN.fullmatch(arn)
    if found and found[2] == "aws" and found[3] in _ADMINISTRATORS:
        yield RuleError(
            "gives the whole account to every node, and so to pods on it",
            "write a policy of your own that names what nodes need",
            value=arn,
        )


def account_problems(arn: str, place: Place) -> Iterator[RuleError]:
    """Why a role of the account at `place` cannot have to do with `arn`, which is one of IAM."""
    _, partition, _, _, account, _ = arn.split(":", 5)
    if partition != place.partition:
        yield RuleError(
            f"is in the partition {partition}, and the region {place.region} in {place.partition}",
            f"write arn:{place.partition}:...",
            value=arn,
        )
    elif account not in ("aws", place.account_id):
        yield RuleError(
            f"is of the account {account}, and IAM takes only what is in the role's own, {place.account_id}",
            "make it in that account",
            value=arn,
        )


def check_account_id(text: str) -> str:
    """The text again. Raises RuleError for what is not the id of an AWS account."""
    if not re.fullmatch(r"\d{12}", text, re.ASCII):
        raise RuleError(
            "is not an AWS account id", "write its 12 digits in quotes, so that YAML keeps a leading 0", value=text
        )
    return text


def place_of(region: str, account_id: str) -> Place:
    """The place of a region and account. Raises RuleError for an unknown region or an odd account id."""
    return Place(partition_of(region), region, check_account_id(account_id))
