"""Access entries, Pod Identity associations and add-ons of the EKS cluster. None of it is moto's, which has none.

A test double in memory: it keeps what it is given and refuses what is there already or is not there. It knows neither
whether a principal or an add-on exists, nor what any of them would do.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]


class EksRefusedError(Exception):
    """EKS says no: `code` is the exception's name in boto3."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


@dataclass(frozen=True)
class Kind:
    """How one kind of object looks on the wire. `key` are the fields that must be unique in a cluster, `id_field` is
    the one its path names, `summary` what a list holds (None: the plain ids)."""

    one: str
    many: str
    word: str
    key: tuple[str, ...]
    id_field: str
    arn_field: str
    summary: tuple[str, ...] | None
    settable: tuple[str, ...]


KINDS = {
    "AccessEntry": Kind(
        one="accessEntry",
        many="accessEntries",
        word="access-entry",
        key=("principalArn",),
        id_field="principalArn",
        arn_field="accessEntryArn",
        summary=None,
        settable=("kubernetesGroups", "username"),
    ),
    "PodIdentityAssociation": Kind(
        one="association",
        many="associations",
        word="podidentityassociation",
        key=("namespace", "serviceAccount"),
        id_field="associationId",
        arn_field="associationArn",
        summary=("clusterName", "namespace", "serviceAccount", "associationArn", "associationId"),
        settable=("roleArn", "disableSessionTags", "targetRoleArn"),
    ),
    "Addon": Kind(
        one="addon",
        many="addons",
        word="addon",
        key=("addonName",),
        id_field="addonName",
        arn_field="addonArn",
        summary=None,
        settable=("addonVersion", "serviceAccountRoleArn", "configurationValues", "resolveConflicts"),
    ),
}
OPERATIONS = frozenset(
    f"{verb}{name}" for name in KINDS for verb in ("Create", "Describe", "Update", "Delete")
) | frozenset({"ListAccessEntries", "ListPodIdentityAssociations", "ListAddons"})
_PLURALS = {"AccessEntries": "AccessEntry", "PodIdentityAssociations": "PodIdentityAssociation", "Addons": "Addon"}
_WORDS = {"AccessEntry": "access entry", "PodIdentityAssociation": "Pod Identity association", "Addon": "add-on"}


@dataclass
class EksObjects:
    """The objects by kind, cluster and id. One instance an account and region."""

    account_id: str
    region: str
    _found: dict[str, dict[tuple[str, str], Document]] = field(default_factory=lambda: {name: {} for name in KINDS})

    def answer(self, operation: str, path: Mapping[str, str], body: Mapping[str, Any]) -> Document:
        """What EKS answers to one of OPERATIONS. Raises EksRefusedError."""
        verb = next(verb for verb in ("Create", "Describe", "Update", "Delete", "List") if operation.startswith(verb))
        name = operation.removeprefix(verb)
        name = _PLURALS.get(name, name)
        kind, cluster = KINDS[name], path["name"]
        if verb == "List":
            return {kind.many: [_summary(kind, one) for one in self._of(name, cluster)]}
        if verb == "Create":
            return {kind.one: self._create(name, cluster, body)}
        found = self._find(name, cluster, path[kind.id_field])
        if verb == "Update":
            found.update({key: body[key] for key in kind.settable if key in body}, modifiedAt=time.time())
            if name == "Addon":
                return {"update": _finished(body)}
        if verb == "Delete":
            del self._found[name][cluster, found[kind.id_field]]
            if name == "AccessEntry":
                return {}
        return {kind.one: found}

    def tag(self, arn: str, new: Mapping[str, str], gone: Iterable[str] = ()) -> bool:
        """Change the tags of what has this ARN; False where that is nothing of ours."""
        for name, kind in KINDS.items():
            for one in self._found[name].values():
                if one[kind.arn_field] == arn:
                    one["tags"] = {key: value for key, value in {**one["tags"], **new}.items() if key not in {*gone}}
                    return True
        return False

    def _of(self, name: str, cluster: str) -> list[Document]:
        return [one for (owner, _), one in self._found[name].items() if owner == cluster]

    def _find(self, name: str, cluster: str, identity: str) -> Document:
        found = self._found[name].get((cluster, identity))
        if found is None:
            raise EksRefusedError(
                "ResourceNotFoundException", f"No {_WORDS[name]} {identity} in cluster {cluster}.", 404
            )
        return found

    def _create(self, name: str, cluster: str, body: Mapping[str, Any]) -> Document:
        kind = KINDS[name]
        wanted = {key: body[key] for key in kind.key}
        if any({key: one[key] for key in kind.key} == wanted for one in self._of(name, cluster)):
            text = " ".join(str(value) for value in wanted.values())
            raise EksRefusedError("ResourceInUseException", f"The {_WORDS[name]} {text} exists already.", 409)
        now = time.time()
        given = {key: value for key, value in body.items() if key != "clientRequestToken"}
        made: Document = {**_DEFAULTS[name], "tags": {}, **given, "clusterName": cluster}
        made |= {"createdAt": now, "modifiedAt": now}
        if name == "PodIdentityAssociation":
            made["associationId"] = f"a-{uuid.uuid4().hex[:17]}"
        identity = str(made[kind.id_field])
        digest = hashlib.sha256(f"{cluster} {identity}".encode()).hexdigest()[:17]
        made[kind.arn_field] = (
            f"arn:aws:eks:{self.region}:{self.account_id}:{kind.word}/{cluster}/{identity.rpartition('/')[2]}/{digest}"
        )
        if name == "AccessEntry":
            made.setdefault("username", identity)
        self._found[name][cluster, identity] = made
        return made


_DEFAULTS: dict[str, Document] = {
    "AccessEntry": {"type": "STANDARD", "kubernetesGroups": []},
    "PodIdentityAssociation": {},
    "Addon": {"status": "ACTIVE", "addonVersion": "v1.0.0-eksbuild.1", "health": {"issues": []}},
}


def _summary(kind: Kind, one: Document) -> Any:
    return one[kind.id_field] if kind.summary is None else {key: one[key] for key in kind.summary}


def _finished(body: Mapping[str, Any]) -> Document:
    params = [{"type": key, "value": str(value)} for key, value in body.items() if key == "addonVersion"]
    return {
        "id": str(uuid.uuid4()),
        "status": "Successful",
        "type": "AddonUpdate",
        "params": params,
        "createdAt": time.time(),
        "errors": [],
    }
