"""The rules that refuse a pod: what would break the sum of limits on a node, its disk, or the pool's promise of swap.

Memory. On a node of the pool the scheduler keeps sum(requests + overhead) <= allocatable. The sum of limits stays
within that too if, in each phase of each pod, limits exceed requests by no more than the pod's own `spec.overhead`:
what admission really wrote there, whatever the RuntimeClass says by now. So a pod needs a limit on every container
and the pool's RuntimeClass. A debug container has no limit, but the pod's cgroup has one (the sum of its containers'
limits and the overhead), so it shares what the pod has.

Disk. Kubelet evicts a pod whose writable layers, logs and disk emptyDirs together pass the sum of the
ephemeral-storage limits that its containers name (eviction_manager.go podEphemeralStorageLimitEviction). One limit
therefore holds the whole pod, and none holds nothing: that is the rule, rather than a limit on every container. The
sum of limits, not of requests, must stay within the pool's cap per byte of memory request: then all pods of a full
node together cannot use more disk than the node has beside its swap file, whatever they requested. An emptyDir's
sizeLimit adds nothing to that. A writable hostPath is in nobody's sum and is refused.

Not rules: privileged containers, which can undo any limit (pod security's job), and volumes that are not on the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.quantity import to_bytes

from .guardrail_figures import Variable, amount, quoted, rounded_down, rounded_up, titles
from .guardrail_match import text
from .guardrail_settings import PoolGuardrail

_ASK_FOR_LESS = "request 1Mi less than the limit"


@dataclass(frozen=True)
class Rule:
    """One rule: `broken` is true for a pod that breaks it, `says` is CEL text with names, figures and a remedy."""

    name: str
    broken: str
    says: str

    @property
    def variable(self) -> Variable:
        """The rule as a list of complaints: one, or none."""
        return Variable(self.name, f"{self.broken} ? [{self.says}] : []")


def overhead_paid(pool: PoolGuardrail, names_runtime_class: str) -> Variable:
    """What the pod's overhead pays for. A pod without the RuntimeClass is refused for that, and its gaps are measured
    by the overhead that it would have with it."""
    return Variable("paid", f"{names_runtime_class} ? variables.overhead : {float(to_bytes(pool.overhead))}")


def containment_rules(pool: PoolGuardrail) -> tuple[Rule, ...]:
    """The rules of one pool. A pool without swap has no rules about who gets swap."""
    swap = _swap_rules(pool) if pool.swap else ()
    return (*_memory_rules(pool), *swap, *_pod_rules(), *_disk_rules(pool), HOST_PATH)


def _memory_rules(pool: PoolGuardrail) -> tuple[Rule, ...]:
    name = pool.runtime_class_name
    room = f"{float(pool.room_bytes)}"
    need = "[variables.reserved + variables.paid, variables.all.map(f, double(f.limit)).max()].max()"
    over = (
        "variables.starters.filter(f,"
        " double(f.limit) + variables.sidecarLimit > variables.requested + variables.paid"
        " && double(f.limit) - double(f.request) + variables.sidecarGap > variables.paid)"
    )
    return (
        Rule(
            "runtimeClass",
            f"!has(object.spec.runtimeClassName) || object.spec.runtimeClassName != {text(name)}",
            f"\"it does not name RuntimeClass '{name}', whose overhead pays for its limits:"
            ' set spec.runtimeClassName"',
        ),
        Rule(
            "memoryLimit",
            "variables.unlimited.size() > 0",
            f"'no memory limit on ' + {titles('variables.unlimited')} + ': set resources.limits.memory, and"
            f" {_ASK_FOR_LESS}'",
        ),
        Rule(
            "memoryGap",
            "variables.gap > variables.paid",
            "'the memory limits of ' + "
            + titles("variables.together.filter(f, f.limit > f.request)")
            + f" + ' are ' + {rounded_up('variables.gap')} + ' above the requests and the pod overhead pays for '"
            f" + {rounded_down('variables.paid')} + ': {_ASK_FOR_LESS}'",
        ),
        Rule(
            "startGap",
            f"{over}.size() > 0",
            f"{titles(over)} + ' may take more memory at the start than the pod reserves, '"
            f" + {rounded_down('variables.reserved + variables.paid')} + ': {_ASK_FOR_LESS}'",
        ),
        Rule(
            "room",
            f"{need} > {room}",
            f"'it needs ' + {rounded_up(need)} + ' of memory on one node and the largest node of the pool has '"
            f" + {rounded_down(room)} + ' for it: ask for less, or choose another pool'",
        ),
    )


def _swap_rules(pool: PoolGuardrail) -> tuple[Rule, ...]:
    return (
        Rule(
            "swap",
            "variables.unlimited.size() == 0"
            " && !variables.containers.exists(f, f.request > 0.0 && f.request < f.limit)",
            "'no container gets swap, since kubelet grants it only where the memory request is below the limit"
            f" and above zero: {_ASK_FOR_LESS}'",
        ),
        Rule(
            "priority",
            "has(object.spec.priority) && object.spec.priority >= 2000000000",
            f'"its priority makes it critical and kubelet grants critical pods no swap:'
            f" set spec.priorityClassName to '{pool.runtime_class_name}' or leave it out\"",
        ),
    )


def _pod_rules() -> tuple[Rule, ...]:
    spec = "dyn(object.spec)"
    huge = "k.startsWith('hugepages-')"
    pages = (
        "(dyn(object.spec.containers) + variables.initial).exists(c, has(c.resources) && ("
        f"has(c.resources.limits) && c.resources.limits.exists(k, {huge})"
        f" || has(c.resources.requests) && c.resources.requests.exists(k, {huge})))"
    )
    no_size = (
        "variables.memoryVolumes.filter(v, !has(v.emptyDir.sizeLimit)"
        " || quantity(v.emptyDir.sizeLimit).asApproximateFloat() <= 0.0)"
    )
    sizes = (
        "variables.memoryVolumes.map(v, has(v.emptyDir.sizeLimit)"
        " ? quantity(v.emptyDir.sizeLimit).asApproximateFloat() : 0.0).sum()"
    )
    return (
        Rule(
            "podResources",
            # A request that the API server fills in beside a CPU limit repeats the containers' own and is harmless.
            f"has(object.spec.resources) && (has({spec}.resources.limits)"
            f" && {spec}.resources.limits.exists(k, k == 'memory' || {huge})"
            f" || {amount(spec, 'requests', 'memory')} > variables.reservedAtMost)",
            "'spec.resources sets memory for the pod as a whole, but limits and swap are granted by container:"
            " set memory in the resources of the containers only'",
        ),
        Rule(
            "hugePages",
            pages,
            "'it asks for huge pages, which are outside memory limits and cannot be swapped,"
            " and nodes of the pool keep none: leave them out'",
        ),
        Rule(
            "memoryVolumeSize",
            f"{no_size}.size() > 0",
            f"'no size on memory volume ' + {quoted(no_size)} + ', and what is in it counts as memory that cannot be"
            " swapped: set emptyDir.sizeLimit'",
        ),
        Rule(
            "memoryVolumeTotal",
            f"variables.unlimited.size() == 0 && {sizes} > variables.limited",
            f"'its memory volumes may hold ' + {rounded_up(sizes)} + ', which counts against memory limits of ' +"
            f" {rounded_down('variables.limited')} + ' in all: lower emptyDir.sizeLimit or raise the limits'",
        ),
    )


def _disk_rules(pool: PoolGuardrail) -> tuple[Rule, ...]:
    cap = f"{pool.ephemeral_per_memory} * variables.reserved"
    return (
        Rule(
            "diskLimit",
            "!variables.all.exists(f, f.diskLimit > 0.0)",
            "'no container has an ephemeral-storage limit, so nothing keeps it from filling the disk that swap is on:"
            " set resources.limits.ephemeral-storage'",
        ),
        Rule(
            "diskCap",
            f"variables.disk > {cap}",
            f"'it may put ' + {rounded_up('variables.disk')} + ' on the node disk and the pool gives '"
            f" + {rounded_down(cap)} + ' ({pool.ephemeral_per_memory:g} times its memory request):"
            " lower the ephemeral-storage limits, use a volume, or request more memory'",
        ),
    )


_MOUNTING = (
    "((variables.debugging ? dyn([]) : dyn(object.spec.containers) + variables.initial)"
    " + (has(object.spec.ephemeralContainers) ? dyn(object.spec.ephemeralContainers) : dyn([])))"
)

_HOST_VOLUMES = (
    "variables.volumes.filter(v, has(v.hostPath)"
    " && !(has(v.hostPath.type) && v.hostPath.type in ['Socket', 'CharDevice'])"
    f" && {_MOUNTING}.exists(c, has(c.volumeMounts) && c.volumeMounts.exists(m,"
    " m.name == v.name && !(has(m.readOnly) && m.readOnly))))"
)

HOST_PATH = Rule(
    "hostPath",
    f"{_HOST_VOLUMES}.size() > 0",
    f"'it may write to the node through hostPath volume ' + {quoted(_HOST_VOLUMES)}"
    " + ', which no limit counts: mount it readOnly, or use an emptyDir or a claim'",
)
"""The one rule that a debug container can break."""
