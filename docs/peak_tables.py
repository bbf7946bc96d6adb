"""Tables of predicted peaks and of the observations behind them. Not for what a pool makes of a peak."""

from __future__ import annotations

from docs.markdown_table import code, table
from floodplain.sizing.odm.observations import Observation, counted, load
from floodplain.sizing.odm.peak import peak_gib
from floodplain.sizing.odm.score import is_missed
from floodplain.sizing.scaleodm import PROD, predicted_peak_gib
from floodplain.sizing.workload import Workload

IMAGES = (16, 40, 100, 200, 500, 1000, 2000, 3500, 5000, 8000, 12_000)


def peaks() -> str:
    """The model's peaks beside ScaleODM's, which know no quality."""
    rows = [
        (
            f"{images:,}",
            *(
                _gib(peak_gib(Workload(images=images, options={"pc-quality": one})))
                for one in ("low", "medium", "high")
            ),
            _gib(predicted_peak_gib(images, (), PROD)),
        )
        for images in IMAGES
    ]
    return table(("Images", "Low", "Medium (default)", "High", "ScaleODM"), rows, right=range(5))


def missed_peaks() -> str:
    """Jobs that would have been predicted less than they took."""
    rows = [
        (_job(one), _gib(peak), _bounds(one), f"{(one.low_gib or 0) / peak:.2f}", f"[{one.id}]({one.link})")
        for one in counted()
        if is_missed(one, peak := peak_gib(one.workload))
    ]
    return table(("Job", "Predicted", "Took", "Times", "Source"), rows, right=(1, 3))


def wasteful_peaks() -> str:
    """Jobs that would have been predicted a quarter more than they are known to have done with."""
    found = [(one, peak_gib(one.workload)) for one in counted() if one.high_gib]
    far = [(one, peak) for one, peak in found if peak > 1.25 * (one.high_gib or 0)]
    rows = [
        (_job(one), _gib(peak), _bounds(one), f"{peak / (one.high_gib or 0):.2f}", f"[{one.id}]({one.link})")
        for one, peak in sorted(far, key=lambda pair: -pair[1] / (pair[0].high_gib or 1))
    ]
    return table(("Job", "Predicted", "Took", "Times", "Source"), rows, right=(1, 3))


def observations() -> str:
    """Every packaged row, with what our model says of those that count."""
    rows = [
        (
            f"[{one.id}]({one.link})",
            _job(one),
            one.era,
            _bounds(one) if one.left_out is None or one.kind == "lower" else _figure(one),
            _gib(peak_gib(one.workload)) if one.left_out is None else "",
            one.what if one.left_out is None else f"{one.what}. Left out: {one.left_out}",
        )
        for one in load()
    ]
    return table(("", "Job", "ODM", "Took, GiB", "Predicted", "What is known"), rows, right=(4,))


def _job(one: Observation) -> str:
    size = f" of {one.megapixels:g} MP" if one.megapixels is not None else ""
    options = f", {code(','.join(one.options.texts))}" if one.options.texts else ""
    return f"{one.images:,} images{size}{options}"


def _bounds(one: Observation) -> str:
    if one.high_gib is None:
        return f"more than {one.low_gib:g}"
    if one.low_gib is None:
        return f"at most {one.high_gib:g}"
    return f"{one.low_gib:g}" if one.low_gib == one.high_gib else f"{one.low_gib:g} to {one.high_gib:g}"


def _figure(one: Observation) -> str:
    return f"{one.low_gib:g}" if one.low_gib is not None else ""


def _gib(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"
