"""Edge: read the instance types of a region from EC2 and write them as a catalogue table.

Whoever runs it needs ec2:DescribeInstanceTypes and nothing else. Imports boto3 when called, not before. Prices are
`refresh_prices`, which writes and explains in the same way.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from floodplain.catalogue.described import instance_type
from floodplain.catalogue.instance_type import InstanceType
from floodplain.catalogue.table import TableError, parse, render

_COMMENT = (
    "EC2 instance types with instance storage, read from DescribeInstanceTypes by `floodplain catalogue refresh`."
)


class RefreshError(Exception):
    """AWS cannot be read or the table cannot be written. The message says why and what to do."""


@dataclass(frozen=True)
class Changed:
    """One type whose facts changed: column, old value, new value."""

    name: str
    values: tuple[tuple[str, object, object], ...]


@dataclass(frozen=True)
class Changes:
    """How a new table differs from the one it replaces."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()


def default_output() -> Path:
    """The table that this installation reads."""
    return Path(__file__).with_name("instance-types.tsv")


def refresh(output: Path, region: str | None = None) -> Changes:
    """Replace the table at `output` by what EC2 says of a region, and tell what changed.

    The file is replaced as a whole or not at all. Raises RefreshError.
    """
    kinds = sort_types(read_region(region))
    if not kinds:
        raise RefreshError("EC2 named no instance type with local NVMe; nothing was written. Try another region.")
    try:
        previous = parse(output.read_text(encoding="utf-8"), output.name) if output.exists() else ()
    except (OSError, ValueError) as error:
        hint = "Name another file, or remove this one to write it anew."
        reason = str(error) if isinstance(error, TableError) else f"{output} cannot be read ({error})."
        raise RefreshError(f"{reason}\n{hint}") from error
    replace_file(output, render(kinds, _COMMENT))
    return compare(previous, kinds)


def read_region(region: str | None = None) -> tuple[InstanceType, ...]:
    """The instance types with local NVMe that EC2 knows in a region, page by page. Raises RefreshError."""
    try:
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise RefreshError("Reading EC2 needs boto3: pip install 'floodplain[cli]'.") from error
    try:
        config = Config(connect_timeout=10, read_timeout=60, retries={"mode": "standard", "max_attempts": 4})
        # A session of its own: boto3's default one remembers the credentials of whoever used it first.
        client: Any = boto3.Session(region_name=region).client("ec2", config=config)
        pages = client.get_paginator("describe_instance_types").paginate(
            Filters=[{"Name": "instance-storage-supported", "Values": ["true"]}]
        )
        found = [instance_type(info) for page in pages for info in page["InstanceTypes"]]
    except (BotoCoreError, ClientError) as error:
        raise RefreshError(refusal(error, "EC2", "ec2:DescribeInstanceTypes")) from error
    return tuple(kind for kind in found if kind is not None)


def sort_types(kinds: Iterable[InstanceType]) -> tuple[InstanceType, ...]:
    """By family, then size, bare metal last: the order of the table."""
    return tuple(sorted(kinds, key=lambda kind: (kind.family, kind.metal, kind.vcpu, kind.memory_mib, kind.name)))


def compare(before: Iterable[InstanceType], after: Iterable[InstanceType]) -> Changes:
    """What was added, removed and changed, by name."""
    old = {kind.name: kind for kind in before}
    new = {kind.name: kind for kind in after}
    changed = []
    for name in sorted(old.keys() & new.keys()):
        values = tuple(
            (field.name, getattr(old[name], field.name), getattr(new[name], field.name))
            for field in fields(InstanceType)
            if getattr(old[name], field.name) != getattr(new[name], field.name)
        )
        if values:
            changed.append(Changed(name, values))
    return Changes(tuple(sorted(new.keys() - old.keys())), tuple(sorted(old.keys() - new.keys())), tuple(changed))


def replace_file(output: Path, text: str) -> None:
    """Write a whole table or nothing. Raises RefreshError."""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
        with os.fdopen(handle, "w", encoding="ascii", newline="\n") as file:
            file.write(text)
        # mkstemp makes files private; a table is as readable as the one it replaces.
        Path(temporary).chmod(output.stat().st_mode & 0o777 if output.exists() else 0o644)
        Path(temporary).replace(output)
    except OSError as error:
        raise RefreshError(
            f"{output} cannot be written ({error.strerror}). Name another file with --output."
        ) from error
    finally:
        if temporary:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()


_SIGN_IN = "Sign in anew, and check that the region is enabled."
_EXPIRED = "The credentials have expired. Sign in anew."
_WAIT = "Wait a minute and ask again."
_REACH = "Check the region's name and the network."
_LACKING = "These credentials lack {permission}."
_ADVICE = {
    "NoRegionError": "No AWS region is set. Give --region, or set AWS_REGION.",
    "NoCredentialsError": "No AWS credentials were found. Sign in (aws sso login) or set AWS_PROFILE.",
    "PartialCredentialsError": "The AWS credentials are incomplete. Sign in anew or set AWS_PROFILE.",
    "ProfileNotFound": "Set AWS_PROFILE to a profile that exists.",
    "InvalidRegionError": "Give --region the name of a region, such as eu-central-1.",
    "EndpointConnectionError": _REACH,
    "ConnectTimeoutError": _REACH,
    "UnauthorizedOperation": _LACKING,
    "AccessDeniedException": _LACKING,
    "AuthFailure": f"AWS does not accept these credentials. {_SIGN_IN}",
    "UnrecognizedClientException": f"AWS does not accept these credentials. {_SIGN_IN}",
    "RequestExpired": _EXPIRED,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "ThrottlingException": _WAIT,
    "RequestLimitExceeded": _WAIT,
    "ExpiredNextTokenException": _WAIT,
    "OptInRequired": "The account has not enabled this region.",
}
"""By EC2's and the price list's codes, and by the names of botocore's errors."""


def refusal(error: Exception, asked: str, permission: str) -> str:
    """Why `asked` cannot be read, and what to do about it; `permission` is what reading needs."""
    code = getattr(error, "response", {}).get("Error", {}).get("Code", type(error).__name__)
    advice = _ADVICE.get(code, "").format(permission=permission)
    stop = "" if str(error).endswith(".") else "."
    return f"{asked} cannot be read: {error}{stop}{f' {advice}' if advice else ''}"
