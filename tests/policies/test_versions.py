"""Images and charts are named exactly: nothing follows `latest`."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from policies.rules.pod_templates import ImageReference, read_image

VERSION, DIGEST, CHART = "images-have-a-version", "images-by-digest-in-protected-stacks", "charts-have-an-exact-version"
RELEASE = "kubernetes:helm.sh/v3:Release"
SHA = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("nginx", ("nginx", None, None)),
        ("nginx:1.27", ("nginx", "1.27", None)),
        ("registry:5000/a/b", ("registry:5000/a/b", None, None)),
        ("registry:5000/a/b:1", ("registry:5000/a/b", "1", None)),
        (f"ghcr.io/a/b@{SHA}", ("ghcr.io/a/b", None, SHA)),
        (f"registry:5000/b:1@{SHA}", ("registry:5000/b", "1", SHA)),
        ("", ("", None, None)),
    ],
)
def test_an_image_reference_is_read_in_parts(reference: str, parts: tuple[str, str | None, str | None]) -> None:
    assert read_image(reference) == ImageReference(*parts)


def pod(*images: Any, key: str = "containers") -> dict[str, Any]:
    return {key: [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]}


TEMPLATES = [
    ("kubernetes:apps/v1:Deployment", lambda spec: {"spec": {"template": {"spec": spec}}}),
    ("kubernetes:apps/v1:DaemonSet", lambda spec: {"spec": {"template": {"spec": spec}}}),
    ("kubernetes:apps/v1:StatefulSet", lambda spec: {"spec": {"template": {"spec": spec}}}),
    ("kubernetes:apps/v1:DeploymentPatch", lambda spec: {"spec": {"template": {"spec": spec}}}),
    ("kubernetes:batch/v1:Job", lambda spec: {"spec": {"template": {"spec": spec}}}),
    ("kubernetes:batch/v1:CronJob", lambda spec: {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}),
    ("kubernetes:core/v1:Pod", lambda spec: {"spec": spec}),
    ("kubernetes:v1:Pod", lambda spec: {"spec": spec}),
    ("kubernetes:core/v1:PodTemplate", lambda spec: {"template": {"spec": spec}}),
    ("kubernetes:core/v1:ReplicationController", lambda spec: {"spec": {"template": {"spec": spec}}}),
]


@pytest.mark.parametrize(("kind", "wrap"), TEMPLATES)
@pytest.mark.parametrize("key", ["containers", "initContainers", "ephemeralContainers"])
def test_every_pod_template_is_walked(rules: Any, kind: str, wrap: Any, key: str) -> None:
    props = {**wrap(pod("nginx", "nginx:1.27", key=key)), "metadata": UNKNOWN, "status": UNKNOWN}
    assert len(rules.on(VERSION, kind, props)) == 1
    assert len(rules.on(DIGEST, kind, props, stack="prod")) == 2
    assert rules.on(DIGEST, kind, props, stack="dev") == []


@pytest.mark.parametrize(
    ("image", "versioned", "by_digest"),
    [
        ("a/b:1.2.3", True, False),
        (f"a/b@{SHA}", True, True),
        (f"a/b:latest@{SHA}", True, True),
        ("a/b@sha256:abc", True, False),
        ("a/b:latest", False, False),
        ("a/b:LATEST", False, False),
        ("registry:5000/a/b", False, False),
        ("", False, False),
    ],
)
def test_images(rules: Any, image: str, versioned: bool, by_digest: bool) -> None:
    props = {"spec": pod(image)}
    assert (rules.on(VERSION, "kubernetes:core/v1:Pod", props) == []) is versioned
    assert (rules.on(DIGEST, "kubernetes:core/v1:Pod", props, stack="hotosm") == []) is by_digest


def test_an_image_volume_is_an_image_too(rules: Any) -> None:
    props = {"spec": {"volumes": [{"name": "model", "image": {"reference": "a/b"}}, {"name": "x", "emptyDir": {}}]}}
    (message,) = rules.on(VERSION, "kubernetes:core/v1:Pod", props)
    assert "volume model" in message


@pytest.mark.parametrize("rule", [VERSION, DIGEST])
def test_an_unknown_image_is_told_after_the_others(rules: Any, rule: str) -> None:
    *messages, last = rules.on(rule, "kubernetes:core/v1:Pod", {"spec": pod(UNKNOWN, "a", UNKNOWN, "b")}, stack="prod")
    assert [name in message for name, message in zip(("c1", "c3"), messages, strict=True)] == [True, True]
    assert last == rules.UNKNOWN


@pytest.mark.parametrize("rule", [VERSION, DIGEST])
def test_an_unknown_beside_the_images_does_not_blind_it(rules: Any, rule: str) -> None:
    container = {"name": UNKNOWN, "image": f"a@{SHA}", "env": [{"name": "A", "value": UNKNOWN}], "args": UNKNOWN}
    props = {"spec": {"containers": [container], "nodeSelector": UNKNOWN}, "metadata": UNKNOWN}
    assert rules.on(rule, "kubernetes:core/v1:Pod", props, stack="prod") == []


def test_objects_of_operators_are_out_of_sight_and_the_description_says_so(rules: Any) -> None:
    workflow = {"spec": {"template": {"spec": pod("nginx")}}}
    assert rules.on(VERSION, "kubernetes:argoproj.io/v1alpha1:Job", workflow) == []
    for policy in rules._by_name.values():
        if policy.name in (VERSION, DIGEST):
            assert "inside Helm releases" in policy.description


@pytest.mark.parametrize("kind", [RELEASE, "kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Chart"])
@pytest.mark.parametrize(
    ("props", "words"),
    [
        ({"chart": "kueue", "version": "0.17.0"}, []),
        ({"chart": "kueue", "version": "v0.17.0-rc.1+x"}, []),
        ({"chart": "./charts/kueue"}, []),
        ({"chart": "/abs/kueue.tgz"}, []),
        ({"chart": "kueue"}, ["version: chart 'kueue' has none"]),
        ({"chart": "kueue", "version": ""}, ["version: '' of chart 'kueue' is not exact"]),
        ({"chart": "kueue", "version": "latest"}, ["is not exact"]),
        ({"chart": "kueue", "version": "^0.17.0"}, ["is not exact"]),
        ({"chart": "kueue", "version": "0.17"}, ["is not exact"]),
        ({"chart": "kueue", "version": "0.17.x"}, ["is not exact"]),
        ({"chart": "kueue", "version": ">=0.17.0 <1"}, ["is not exact"]),
        ({"chart": "kueue", "version": 1.17}, ["version: 1.17 of chart"]),
        ({"chart": "kueue", "version": "0.17.0", "devel": True}, ["devel: true"]),
        ({"chart": "a", "version": "1.0.0", "values": {"image": {"tag": "latest"}}}, ["values.image.tag: 'latest'"]),
        ({"chart": "a", "version": "1.0.0", "values": {"list": [{"image": "b:latest"}]}}, ["values.list[0].image"]),
        ({"chart": "a", "version": "1.0.0", "values": {"strategy": "latest", "image": "b:1"}}, []),
        ({"chart": "a", "version": "1.0.0", "values": {"endpoint": UNKNOWN, "imageTag": "latest"}}, ["imageTag"]),
        ({"chart": "a", "version": "1.0.0", "values": UNKNOWN}, ["could not see everything"]),
        ({"chart": "a", "version": UNKNOWN, "devel": True}, ["devel: true", "could not see everything"]),
        ({"chart": UNKNOWN, "version": "1.0.0"}, ["could not see everything"]),
    ],
)
def test_a_chart_has_one_exact_version(rules: Any, kind: str, props: dict[str, Any], words: list[str]) -> None:
    messages = sorted(rules.on(CHART, kind, props), key=rules.UNKNOWN.__eq__)
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages
