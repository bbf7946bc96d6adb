"""What is allowed but probably not meant: rules that only warn, whatever the pool's mode.

Not for anything that could harm another pod: that is refused, in `guardrail_containment`.
"""

from __future__ import annotations

from .guardrail_containment import Rule
from .guardrail_figures import amount, quoted, titles
from .guardrail_settings import PoolGuardrail


def advice_rules(pool: PoolGuardrail) -> tuple[Rule, ...]:
    """The advice for one pool."""
    return (*(_swap_advice() if pool.swap else ()), *_DEBUGGING, *_DISRUPTION)


def _swap_advice() -> tuple[Rule, ...]:
    swapless = "variables.together.filter(f, f.limit > 0.0 && f.request == f.limit)"
    changed = (
        "object.spec.containers.filter(c, oldObject.spec.containers.exists(o, o.name == c.name"
        f" && {amount('dyn(o)', 'requests', 'memory')} != {amount('dyn(c)', 'requests', 'memory')}))"
    )
    return (
        Rule(
            "swapless",
            # Where no container gets swap the pod is refused, with the same remedy.
            f"!variables.debugging && {swapless}.size() > 0"
            " && variables.containers.exists(f, f.request > 0.0 && f.request < f.limit)",
            f"'no swap for ' + {titles(swapless)} + ', because the memory request equals the limit:"
            " request 1Mi less, or leave it so for what must never be swapped'",
        ),
        Rule(
            "resizedRequest",
            f"has(request.subResource) && request.subResource == 'resize' && {changed}.size() > 0",
            f"'the memory request of ' + {quoted(changed)} + ' changes, and kubelet cannot do"
            " that to a container with swap: the whole resize stays infeasible until the request is put back."
            " Change the limit only, or give the container a resizePolicy that restarts it'",
        ),
    )


_DEBUGGING = (
    Rule(
        "debugContainer",
        "variables.debugging",
        "'a debug container has no memory limit of its own and no swap: it shares what the pod has, so a large one"
        " can get the job killed'",
    ),
)

_DISRUPTION = (
    Rule(
        "disruptable",
        # Karpenter evicts pods from a drifted node even under WhenEmpty, unless they carry this annotation.
        "request.operation == 'CREATE' && !(has(object.metadata.annotations)"
        " && 'karpenter.sh/do-not-disrupt' in object.metadata.annotations"
        " && object.metadata.annotations['karpenter.sh/do-not-disrupt'] != 'false')",
        "'a change of the pool evicts this pod as soon as a new node is ready: annotate it with"
        ' karpenter.sh/do-not-disrupt: "true", and it may run to its end within the grace period of its node\'',
    ),
)
