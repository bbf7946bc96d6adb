"""What is allowed in a platform but should be known before `up`: each a key, what follows from it, what to do."""

from __future__ import annotations

from collections.abc import Iterator

from floodplain import quantity
from floodplain.problem import Problem

from . import karpenter_settings
from .karpenter_settings import SpotServiceLinkedRole
from .platform_settings import PlatformSettings
from .pool_types import admitted
from .swap_pool import CapacityType, GuardrailMode, SwapPool


def warnings(platform: PlatformSettings) -> list[Problem]:
    """Everything worth knowing about a valid platform, in the order of its keys."""
    found = [Problem("karpenter", text) for text in _karpenter(platform)]
    for index, pool in enumerate(platform.pools):
        found += [
            Problem(f"pools[{index}].{problem.path}", problem.rule, problem.remedy, problem.value)
            for problem in _pool(pool, platform)
        ]
    if platform.protected and platform.images.service is None:
        found.append(
            Problem(
                "images.service",
                "holds no digest, so floodplain's services stay off in this protected stack",
                "merge the pull request of a release, which writes the digests",
            )
        )
    return found


def _karpenter(platform: PlatformSettings) -> tuple[str, ...]:
    return karpenter_settings.warnings(platform.karpenter, platform.cluster.kubernetes_version)


def _pool(pool: SwapPool, platform: PlatformSettings) -> Iterator[Problem]:
    if CapacityType.SPOT in pool.capacity_types:
        yield Problem(
            "capacityTypes",
            f"includes spot, and jobs may run {pool.longest_job}: AWS takes spot nodes back with two minutes' notice",
            "keep long jobs on demand, or make them resume",
        )
        if platform.karpenter.spot_service_linked_role is SpotServiceLinkedRole.EXISTING:
            yield Problem(
                "capacityTypes",
                "includes spot, which needs the account's role AWSServiceRoleForEC2Spot",
                "make sure it exists, or set karpenter.spotServiceLinkedRole: Create once for the account",
            )
    if not pool.ami.pinned:
        yield Problem("ami.alias", "rolls the nodes whenever AWS publishes an image", "pin it", pool.ami.alias)
    if pool.guardrails is not GuardrailMode.ENFORCE:
        yield Problem(
            "guardrails",
            "lets pods in that can get others evicted",
            "set it to enforce once the audit is quiet",
            pool.guardrails.value,
        )
    if not pool.swap.power_off_on_failure:
        yield Problem(
            "swap.powerOffOnFailure",
            "keeps a node whose swap failed running and paid for until Karpenter gives up on it after 15 minutes",
            "leave it on outside debugging",
            False,
        )
    yield from _unreachable_sizes(pool)


def _unreachable_sizes(pool: SwapPool) -> Iterator[Problem]:
    """Sizes that the limits exclude: Karpenter drops them and its message hides the cause."""
    types = admitted(pool.families, pool.architecture, pool.vcpus)
    memory_bytes = quantity.to_bytes(pool.limits.memory)
    cpu = quantity.to_millicores(pool.limits.cpu)
    out = [kind.name for kind in types if kind.memory_bytes > memory_bytes or kind.vcpu * 1000 > cpu]
    if out:
        yield Problem(
            "limits",
            f"never allow {', '.join(out[:3])}{' and more' if len(out) > 3 else ''}: limits count whole nodes",
            "raise the limits, or name the sizes wanted in vcpus",
        )
