"""From a job to its plan: the pool that takes it for the least, and the whole answer in one model.

How a pool takes a job is `fit`, what to change where none does is `levers`, what it costs is `cost`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from floodplain.pools import PoolDocument
from floodplain.problem import RuleError
from floodplain.quantity import from_millicores
from floodplain.sizing.cost import Prices, monthly_cost, peak_as_ram_cost
from floodplain.sizing.fit import Fit, Job, amount, fit, fit_limit
from floodplain.sizing.given import Given
from floodplain.sizing.levers import advice
from floodplain.sizing.plan import Plan
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.prediction import Prediction
from floodplain.sizing.predictor import predict
from floodplain.sizing.scaleodm import PROD, flags_of, size
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import Engine, Workload
from floodplain.swap import hot_bytes


def make_plan(
    workload: Workload,
    pools: Sequence[PoolDocument],
    *,
    settings: SizingSettings | None = None,
    rest: PodRest | None = None,
    given: Given | None = None,
    prices: Prices | None = None,
    prediction: Prediction | None = None,
) -> Plan:
    """The plan of one job in these pools; `prediction` in place of the predictor's own.

    Always answers: a plan that is not feasible says why and what to change. Raises RuleError without any pool.
    """
    if not pools:
        raise RuleError("no pools are known", "give the document of at least one pool", ("pools",))
    settings, rest, given = settings or SizingSettings(), rest or PodRest(), given or Given()
    predicted = prediction or predict(workload, settings)
    job = Job(workload, predicted.peak_bytes, rest, given, predicted.hot_share)
    if settings.compatibility is not None and workload.engine is not Engine.ODM:
        settings = settings.model_copy(update={"compatibility": None})
    if settings.compatibility is Compatibility.SCALEODM and given.limit_bytes is None:
        return _plan(
            job, predicted, _least([_as_scaleodm(job, pool, settings) for pool in pools]), settings, prices, ()
        )
    best = _least([fit(job, pool, settings) for pool in pools])
    told = advice(job, pools, settings, best, lambda images: _peak(workload, images, settings))
    return _plan(job, predicted, best, settings, prices, told)


def _peak(workload: Workload, images: int, settings: SizingSettings) -> int:
    return predict(workload.model_copy(update={"images": images}), settings).peak_bytes


def _least(fits: Sequence[Fit]) -> Fit:
    """Feasible before infeasible, then the least memory reserved, then the most swap; in doubt the first name."""
    return min(fits, key=lambda one: (len(one.problems), one.pod_request_bytes, -one.pool.swap_ratio, one.pool.name))


def _as_scaleodm(job: Job, pool: PoolDocument, settings: SizingSettings) -> Fit:
    theirs = size(job.workload.image_count, flags_of(job.workload.options), PROD)
    hot = hot_bytes(job.peak_bytes, pool.hot_share)
    return fit_limit(job, pool, settings, limit=theirs.limit_bytes, request=theirs.request_bytes, hot=hot)


def _plan(
    job: Job, predicted: Prediction, best: Fit, settings: SizingSettings, prices: Prices | None, told: tuple[str, ...]
) -> Plan:
    workload, pool, given = job.workload, best.pool, job.given
    notes = [*predicted.notes, *best.notes]
    if given.limit_bytes is not None:
        notes.append(f"the memory limit of {amount(given.limit_bytes)} is the user's and stands")
    reasons = best.problems
    if settings.compatibility is not None:
        # Theirs is reproduced, not judged: what breaks containment is said and done all the same.
        notes += [f"as {settings.compatibility.value} does it: {problem}" for problem in reasons if best.types]
        reasons = () if best.types else reasons
    concurrency = None
    threads = workload.engine is Engine.ODM
    if threads and given.cpu_limit_millicores is not None and workload.options.max_concurrency is None:
        concurrency = max(1, math.floor(given.cpu_limit_millicores / 1000))
    return Plan(
        engine=workload.engine,
        images=workload.images,
        options=workload.options.texts,
        compatibility=settings.compatibility,
        peak_bytes=job.peak_bytes,
        peak_source=predicted.peak_source,
        confidence=predicted.confidence,
        confidence_reason=predicted.confidence_reason,
        hot_bytes=best.hot_bytes,
        hot_source=_hot_source(job, pool),
        pool=pool.name,
        runtime_class=pool.runtime_class,
        capacity_type=best.capacity_type.value,
        request_bytes=best.request_bytes,
        limit_bytes=best.limit_bytes,
        swap_grant_bytes=best.grant_bytes,
        cpu=from_millicores(best.cpu_millicores),
        cpu_limit=None if given.cpu_limit_millicores is None else from_millicores(given.cpu_limit_millicores),
        max_concurrency=concurrency,
        ephemeral_bytes=best.ephemeral_bytes,
        instance_types=tuple(kind.name for kind in best.types),
        smallest_allocatable_bytes=best.types[0].allocatable_memory_bytes if best.types else None,
        containment_margin_bytes=best.containment_margin_bytes,
        completion_margin_bytes=best.limit_bytes + best.grant_bytes - job.peak_bytes,
        feasible=not reasons,
        reasons=reasons,
        advice=told,
        notes=tuple(notes),
        monthly_cost=monthly_cost(best, prices) if prices else None,
        peak_as_ram_cost=peak_as_ram_cost(job.peak_bytes, best, prices) if prices else None,
    )


def _hot_source(job: Job, pool: PoolDocument) -> str:
    whose = f"pool {pool.name}" if job.hot_share is None else f"{job.workload.engine} tasks"
    return f"hot share {job.hot_share_in(pool):g} of {whose}"
