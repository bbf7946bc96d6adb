"""Which predictor answers: our own, or ScaleODM's table where its ways are asked for. Makes no figures itself."""

from __future__ import annotations

from floodplain.quantity import GIB, MIB
from floodplain.sizing.odm.model import predict as predict_odm
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.scaleodm import PROD, flags_of, predicted_peak_gib
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import Workload


def predict(workload: Workload, settings: SizingSettings) -> Prediction:
    """The peak of a job."""
    if settings.compatibility is Compatibility.SCALEODM:
        peak_gib = predicted_peak_gib(workload.images, flags_of(workload.options), PROD)
        return Prediction(
            peak_bytes=max(MIB, int(peak_gib * GIB)),
            peak_source="ScaleODM's table and flag factors",
            confidence=Confidence.LOW,
            confidence_reason="it knows the image count and three flags; a third of public jobs ran with less",
        )
    return predict_odm(workload)
