"""What peak an ODM job will have, how far that is trusted, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import GIB, MIB
from floodplain.sizing.odm.model import predict
from floodplain.sizing.odm.observations import Kind, counted
from floodplain.sizing.odm.options import Quality
from floodplain.sizing.odm.peak import submodel_images
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.workload import MOST_IMAGES, Workload

SOURCE = "floodplain's ODM model 1, fitted to 50 public observations"
ASSUMED = "20 megapixels an image are assumed; say how many where they are others"
QUALITIES = [None, *Quality]


def gib(images: int, options: Any = (), megapixels: float | None = None) -> float:
    job = Workload(images=images, options=options, megapixels=megapixels)
    return round(predict(job).peak_bytes / GIB, 1)


def test_a_prediction_is_told_whole() -> None:
    assert predict(Workload(images=1000)) == Prediction(
        peak_bytes=82688 * MIB,
        peak_source=SOURCE,
        confidence=Confidence.MEDIUM,
        confidence_reason="jobs of 865 and of 1,233 images were observed; jobs of like size differ by a factor of two",
        notes=(ASSUMED,),
    )


@pytest.mark.parametrize(
    ("images", "low", "medium", "high"),
    [
        (16, 3.0, 4.0, 5.6),
        (40, 4.5, 5.9, 8.2),
        (200, 13.9, 18.4, 25.7),
        (500, 31.7, 41.8, 58.5),
        (1000, 61.4, 80.8, 113.1),
        (1869, 112.9, 148.5, 207.9),
        (2658, 159.7, 210.1, 294.1),
        (5000, 298.5, 392.8, 549.9),
        (11972, 794.5, 1045.3, 1463.5),
    ],
)
def test_jobs_of_all_sizes(images: int, low: float, medium: float, high: float) -> None:
    found = [gib(images, {"pc-quality": quality}) for quality in ("low", "medium", "high")]
    assert found == [low, medium, high]


@pytest.mark.parametrize(
    ("images", "options", "megapixels", "expected"),
    [
        (1000, "", 20, 80.8),
        (1000, "", 5, 40.4),
        (1000, "", 45, 121.1),
        (1000, "dsm", None, 80.8),
        (1000, "dsm,dtm,pc-quality=lowest", None, 67.8),
        (1000, "pc-quality=lowest", None, 46.6),
        (1000, "pc-quality=ultra", None, 158.3),
        (1000, "fast-orthophoto", None, 80.8),
        (1000, "fast-orthophoto,pc-quality=ultra", None, 80.8),
        (1000, "feature-quality=ultra", None, 80.8),
        (40, "feature-quality=ultra", None, 28.0),
        (40, "feature-quality=ultra", 40, 56.0),
        (40, "feature-quality=ultra,max-concurrency=4", None, 14.0),
        (3, "feature-quality=ultra,max-concurrency=96", None, 10.5),
        (40, "feature-quality=ultra,resize-to=2048", None, 5.9),
        (40, "resize-to=-1,feature-quality=ultra", None, 28.0),
        (5000, "split=400", None, 78.6),
        (1000, "split=400", None, 41.8),
        (1000, "split=400,split-overlap=0", None, 34.0),
        (1000, "split=400,split-overlap=300", None, 49.6),
        (1000, "split=900", None, 80.8),
        (1000, "", 3.1, 31.8),
        (1000, "", 0.3, 31.8),
        (1, "", 0.1, 2.0),
    ],
)
def test_options_and_megapixels(images: int, options: str, megapixels: float | None, expected: float) -> None:
    assert gib(images, options, megapixels) == expected


def test_sixteen_images_fit_a_machine_of_4_gib() -> None:
    """A Raspberry Pi did it; ScaleODM asks for 18."""
    assert predict(Workload(images=16, options="dsm")).peak_bytes <= 4 * GIB


def test_no_job_is_predicted_the_memory_it_was_killed_with_but_the_five_that_are_known() -> None:
    killed = [one for one in counted() if one.kind is Kind.LOWER]
    missed = [one.id for one in killed if predict(one.workload).peak_bytes <= (one.low_gib or 0) * GIB]
    assert (len(killed), missed) == (25, ["o021", "o023", "o029", "o072", "o235"])


@pytest.mark.parametrize(
    ("job", "confidence", "reason"),
    [
        ({"images": 3}, "medium", "fewer images than the smallest job observed, which had 16"),
        ({"images": 16}, "medium", "a job of 16 images was observed; jobs of like size differ by a factor of two"),
        (
            {"images": 11_972},
            "medium",
            "a job of 11,972 images was observed; jobs of like size differ by a factor of two",
        ),
        (
            {"images": 11_973},
            "low",
            "beyond what has been observed: 11,973 images, and the largest job had 11,972",
        ),
        (
            {"images": 300, "megapixels": 45},
            "low",
            "beyond what has been observed: 45 megapixels, and the largest images had 20",
        ),
        ({"images": 900, "options": "split=400"}, "low", "beyond what has been observed: no split job was reported"),
        (
            {"images": 20_000, "options": "pc-quality=lowest"},
            "low",
            "beyond what has been observed: 20,000 images, and the largest job had 11,972;"
            " no job with pc-quality=lowest was reported",
        ),
    ],
    ids=str,
)
def test_a_prediction_says_how_far_it_can_be_trusted(job: dict[str, Any], confidence: str, reason: str) -> None:
    found = predict(Workload(**job))
    assert (found.confidence, found.confidence_reason) == (confidence, reason)


@pytest.mark.parametrize("job", [{"images": 300, "megapixels": 21}, {"images": 400, "options": "split=400"}], ids=str)
def test_what_is_hardly_beyond_the_observed_is_trusted_all_the_same(job: dict[str, Any]) -> None:
    assert predict(Workload(**job)).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    ("job", "notes"),
    [
        ({"images": 500}, [ASSUMED]),
        ({"images": 500, "megapixels": 12, "options": "cog,crop=3,min-num-features=20000"}, []),
        (
            {"images": 1000, "megapixels": 20, "options": "split=400"},
            [
                "split: 500 images at a time are assumed, neighbours' included; what works on all 1,000 is taken for"
                " 20% of the unsplit peak"
            ],
        ),
        (
            {"images": 50, "megapixels": 20, "options": "feature-quality=ultra"},
            [
                "feature-quality=ultra takes about 3.5 GiB a thread at 20 megapixels, and 8 threads are assumed; on"
                " nodes with more set max-concurrency"
            ],
        ),
        ({"images": 50, "megapixels": 20, "options": "feature-quality=ultra,max-concurrency=8"}, []),
        (
            {"images": 50, "megapixels": 20, "options": "resize-to=2048"},
            ["resize-to is for feature extraction only; for images made smaller say their megapixels"],
        ),
        (
            {"images": 2000, "megapixels": 20, "options": "dsm"},
            [
                "there is no boundary: one misplaced image inflates the canvas of surface model and orthophoto beyond"
                " any prediction; set boundary or auto-boundary"
            ],
        ),
        ({"images": 2000, "megapixels": 20, "options": "dsm,auto-boundary"}, []),
        ({"images": 2000, "megapixels": 20, "options": "dtm,boundary=area.json"}, []),
        ({"images": 1999, "megapixels": 20, "options": "dsm"}, []),
        ({"images": 1, "megapixels": 0.5}, ["raised to 2 GiB, below which no job is sized"]),
    ],
    ids=str,
)
def test_a_prediction_says_what_was_assumed(job: dict[str, Any], notes: list[str]) -> None:
    assert list(predict(Workload(**job)).notes) == notes


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "dsm": st.booleans(),
        "dtm": st.booleans(),
        "fast-orthophoto": st.booleans(),
        "pc-quality": st.sampled_from(Quality),
        "feature-quality": st.sampled_from(Quality),
        "split": st.integers(1, 20_000),
        "split-overlap": st.integers(0, 1000),
        "max-concurrency": st.integers(1, 128),
        "resize-to": st.integers(-1, 8000),
    },
)
JOBS = st.fixed_dictionaries(
    {"images": st.integers(1, MOST_IMAGES) | st.integers(1, 6000), "options": OPTIONS},
    optional={"megapixels": st.floats(0.01, 1000)},
)


def peak(job: dict[str, Any], **options: Any) -> int:
    return predict(Workload(**job | {"options": job["options"] | options})).peak_bytes


@given(JOBS)
def test_a_peak_is_whole_mib_and_never_below_the_floor(job: dict[str, Any]) -> None:
    assert peak(job) % MIB == 0
    assert peak(job) >= 2 * GIB


@given(JOBS, st.integers(0, 2000))
def test_more_images_never_need_less(job: dict[str, Any], more: int) -> None:
    assert peak(job) <= peak(job | {"images": min(MOST_IMAGES, job["images"] + more)})


@given(JOBS, st.floats(0.01, 1000), st.floats(0.01, 1000))
def test_larger_images_never_need_less(job: dict[str, Any], one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert peak(job | {"megapixels": small}) <= peak(job | {"megapixels": large})


@given(JOBS, st.sampled_from(("pc-quality", "feature-quality")))
def test_more_quality_never_needs_less(job: dict[str, Any], option: str) -> None:
    rising = [peak(job, **{option: quality}) for quality in reversed(Quality)]
    assert rising == sorted(rising)


@given(JOBS, st.sampled_from(("dsm", "dtm")))
def test_a_surface_model_never_needs_less(job: dict[str, Any], option: str) -> None:
    assert peak(job, **{option: False}) <= peak(job, **{option: True})


@given(JOBS)
def test_fast_orthophoto_never_needs_more(job: dict[str, Any]) -> None:
    assert peak(job, **{"fast-orthophoto": True}) <= peak(job, **{"fast-orthophoto": False})


@given(JOBS, st.integers(1, 20_000), st.integers(0, 1000))
def test_a_split_never_needs_more_and_a_finer_one_never_more_than_a_coarser(
    job: dict[str, Any], split: int, finer: int
) -> None:
    whole = {**job, "options": {name: value for name, value in job["options"].items() if name != "split"}}
    assert peak(whole, split=max(1, split - finer)) <= peak(whole, split=split) <= peak(whole)


@given(JOBS, st.integers(1, 128), st.integers(1, 128))
def test_more_threads_never_need_less(job: dict[str, Any], one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert peak(job, **{"max-concurrency": few}) <= peak(job, **{"max-concurrency": many})


@given(JOBS)
def test_only_a_split_below_the_count_is_a_split(job: dict[str, Any]) -> None:
    workload = Workload(**job)
    part = submodel_images(workload)
    assert 1 <= part <= workload.image_count
    split = workload.options.split
    assert (split or workload.image_count) >= workload.image_count or part >= (split or 0)
