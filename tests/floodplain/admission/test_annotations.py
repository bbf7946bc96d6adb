"""What annotations ask for, and every way in which they can be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.admission.annotations import INPUTS, Reading, Request, read
from floodplain.admission.subject import Kind, Subject
from floodplain.sizing.odm.options import OdmOptions, Quality
from floodplain.sizing.workload import CapacityType, Engine, Workload
from tests.floodplain.admission.objects import ODM, RASTER, container, job, pod, sidecar


def of_pod(*containers: Any, annotations: Any = None, recorded: str | None = None, **spec: Any) -> Reading:
    return read(Subject(Kind.POD, pod(*containers, annotations=annotations, **spec)), recorded=recorded)


def of_job(**parts: Any) -> Reading:
    return read(Subject(Kind.JOB, job(**parts)))


def told(reading: Reading) -> list[str]:
    assert reading.request is None
    return [str(problem) for problem in reading.problems]


def test_all_annotations_together() -> None:
    annotations = {
        "floodplain.dev/engine": "odm",
        "floodplain.dev/images": " 5000\n",
        "floodplain.dev/options": "dsm,fast-orthophoto,pc-quality=low",
        "floodplain.dev/megapixels": "20.5",
        "floodplain.dev/capacity-type": "on-demand",
        "floodplain.dev/deadline": "36h",
        "floodplain.dev/container": "process",
        "somebody.else/images": "-1",
    }
    options = OdmOptions(dsm=True, fast_orthophoto=True, pc_quality=Quality.LOW)
    assert of_pod(container("logs"), container("process"), annotations=annotations) == Reading(
        Request(
            Workload(
                images=5000,
                options=options,
                megapixels=20.5,
                capacity_type=CapacityType.ON_DEMAND,
                deadline_seconds=36 * 3600,
            ),
            "process",
        )
    )


def test_nothing_is_asked_without_annotations() -> None:
    assert of_pod(annotations={}) == Reading()
    assert of_pod(annotations={"floodplain.dev/plan": "{}", "floodplain.dev/elsewhere": "1"}) == Reading()


def test_a_jobs_own_annotations_and_its_templates_count_as_one_set() -> None:
    wanted = Reading(Request(Workload(images=500), "process"))
    assert of_job() == wanted
    assert of_job(annotations=ODM, template_annotations={}) == wanted
    assert of_job(annotations=ODM) == wanted
    one, other = {"floodplain.dev/engine": "odm"}, {"floodplain.dev/images": "500"}
    assert of_job(annotations=one, template_annotations=other) == wanted


def test_a_job_that_contradicts_itself_is_told_both_places() -> None:
    other = {**ODM, "floodplain.dev/images": "600"}
    assert told(of_job(annotations=other)) == [
        "metadata.annotations[floodplain.dev/images] and spec.template.metadata.annotations[floodplain.dev/images]:"
        " ('600', '500') contradict each other; write the same in both, or leave one out"
    ]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"engine": None},
            "[engine]: is required beside floodplain.dev/images; write odm or raster",
        ),
        (
            {"engine": "omd"},
            "[engine]: 'omd' is no engine that can be sized; did you mean `odm`?",
        ),
        (
            {"engine": ""},
            "[engine]: '' is no engine that can be sized; write odm or raster",
        ),
        (
            {"images": None},
            "[images]: is required beside floodplain.dev/engine; write how many images the job reads",
        ),
        (
            {"images": "0"},
            "[images]: 0 is not from 1 to 1000000; write how many images the job reads",
        ),
        (
            {"images": "-5"},
            "[images]: '-5' is not a count of images; write a whole number from 1 to 1000000",
        ),
        (
            {"images": "12.5"},
            "[images]: '12.5' is not a count of images; write a whole number from 1 to 1000000",
        ),
        (
            {"images": "9" * 50_000},
            f"[images]: '{'9' * 76}... is not a count of images; write a whole number from 1 to 1000000",
        ),
        (
            {"images": "5\x0000"},
            "[images]: '5\\x0000' is not a count of images; write a whole number from 1 to 1000000",
        ),
        (
            {"images": 500},
            "[images]: 500 should be text; put it in quotes",
        ),
        (
            {"options": "dsn"},
            "[options]: 'dsn' is no option of ODM; did you mean `dsm`?",
        ),
        (
            {"options": "pc-quality=best"},
            "[options]: 'pc-quality=best' is no quality of ODM; write one of ultra, high, medium, low, lowest",
        ),
        (
            {"options": "dsm," * 5000},
            "[options]: 'dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,dsm,...",
        ),
        (
            {"megapixels": "many"},
            "[megapixels]: 'many' is not a number of megapixels; write digits, such as 20 or 24.2",
        ),
        (
            {"megapixels": "nan"},
            "[megapixels]: 'nan' is not a number of megapixels; write digits, such as 20 or 24.2",
        ),
        (
            {"megapixels": "2000"},
            "[megapixels]: '2000' should be less than or equal to 1000",
        ),
        (
            {"capacity-type": "on_demand"},
            "[capacity-type]: 'on_demand' is no capacity type; did you mean `on-demand`?",
        ),
        (
            {"deadline": "2 days"},
            "[deadline]: '2 days' is not a duration; write 48h",
        ),
        (
            {"deadline": "0s"},
            "[deadline]: 0 should be greater than 0",
        ),
        (
            {"container": "proces"},
            "[container]: 'proces' is no container of the pod; did you mean `process`? name one of 'process'",
        ),
        (
            {"container": "a\x1b[31m/b"},
            "[container]: 'a\\x1b[31m/b' is no container of the pod; name one of 'process'",
        ),
    ],
)
def test_one_fault_is_told_with_annotation_value_rule_and_remedy(changes: dict[str, Any], wanted: str) -> None:
    annotations: dict[str, Any] = dict(ODM)
    for name, value in changes.items():
        annotations[f"floodplain.dev/{name}"] = value
        if value is None:
            del annotations[f"floodplain.dev/{name}"]
    problems = told(of_pod(annotations=annotations))
    assert len(problems) == 1
    told_of = problems[0].replace("metadata.annotations[floodplain.dev/", "[")
    assert told_of.startswith(wanted.removesuffix("...")) if wanted.endswith("...") else told_of == wanted


def test_a_raster_task_carries_its_peak() -> None:
    annotations = {**RASTER, "floodplain.dev/estimate": "warp chunk 1Gi", "floodplain.dev/deadline": "1h"}
    workload = Workload(engine=Engine.RASTER, peak="1536Mi", estimate="warp chunk 1Gi", deadline_seconds=3600)
    assert of_pod(annotations=annotations) == Reading(Request(workload, "process"))
    assert workload.peak_bytes == 1536 << 20


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"peak": None},
            "[peak]: is required beside floodplain.dev/engine; write the peak that `floodplain raster annotate`"
            " prints, such as 1536Mi",
        ),
        ({"engine": None}, "[engine]: is required beside floodplain.dev/peak; write odm or raster"),
        ({"engine": "rastr"}, "[engine]: 'rastr' is no engine that can be sized; did you mean `raster`?"),
        ({"peak": "1.5 GB"}, "[peak]: '1.5 GB' is not a quantity; write 1.5G (decimal) or 1.5Gi (binary)"),
        ({"peak": ""}, "[peak]: '' is not a quantity; write a number with a Kubernetes suffix, such as 16Gi, 500M"),
        ({"peak": "-2Gi"}, "[peak]: '-2Gi' is negative; write zero or more"),
        ({"peak": "9Ei"}, "[peak]: '9Ei' is above 2^63 - 1, the largest quantity of Kubernetes; write less"),
        ({"peak": "nan"}, "[peak]: 'nan' is not a quantity"),
        ({"peak": "1500"}, "[peak]: '1500' is less than 1Mi, which every process holds; write the unit too, such as"),
        ({"peak": "0"}, "[peak]: '0' is less than 1Mi, which every process holds; write the unit too, such as 1536Mi"),
        (
            {"peak": "1536m"},
            "[peak]: '1536m' is not a whole number of bytes; `m` means a thousandth: write 1536M (decimal) or 1536Mi",
        ),
        ({"images": "500"}, "[images]: '500' does not go with engine raster; leave it out, or set engine to odm"),
        ({"options": "dsm"}, "[options]: 'dsm' does not go with engine raster; leave it out, or set engine to odm"),
        ({"megapixels": "20"}, "[megapixels]: '20' does not go with engine raster; leave it out, or set engine to odm"),
        ({"estimate": "x" * 501}, "[estimate]: 'xxx"),
        ({"estimate": "a\nb"}, "[estimate]: 'a\\nb' has the control character U+000A; remove it"),
    ],
)
def test_one_fault_of_a_raster_task_is_told_likewise(changes: dict[str, Any], wanted: str) -> None:
    given = {**RASTER, **{f"floodplain.dev/{name}": value for name, value in changes.items()}}
    problems = told(of_pod(annotations={key: value for key, value in given.items() if value is not None}))
    assert len(problems) == 1
    assert problems[0].replace("metadata.annotations[floodplain.dev/", "[").startswith(wanted)


@pytest.mark.parametrize("field", ["peak", "estimate"])
def test_a_job_of_odm_carries_no_peak(field: str) -> None:
    (problem,) = told(of_pod(annotations={**ODM, f"floodplain.dev/{field}": "2Gi"}))
    place = f"metadata.annotations[floodplain.dev/{field}]"
    assert problem == f"{place}: '2Gi' does not go with engine odm; leave it out, or set engine to raster"


def test_all_faults_are_told_at_once() -> None:
    annotations = {
        "floodplain.dev/engine": "webodm",
        "floodplain.dev/images": "0",
        "floodplain.dev/options": "dsm,ply,pc-quality=x",
        "floodplain.dev/megapixels": "x",
        "floodplain.dev/capacity-type": "cheap",
        "floodplain.dev/deadline": "x",
        "floodplain.dev/container": "x",
    }
    problems = of_pod(annotations=annotations).problems
    paths = [problem.path.removeprefix("metadata.annotations[floodplain.dev/") for problem in problems]
    assert sorted(paths) == [
        "capacity-type]",
        "container]",
        "deadline]",
        "engine]",
        "images]",
        "megapixels]",
        "options]",
        "options]",
    ]


def test_a_jobs_fault_is_told_where_it_stands() -> None:
    bad = {**ODM, "floodplain.dev/images": "x"}
    assert told(of_job(template_annotations=bad))[0].startswith(
        "spec.template.metadata.annotations[floodplain.dev/images]: 'x'"
    )
    assert told(of_job(annotations=bad, template_annotations={}))[0].startswith(
        "metadata.annotations[floodplain.dev/images]: 'x'"
    )


def test_a_misspelt_annotation_is_a_warning_and_somebody_elses_is_not() -> None:
    annotations = {**ODM, "floodplain.dev/image": "5", "floodplain.dev/Engine": "odm", "floodplain.dev/team": "x"}
    assert of_pod(annotations=annotations).warnings == (
        "metadata.annotations[floodplain.dev/image] is not read: did you mean floodplain.dev/images?",
        "metadata.annotations[floodplain.dev/Engine] is not read: did you mean floodplain.dev/engine?",
    )


@pytest.mark.parametrize(
    ("containers", "spec", "annotations", "recorded", "wanted"),
    [
        (["only"], {}, {}, None, "only"),
        (["main", "wait"], {"initContainers": [container("init")]}, {}, None, "main"),
        (["main"], {"initContainers": [sidecar("wait")]}, {}, None, "main"),
        (["main", "wait", "tool"], {}, {"floodplain.dev/container": "tool"}, None, "tool"),
        (["supervisor", "main"], {}, {}, None, "main"),
        (["tool", "istio-proxy"], {}, {}, "tool", "tool"),
        (["main", "wait"], {}, {}, "gone", "main"),
        (["a/b~c", "x"], {}, {"floodplain.dev/container": "a/b~c"}, None, "a/b~c"),
    ],
)
def test_the_container_is_the_only_one_or_named_or_known(
    containers: list[str], spec: Any, annotations: Any, recorded: str | None, wanted: str
) -> None:
    reading = of_pod(*map(container, containers), annotations={**ODM, **annotations}, recorded=recorded, **spec)
    assert reading == Reading(Request(Workload(images=500), wanted))


def test_one_of_several_containers_must_be_named() -> None:
    assert told(of_pod(container("main"), container("helper"))) == [
        "metadata.annotations[floodplain.dev/container]: is required, since the pod has more than one container;"
        " name the one that does the work: 'main', 'helper'"
    ]
    many = [container(f"c{number}") for number in range(14)]
    assert told(of_pod(*many))[0].endswith("'c8', 'c9' and 4 more")


def test_a_workflows_container_set_must_name_the_one_that_does_the_work() -> None:
    """As default container Argo writes the last of the set, whichever that is."""
    noted = {**ODM, "kubectl.kubernetes.io/default-container": "upload"}
    assert told(of_pod(*map(container, ["wait", "download", "process", "upload"]), annotations=noted)) == [
        "metadata.annotations[floodplain.dev/container]: is required, since the pod has more than one container;"
        " name the one that does the work: 'wait', 'download', 'process', 'upload'"
    ]


def test_an_init_container_is_not_sized() -> None:
    annotations = {**ODM, "floodplain.dev/container": "fetch"}
    assert told(of_pod(annotations=annotations, initContainers=[container("fetch")])) == [
        "metadata.annotations[floodplain.dev/container]: 'fetch' is an init container, and a job's peak comes after"
        " those; name one of 'process'"
    ]


@pytest.mark.parametrize(
    ("annotation", "of_pod_spec", "of_job_spec", "wanted"),
    [
        (None, None, None, None),
        (None, 3600, None, 3600),
        (None, None, 7200, 7200),
        (None, 3600, 7200, 3600),
        ("1h", 3700, 7200, 3600),
        ("3h", 3600, 7200, 10_800),
        (None, True, "60", None),
        (None, -5, 0, None),
    ],
)
def test_the_deadline_is_the_annotations_or_that_of_pod_and_job(
    annotation: str | None, of_pod_spec: Any, of_job_spec: Any, wanted: int | None
) -> None:
    annotations = {**ODM, **({"floodplain.dev/deadline": annotation} if annotation else {})}
    spec = {} if of_pod_spec is None else {"activeDeadlineSeconds": of_pod_spec}
    job_spec = {} if of_job_spec is None else {"activeDeadlineSeconds": of_job_spec}
    reading = of_job(template_annotations=annotations, job_spec=job_spec, **spec)
    assert reading == Reading(Request(Workload(images=500, deadline_seconds=wanted), "process"))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
keys = st.sampled_from([*INPUTS, "floodplain.dev/image", "floodplain.dev/plan", "floodplain.dev/", "x"])


@given(
    annotations=st.dictionaries(keys, anything | st.sampled_from(["odm", "raster", "500", "dsm", "1h", "spot", "2Gi"]))
)
def test_any_annotations_are_read_or_told(annotations: dict[str, Any]) -> None:
    reading = of_pod(annotations=annotations)
    asked = any(key in annotations for key in INPUTS)
    assert (reading.request is not None) != bool(reading.problems) if asked else reading.request is None
    for problem in reading.problems:
        assert "floodplain.dev/" in problem.path
        assert str(problem).isprintable()
        assert len(str(problem)) < 600
