"""Which predictor answers: our own, ScaleODM's table where its ways are asked for, or the estimate that a job carries.

Makes no figures itself.
"""

from __future__ import annotations

from floodplain.quantity import GIB, MIB
from floodplain.sizing.odm.model import predict as predict_odm
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.scaleodm import PROD, flags_of, predicted_peak_gib
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import Engine, Workload

RASTER_HOT_SHARE = 1.0
"""Most of a warp's peak are buffers and cached blocks that each chunk goes through anew. Swap is the reserve for an
estimate that was too low (docs/components/worker-pools.md), nothing to plan with."""


def predict(workload: Workload, settings: SizingSettings) -> Prediction:
    """The peak of a job."""
    if workload.engine is Engine.RASTER:
        return _carried(workload, settings)
    if settings.compatibility is Compatibility.SCALEODM:
        peak_gib = predicted_peak_gib(workload.image_count, flags_of(workload.options), PROD)
        return Prediction(
            peak_bytes=max(MIB, int(peak_gib * GIB)),
            peak_source="ScaleODM's table and flag factors",
            confidence=Confidence.LOW,
            confidence_reason="it knows the image count and three flags; a third of public jobs ran with less",
        )
    return predict_odm(workload)


def _carried(workload: Workload, settings: SizingSettings) -> Prediction:
    """A raster's header cannot be read here: neither admission nor the planner makes a call."""
    found = "" if workload.estimate is None else f": {workload.estimate}"
    notes: tuple[str, ...] = ()
    if settings.compatibility is not None:
        notes = (f"{settings.compatibility.value} knows no raster tasks: sized by floodplain's own rule",)
    return Prediction(
        peak_bytes=workload.peak_bytes,
        peak_source=f"an estimate that came with the job{found}",
        confidence=Confidence.MEDIUM,
        confidence_reason="taken as it was given: the raster is not read again",
        hot_share=RASTER_HOT_SHARE,
        notes=notes,
    )
