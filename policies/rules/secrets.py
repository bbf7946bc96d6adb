"""Is a secret written where everybody can read it?

Two questions. In most places a secret is wrong whether Pulumi encrypts it or not, since everybody who may read
the object reads it: ConfigMaps, environment variables, annotations, user data. Elsewhere it belongs, and must be
marked secret: a Secret's data, passwords of cloud resources, a kubeconfig. The engine takes the marks off before a
rule sees the value, so there only `additionalSecretOutputs` tells; the offline preview knows all marks.
No message ever repeats a value. A value that is not known yet is no literal of the program, so these rules pass over
unknowns in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from .kinds import is_chart, is_kubernetes, is_kubernetes_object, is_node_class
from .pod_templates import containers, makes_pods, pod_spec
from .proxies import Path, Unknowns, each, entries, get, known_leaves, place, text, texts
from .rendered import RenderedOptions, is_secret
from .rule import About, resource_rule
from .secret_texts import forms, is_literal, is_secret_name, is_secret_variable, named_lines

_REMEDY = "keep it in a Kubernetes Secret or a secrets manager and refer to it"


def _is_secret_object(args: ResourceValidationArgs) -> bool:
    return is_kubernetes(args.resource_type, "core", "Secret", "SecretPatch")


def _is_provider(args: ResourceValidationArgs) -> bool:
    return args.resource_type.startswith("pulumi:providers:")


def _belongs_here(args: ResourceValidationArgs, path: Path) -> bool:
    """Whether a secret may stand at this place, if it is marked."""
    if _is_provider(args):
        return True
    return _is_secret_object(args) and bool(path) and path[0] in ("data", "stringData")


def _is_marked(args: ResourceValidationArgs, path: Path) -> bool:
    """Whether a mark protects the value. Whoever may read a Kubernetes object reads it, marked or not."""
    read_by_others = is_kubernetes_object(args.resource_type) and not is_chart(args.resource_type)
    return not read_by_others and bool(is_secret(args.opts, path))


def _is_allowed(args: ResourceValidationArgs, path: Path) -> bool:
    """Whether the configuration says that this place looks like a secret and is none."""
    return any(_matches(pattern, place(path)) for pattern in texts(args.get_config().get("allowedPlaces")))


def _matches(pattern: str, where: str) -> bool:
    try:
        return re.fullmatch(pattern, where) is not None
    except re.error:
        return False


def secret_forms(args: ResourceValidationArgs) -> Iterator[str]:
    """Texts that look like a secret by their form, anywhere."""
    for path, value in known_leaves(args.props):
        if not isinstance(value, str) or _belongs_here(args, path) or _is_allowed(args, path):
            continue
        if _is_marked(args, path):
            continue
        for words in forms(value):
            yield f"{place(path)}: holds {words}; {_REMEDY}"


def secret_names(args: ResourceValidationArgs) -> Iterator[str]:
    """Keys that hold a secret by their name, with a value written out: a chart's values, a resource's inputs."""
    if _is_secret_object(args) or _is_provider(args) or is_kubernetes(args.resource_type, "core", "ConfigMap"):
        return
    for path, value in known_leaves(args.props):
        name = str(path[-1]) if path else ""
        looks_secret = isinstance(value, str) and is_secret_name(name) and is_literal(value)
        if looks_secret and not (_is_marked(args, path) or _is_allowed(args, path)):
            yield f"{place(path)}: is written out; {_REMEDY}"


def secret_variables(args: ResourceValidationArgs) -> Iterator[str]:
    """Environment variables of containers with a secret's name and a value written out."""
    if not makes_pods(args.resource_type):
        return
    unknowns = Unknowns()
    with unknowns:
        for container, body in containers(pod_spec(args.resource_type, args.props)):
            with unknowns:
                for variable in each(get(body, "env")):
                    with unknowns:
                        name, value = text(get(variable, "name")) or "", text(get(variable, "value")) or ""
                        where: Path = ("containers", container, "env", name)
                        if is_secret_variable(name) and is_literal(value) and not _is_allowed(args, where):
                            yield f"{place(where)}: is written out; use valueFrom.secretKeyRef"


def secret_settings(args: ResourceValidationArgs) -> Iterator[str]:
    """Entries of a ConfigMap, and lines in its files and in user data, that name a secret and write it out."""
    if is_kubernetes(args.resource_type, "core", "ConfigMap", "ConfigMapPatch"):
        unknowns = Unknowns()
        with unknowns:
            for key, value in entries(get(args.props, "data")):
                where: Path = ("data", key)
                if not isinstance(value, str) or _is_allowed(args, where):
                    continue
                if is_secret_variable(key) and is_literal(value):
                    yield f"{place(where)}: is written out; {_REMEDY}"
                for name in named_lines(value):
                    yield f"{place(where)}: writes out {name}; {_REMEDY}"
    elif is_node_class(args.resource_type) and not _is_allowed(args, ("spec", "userData")):
        with Unknowns():
            for name in named_lines(text(get(args.props, "spec", "userData")) or ""):
                yield f"spec.userData: writes out {name}; every process of the node can read it; {_REMEDY}"


def unmarked_secret_data(args: ResourceValidationArgs) -> Iterator[str]:
    """A Secret whose data is not encrypted in the stack's state."""
    if not _is_secret_object(args):
        return
    for key in ("data", "stringData"):
        with Unknowns():
            for entry, value in entries(get(args.props, key)):
                if isinstance(value, str) and value and not is_secret(args.opts, (key, entry)):
                    yield f"{key}.{entry}: is not marked secret, so the state holds it in clear; use Output.secret(...)"


def unmarked_provider_credentials(args: ResourceValidationArgs) -> Iterator[str]:
    """Credentials of a provider that are not encrypted in the state. Only known where all marks are."""
    if not _is_provider(args) or not isinstance(args.opts, RenderedOptions):
        return
    for path, value in known_leaves(args.props):
        if not isinstance(value, str) or is_secret(args.opts, path):
            continue
        found = list(forms(value))
        if is_secret_name(str(path[-1])) and is_literal(value):
            found.append("a credential")
        for words in found:
            yield f"{place(path)}: holds {words} that is not marked secret; use config.require_secret or Output.secret"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="no-secret-in-clear-text",
            description="No password, key or token is written out where it can be read: ConfigMaps, environment "
            "variables, chart values, annotations, user data, URLs. Found by form and by name. Values that only "
            "Pulumi's marks protect are told apart where the engine shows the marks (additionalSecretOutputs).",
            remedy="Keep it in a Kubernetes Secret or a secrets manager and refer to it; name false alarms in "
            "allowedPlaces.",
            severity=Severity.CRITICAL,
            config={
                "allowedPlaces": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": [],
                    "description": "Regular expressions of whole property paths that look like secrets and are none",
                }
            },
        ),
        lambda args: True,
        secret_forms,
        secret_names,
        secret_variables,
        secret_settings,
    ),
    resource_rule(
        About(
            name="secret-inputs-are-marked",
            description="Data of Kubernetes Secrets and, where the marks are known, credentials of providers are "
            "encrypted in the stack's state.",
            remedy="Read them with config.require_secret or wrap them in pulumi.Output.secret.",
            severity=Severity.CRITICAL,
        ),
        lambda args: _is_secret_object(args) or _is_provider(args),
        unmarked_secret_data,
        unmarked_provider_credentials,
    ),
]
