"""AdmissionReviews in, AdmissionReviews out, whatever is sent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.admission import review as module
from floodplain.admission.decision import Mode, Outcome
from floodplain.admission.review import Answer, answer
from floodplain.sizing.settings import Placement, SizingSettings
from tests.floodplain.admission.api_server import POOLS, SETTINGS, enforce, patched
from tests.floodplain.admission.objects import ODM, job, pod, review


def asked(body: Any, mode: Mode = Mode.ENFORCE) -> Answer:
    return answer(body, POOLS, SETTINGS, mode)


def response(found: Answer) -> dict[str, Any]:
    assert {key: found.review[key] for key in ("apiVersion", "kind")} == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
    }
    assert json.loads(found.body) == found.review
    return dict(found.review["response"])


def test_a_pod_is_answered_with_its_patch() -> None:
    thing = pod()
    found = asked(json.dumps(review(thing)).encode())
    told = response(found)
    operations = json.loads(base64.b64decode(told.pop("patch")))
    assert told == {"uid": "7f1c", "allowed": True, "patchType": "JSONPatch"}
    assert tuple(operations) == enforce(thing).patch
    assert (found.uid, found.namespace, found.kind, found.dry_run, found.error) == (
        "7f1c",
        "mapping",
        "Pod",
        False,
        None,
    )


def test_a_job_is_answered_with_its_patch_and_in_a_dry_run_too() -> None:
    thing = job()
    found = asked(review(thing, kind="Job", group="batch", dryRun=True))
    assert json.loads(base64.b64decode(response(found)["patch"])) == list(
        asked(review(thing, kind="Job", group="batch")).decision.patch
    )
    assert found.dry_run


def test_an_object_that_stands_is_answered_without_a_patch() -> None:
    sized = patched(pod(), enforce(pod()))
    assert response(asked(review(sized))) == {"uid": "7f1c", "allowed": True}


def test_a_refusal_has_its_status_and_message() -> None:
    bad = pod(annotations={**ODM, "floodplain.dev/images": "-3", "floodplain.dev/image": "3"})
    assert response(asked(review(bad))) == {
        "uid": "7f1c",
        "allowed": False,
        "status": {
            "code": 400,
            "reason": "BadRequest",
            "message": "floodplain cannot size this Pod: metadata.annotations[floodplain.dev/images]: '-3' is not a"
            " count of images; write a whole number from 1 to 1000000",
        },
        "warnings": [
            "metadata.annotations[floodplain.dev/image] is not read: did you mean floodplain.dev/images?",
        ],
    }
    large = pod(annotations={**ODM, "floodplain.dev/images": "90000"})
    status = response(asked(review(large)))["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    status = response(answer(review(pod()), (), SETTINGS, Mode.ENFORCE))["status"]
    assert (status["code"], status["reason"]) == (503, "ServiceUnavailable")


def test_warnings_are_as_long_as_the_api_wants_and_on_one_line() -> None:
    bad = pod(annotations={**ODM, "floodplain.dev/options": "x\ny," * 50, "floodplain.dev/image\u2028s" * 9: ""})
    warnings = response(asked(review(bad), Mode.OBSERVE))["warnings"]
    assert len(warnings) == 8
    assert all(len(one) <= 120 and one.isprintable() for one in warnings)
    assert warnings[0].endswith("...")


@pytest.mark.parametrize(
    ("thing", "request_parts"),
    [
        (pod(), {"operation": "UPDATE"}),
        (pod(), {"operation": "DELETE", "object": None}),
        (pod(), {"operation": "CONNECT"}),
        (pod(), {"subResource": "ephemeralcontainers"}),
        ({}, {}),
        (pod(annotations={}), {}),
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_what_is_not_ours_passes_unchanged(thing: Any, request_parts: Any, mode: Mode) -> None:
    found = asked(review(thing, **request_parts), mode)
    assert response(found) == {"uid": "7f1c", "allowed": True}
    assert found.decision.outcome is Outcome.IGNORED


@pytest.mark.parametrize(
    ("kind", "group", "version"), [("Deployment", "apps", "v1"), ("Pod", "x", "v1"), ("Job", "batch", "v2")]
)
def test_another_kind_passes_with_a_warning(kind: str, group: str, version: str) -> None:
    assert response(asked(review(pod(), kind=kind, group=group, version=version))) == {
        "uid": "7f1c",
        "allowed": True,
        "warnings": [f"floodplain sizes pods and Jobs, not {kind!r}"],
    }


WRONG = {
    "not JSON": (b"{", "", "the body is not JSON"),
    "empty": (b"", "", "the body is not JSON"),
    "not UTF-8": (b"\xff\xfe\x00", "", "the body is not JSON"),
    "deep": (b"[" * 100_000, "", "the body is not JSON"),
    "huge number": (b"1" * 10_000, "", "the body is not JSON"),
    "a list": (b"[1]", "", "it is '' '' and only admission.k8s.io/v1 AdmissionReview is read"),
    "null": (b"null", "", "it is '' '' and only admission.k8s.io/v1 AdmissionReview is read"),
    "an old version": (
        {**review(pod()), "apiVersion": "admission.k8s.io/v1beta1"},
        "7f1c",
        "it is 'admission.k8s.io/v1beta1' 'AdmissionReview' and only admission.k8s.io/v1 AdmissionReview is read",
    ),
    "another kind": (
        {**review(pod()), "kind": "ConversionReview"},
        "7f1c",
        "it is 'admission.k8s.io/v1' 'ConversionReview' and only admission.k8s.io/v1 AdmissionReview is read",
    ),
    "no request": (
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": None},
        "",
        "it has no request",
    ),
    "no object": (review(None), "7f1c", "it has no object"),
    "an object that is none": (review(["pod"]), "7f1c", "it has no object"),
}


@pytest.mark.parametrize(("body", "uid", "why"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_refused_in_enforce_and_passes_in_observe(body: Any, uid: str, why: str) -> None:
    message = f"floodplain cannot read the admission review: {why}; check the webhook configuration floodplain-sizing"
    refused, passed = asked(body), asked(body, Mode.OBSERVE)
    assert response(refused) == {
        "uid": uid,
        "allowed": False,
        "status": {"code": 400, "reason": "BadRequest", "message": message},
    }
    assert (response(passed)["uid"], response(passed)["allowed"]) == (uid, True)
    assert response(passed)["warnings"][0][:110] == message[:110]
    assert refused.decision.outcome is passed.decision.outcome is Outcome.ERROR


def test_a_fault_of_ours_refuses_in_enforce_passes_in_observe_and_is_handed_to_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = KeyError("secret")

    def failing(*_: Any) -> Any:
        raise fault

    monkeypatch.setattr(module, "decide", failing)
    refused, passed = asked(review(pod())), asked(review(pod()), Mode.OBSERVE)
    message = (
        "floodplain failed on this object (KeyError), which is a fault of floodplain: its log has more. To go on"
        " without it, label the namespace floodplain.dev/sizing=observe"
    )
    assert response(refused) == {
        "uid": "7f1c",
        "allowed": False,
        "status": {"code": 500, "reason": "InternalError", "message": message},
    }
    assert response(passed) == {"uid": "7f1c", "allowed": True, "warnings": [f"{message[:117]}..."]}
    assert refused.error is passed.error is fault
    assert refused.decision.outcome is passed.decision.outcome is Outcome.ERROR


def test_a_large_body_is_answered() -> None:
    large = pod(annotations={**ODM, "floodplain.dev/options": "x" * 10_000_000})
    found = asked(json.dumps(review(large)).encode())
    assert response(found)["status"]["code"] == 400
    assert len(found.body) < 3000


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "annotations", "spec", "template", "containers", "name", "resources", "limits"]
            )
            | st.sampled_from(
                ["requests", "memory", "initContainers", "nodeSelector", "tolerations", "affinity", *ODM]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(thing=anything, kind=st.sampled_from(["Pod", "Job"]), mode=st.sampled_from(Mode))
def test_any_object_is_answered(thing: Any, kind: str, mode: Mode) -> None:
    if isinstance(thing, dict):
        thing.setdefault("metadata", {"annotations": ODM})
    found = asked(review(thing, kind=kind, group="batch" if kind == "Job" else ""), mode)
    assert response(found)["uid"] == "7f1c"
    assert found.error is None
    assert mode is Mode.ENFORCE or response(found)["allowed"]


fields = st.sampled_from(["resources", "command", "args", "image", "restartPolicy", "name", "ports"])
spec_fields = st.sampled_from(
    ["nodeSelector", "tolerations", "affinity", "runtimeClassName", "overhead", "resources", "initContainers"]
) | st.sampled_from(["priority", "priorityClassName", "activeDeadlineSeconds", "volumes"])


@given(
    spec=st.dictionaries(spec_fields, anything, max_size=4),
    inner=st.dictionaries(fields, anything, max_size=3),
    mode=st.sampled_from(Mode),
    placement=st.sampled_from(Placement),
)
def test_any_pod_is_answered(spec: Any, inner: Any, mode: Mode, placement: Placement) -> None:
    thing = pod({"name": "process", **inner}, **spec)
    found = answer(review(thing), POOLS, SizingSettings(placement=placement), mode)
    assert found.error is None
    assert response(found)["uid"] == "7f1c"
    if found.decision.patch:
        patched(thing, found.decision)
