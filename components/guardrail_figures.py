"""The figures of a pod that its rules compare: CEL variables, in the order in which they build on each other.

Amounts are bytes as CEL doubles: exact up to 2^53 (8 PiB), never out of range (a quantity ends at 2^63 - 1) and free
of errors for fractions such as `128974848000m`, where integers would fail. `dyn()` stands wherever the API server's
type checker would stumble: it knows no quantities in maps, and takes the containers of two lists for two types.

The containers run in two phases. *Together* run the containers and the sidecars (init containers that restart
always). Before that each *starter* (any other init container) runs alone with the sidecars listed before it. The
scheduler reserves the larger of the two phases (component-helpers/resource/helpers.go), and so do these figures.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1048576.0


@dataclass(frozen=True)
class Variable:
    """A variable of a policy: later expressions read it as `variables.<name>`. It is evaluated on first use."""

    name: str
    expression: str

    def manifest(self) -> dict[str, str]:
        return {"name": self.name, "expression": self.expression}


def amount(holder: str, kind: str, resource: str) -> str:
    """Bytes of a resource in `holder.kind` (limits, requests), 0 where it is absent."""
    return (
        f"(has({holder}.resources) && has({holder}.resources.{kind}) && {resource!r} in {holder}.resources.{kind}"
        f" ? quantity({holder}.resources.{kind}[{resource!r}]).asApproximateFloat() : 0.0)"
    )


def rounded_up(value: str) -> str:
    """Text in MiB for what a pod asks for."""
    return f"string(int(({value} + {MIB - 1}) / {MIB})) + 'Mi'"


def rounded_down(value: str) -> str:
    """Text in MiB for what a pod may have, so that a breach never reads as `16Mi above 16Mi`."""
    return f"string(int(({value}) / {MIB})) + 'Mi'"


def titles(figures: str) -> str:
    """The names in a list of figures, as one text."""
    return f"{figures}.map(f, string(f.title)).join(', ')"


def quoted(things: str) -> str:
    """The names in a list of containers or volumes, as one text."""
    return f"{things}.map(v, \"'\" + v.name + \"'\").join(', ')"


def total(figures: str, what: str) -> str:
    return f"{figures}.map(f, double({what})).sum()"


def largest(first: str, others: str) -> str:
    return f"([{first}] + {others}).max()"


def _figure(kind: str) -> str:
    limit, request = amount("c", "limits", "ephemeral-storage"), amount("c", "requests", "ephemeral-storage")
    entries = {
        "title": f'"{kind} \'" + c.name + "\'"',
        "limit": amount("c", "limits", "memory"),
        "request": amount("c", "requests", "memory"),
        "diskLimit": limit,
        # A request without a limit is at least reserved by the scheduler.
        "disk": f"[{limit}, {request}].max()",
    }
    return "{" + ", ".join(f"'{key}': dyn({value})" for key, value in entries.items()) + "}"


_ABOVE = "f.limit > f.request"

FIGURES = (
    Variable("containers", f"dyn(object.spec.containers).map(c, {_figure('container')})"),
    Variable("initial", "has(object.spec.initContainers) ? dyn(object.spec.initContainers) : dyn([])"),
    Variable(
        "sidecars",
        "variables.initial.filter(c, has(c.restartPolicy) && c.restartPolicy == 'Always')"
        f".map(c, {_figure('sidecar')})",
    ),
    Variable(
        "starters",
        "variables.initial.filter(c, !(has(c.restartPolicy) && c.restartPolicy == 'Always'))"
        f".map(c, {_figure('init container')})",
    ),
    Variable("together", "variables.containers + variables.sidecars"),
    Variable("all", "variables.together + variables.starters"),
    Variable("unlimited", "variables.all.filter(f, f.limit <= 0.0)"),
    Variable("limited", total("variables.together", "f.limit")),
    Variable("requested", total("variables.together", "f.request")),
    Variable("gap", total(f"variables.together.filter(f, {_ABOVE})", "f.limit - f.request")),
    Variable("sidecarLimit", total("variables.sidecars", "f.limit")),
    Variable("sidecarRequest", total("variables.sidecars", "f.request")),
    Variable("sidecarGap", total(f"variables.sidecars.filter(f, {_ABOVE})", "f.limit - f.request")),
    Variable(
        "overhead",
        "has(dyn(object.spec).overhead) && 'memory' in dyn(object.spec).overhead"
        " ? quantity(dyn(object.spec).overhead['memory']).asApproximateFloat() : 0.0",
    ),
    # What the scheduler surely reserves; a starter after a sidecar may add to it.
    Variable("reserved", largest("variables.requested", "variables.starters.map(f, double(f.request))")),
    Variable(
        "reservedAtMost",
        largest("variables.requested", "variables.starters.map(f, double(f.request) + variables.sidecarRequest)"),
    ),
    Variable("sidecarDisk", total("variables.sidecars", "f.disk")),
    Variable(
        "disk",
        largest(
            total("variables.together", "f.disk"),
            "variables.starters.map(f, double(f.disk) + variables.sidecarDisk)",
        ),
    ),
    Variable("volumes", "has(object.spec.volumes) ? dyn(object.spec.volumes) : dyn([])"),
    Variable(
        "memoryVolumes",
        "variables.volumes.filter(v, has(v.emptyDir) && has(v.emptyDir.medium) && v.emptyDir.medium == 'Memory')",
    ),
    Variable("debugging", "has(request.subResource) && request.subResource == 'ephemeralcontainers'"),
)
"""Everything that rules may compare. The API server evaluates only what a rule uses."""
