"""A stand-in for the API server's part in admission, so that the policies can be judged without one.

It fills in what the real server fills in before policies see a pod (defaults, RuntimeClass, priority) and evaluates
ValidatingAdmissionPolicies with cel-python and the Kubernetes functions the policies use. It does not validate pods.
The table of pods in `pods/` was replayed against a real API server with equal verdicts and messages.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import celpy
import lark
from celpy import celtypes
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError, Evaluator

from floodplain.quantity import QuantityError, exact

Manifest = dict[str, Any]

USER = {"username": "jane", "groups": ["system:authenticated"]}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "jobs": {},
    "debug-tools": {},
    "sized": {"floodplain.dev/sizing": "enforce"},
    "explained": {"floodplain.dev/sizing": "observe"},
}
"""Those of the table, with the labels that they have."""
LONGEST_MESSAGE_BYTES = 5 * 1024

Tree = lark.Tree[Any]


class _NoGenerics:
    def __getitem__(self, parameters: object) -> None: ...


# celpy casts to generics such as Tuple[Tree, Token], made anew at each step: half of the time of an evaluation.
for _name in ("Callable", "Dict", "Iterable", "List", "Optional", "Tuple", "Union"):
    setattr(celpy.evaluation, _name, _NoGenerics())


class _StrictEvaluator(Evaluator):
    """cel-python, but with errors as in the API server."""

    def sub_evaluator(self, ast: Tree) -> Evaluator:
        return _StrictEvaluator(ast, activation=self.activation)

    def macro_has_eval(self, exprlist: Tree) -> celtypes.BoolType:
        """`has(a.b)` is an error where `a` is one; cel-python would answer false."""
        selection = exprlist
        while selection.data != "member_dot":
            (selection,) = cast("list[Tree]", selection.children)
        holder = self.visit(cast(Tree, selection.children[0]))
        if isinstance(holder, CELEvalError):
            return cast(celtypes.BoolType, holder)
        return super().macro_has_eval(exprlist)

    def member_dot_arg(self, tree: Tree) -> Any:
        """An error inside map and filter is their value, so that `&&` and `||` may pass over it."""
        try:
            return super().member_dot_arg(tree)
        except CELEvalError as error:
            return error


class _StrictRunner(celpy.InterpretedRunner):
    def evaluate(self, context: Any) -> Any:
        return _StrictEvaluator(ast=self.ast, activation=self.new_activation()).evaluate(context)


def _quantity(text: str) -> Fraction:
    """Kubernetes cuts what is above its largest quantity to that (apimachinery resource/quantity.go)."""
    try:
        return exact(str(text))
    except QuantityError as error:
        if "largest quantity" in error.rule:
            return Fraction((1 << 63) - 1)
        raise


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "dyn": lambda value: value,
    "quantity": _quantity,
    "asApproximateFloat": lambda amount: celtypes.DoubleType(float(amount)),
    "sum": lambda values: celtypes.DoubleType(sum(values)),
    "max": lambda values: celtypes.DoubleType(max(values)),
    "join": lambda values, between: celtypes.StringType(str(between).join(values)),
}


_ENVIRONMENT = celpy.Environment(runner_class=_StrictRunner)


_PASSED_THROUGH = frozenset(
    ("expr", "conditionalor", "conditionaland", "relation", "addition", "multiplication", "unary", "member")
)


def _shortened(tree: Tree) -> Tree:
    """The tree without levels of the grammar that only hand on their one child: most of what evaluation walks."""
    children = [_shortened(child) if isinstance(child, lark.Tree) else child for child in tree.children]
    only = children[0] if len(children) == 1 else None
    if isinstance(only, lark.Tree):
        if tree.data in _PASSED_THROUGH:
            return only
        if tree.data == "primary" and only.data == "paren_expr":
            return cast(Tree, only.children[0])
    # Plain text: comparing lark's tokens is slow.
    return lark.Tree(str(tree.data), children, tree.meta)


@functools.lru_cache(maxsize=4096)
def _program(expression: str) -> celpy.Runner:
    return _ENVIRONMENT.program(_shortened(_ENVIRONMENT.compile(expression)), functions=dict(_FUNCTIONS))


def _values(variables: list[Manifest], context: Mapping[str, Any]) -> celtypes.MapType:
    """Every variable in turn. One that fails is an error where it is used, as in the API server."""
    values = celtypes.MapType()
    for variable in variables:
        try:
            value = evaluate(variable["expression"], {**context, "variables": values})
        except CELEvalError as error:
            value = error
        values[celtypes.StringType(variable["name"])] = value
    return values


def evaluate(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of a CEL expression. Raises CELEvalError as the API server would report an error."""
    return _program(expression).evaluate(dict(context))


@dataclass(frozen=True)
class Request:
    """An admission request for a pod, as it stands after mutation."""

    pod: Manifest
    operation: str = "CREATE"
    old: Manifest | None = None
    subresource: str = ""
    user: Mapping[str, Any] = field(default_factory=lambda: USER)

    @property
    def namespace_labels(self) -> dict[str, str]:
        """The server gives every namespace its name as a label."""
        name = self.pod["metadata"]["namespace"]
        return {"kubernetes.io/metadata.name": name, **NAMESPACES.get(name, {})}

    def context(self) -> dict[str, Any]:
        request: Manifest = {"operation": self.operation, "userInfo": dict(self.user)}
        if self.subresource:
            request["subResource"] = self.subresource
        values = {"object": self.pod, "oldObject": self.old, "request": request}
        return {name: json_to_cel(value) for name, value in values.items()}


@dataclass(frozen=True)
class Complaint:
    """What one policy says about a request, and what its binding does about it."""

    policy: str
    rules: tuple[str, ...]
    message: str
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What the server answers."""

    complaints: tuple[Complaint, ...] = ()

    @property
    def refusals(self) -> tuple[str, ...]:
        """The server shows one of them."""
        return tuple(one.message for one in self.complaints if "Deny" in one.actions)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(one.message for one in self.complaints if "Warn" in one.actions)


def judge(manifests: list[Manifest], request: Request) -> Verdict:
    """The verdict of policies and their bindings on a request."""
    context = request.context()
    policies = {one["metadata"]["name"]: one["spec"] for one in manifests if "matchConstraints" in one["spec"]}
    complaints: list[Complaint] = []
    for binding in (one["spec"] for one in manifests if "policyName" in one["spec"]):
        name, actions = binding["policyName"], tuple(binding["validationActions"])
        complaints += [
            Complaint(name, *found, actions) for found in _complaints(policies[name], request, dict(context))
        ]
    return Verdict(tuple(complaints))


def _complaints(policy: Manifest, request: Request, context: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    if not _matches(policy["matchConstraints"], request):
        return
    if not all(evaluate(condition["expression"], context) for condition in policy["matchConditions"]):
        return
    values = _values(policy["variables"], context)
    context["variables"] = values
    for validation in policy["validations"]:
        if not evaluate(validation["expression"], context):
            message = str(evaluate(validation["messageExpression"], context)).strip()
            said = {str(one) for one in values[celtypes.StringType("problems")]}
            rules = tuple(str(name) for name, value in values.items() if _is_said(value, said) and name != "problems")
            yield rules, message if len(message.encode()) <= LONGEST_MESSAGE_BYTES else validation["message"]


def _is_said(value: Any, said: set[str]) -> bool:
    """Whether a variable holds the complaint of a rule."""
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and str(value[0]) in said


def _matches(constraints: Manifest, request: Request) -> bool:
    if not all(_selects(one, request.namespace_labels) for one in constraints["namespaceSelector"]["matchExpressions"]):
        return False
    resource = f"pods/{request.subresource}" if request.subresource else "pods"
    return any(
        request.operation in rule["operations"] and resource in rule["resources"]
        for rule in constraints["resourceRules"]
    )


def _selects(expression: Manifest, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    return (value in expression["values"]) is (expression["operator"] == "In")


class RefusedByPlugin(Exception):  # noqa: N818 a verdict, not a fault
    """An admission plugin of the server refused the pod before any policy saw it."""


def admitted(pod: Manifest, runtime_classes: list[Manifest]) -> Manifest:
    """The pod as policies see it: requests default to limits, quantities are text, RuntimeClass merged in."""
    pod = copy.deepcopy(pod)
    spec = pod["spec"]
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        resources = container.setdefault("resources", {})
        _texts(resources)
        for name, limit in resources.get("limits", {}).items():
            resources.setdefault("requests", {}).setdefault(name, limit)
    for volume in spec.get("volumes", ()):
        if "sizeLimit" in (volume.get("emptyDir") or {}):
            volume["emptyDir"]["sizeLimit"] = str(volume["emptyDir"]["sizeLimit"])
    _default_pod_resources(spec)
    _merge_runtime_class(spec, runtime_classes)
    critical = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
    spec["priority"] = critical.get(spec.get("priorityClassName", ""), 0)
    return pod


def _texts(resources: Manifest) -> None:
    for kind in ("limits", "requests"):
        for name, amount in resources.get(kind, {}).items():
            resources[kind][name] = str(amount)


def _default_pod_resources(spec: Manifest) -> None:
    """Beside a pod-level limit the server fills in what the containers request (core/v1/defaults.go)."""
    resources = spec.get("resources", {})
    _texts(resources)
    if not resources.get("limits"):
        return
    requests = resources.setdefault("requests", {})
    asked = [container["resources"].get("requests", {}) for container in spec["containers"]]
    for name in {name for one in asked for name in one} & {"cpu", "memory"} - set(requests):
        requests[name] = str(float(sum(exact(one[name]) for one in asked if name in one)))
    for name, limit in resources["limits"].items():
        requests.setdefault(name, limit)


def _merge_runtime_class(spec: Manifest, runtime_classes: list[Manifest]) -> None:
    """What the RuntimeClass admission plugin does (plugin/pkg/admission/runtimeclass)."""
    name = spec.get("runtimeClassName")
    known = {one["metadata"]["name"]: one for one in runtime_classes}
    if name is not None and name not in known:
        raise RefusedByPlugin(f"RuntimeClass {name!r} not found")
    overhead = {key: str(amount) for key, amount in known.get(name, {}).get("overhead", {}).get("podFixed", {}).items()}
    if "overhead" in spec and {key: exact(str(value)) for key, value in spec["overhead"].items()} != {
        key: exact(value) for key, value in overhead.items()
    }:
        raise RefusedByPlugin("overhead differs from the RuntimeClass's")
    if overhead:
        spec["overhead"] = overhead
    scheduling = known.get(name, {}).get("scheduling", {})
    for key, value in scheduling.get("nodeSelector", {}).items():
        if spec.setdefault("nodeSelector", {}).setdefault(key, value) != value:
            raise RefusedByPlugin(f"nodeSelector {key} differs from the RuntimeClass's")
    for toleration in scheduling.get("tolerations", ()):
        if toleration not in spec.setdefault("tolerations", []):
            spec["tolerations"].append(toleration)
