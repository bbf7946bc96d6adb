from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.errors import InputPropertiesError
from pulumi.provider.experimental.component import ComponentProvider

from components.controller_charts import (
    ARGO_WORKFLOWS_CRDS,
    KARPENTER_CRDS,
    KUEUE_CRDS,
    PROMETHEUS_OPERATOR_CRDS,
)
from components.controllers import Controllers
from components.controllers_settings import ControllersSettings, names_of_ours, warnings
from components.helm_release import merged
from components.monitoring_values import monitoring_values
from floodplain.problem import BrokenRulesError
from preview.recording import Recording
from stacks.config import parse
from stacks.problems import StackProblemsError
from tests.components.karpenter_program import CLUSTER
from tests.components.stack_spelling import in_stack_spelling

Render = Callable[..., Recording]
ALL: dict[str, Any] = {"kueue": {}, "argo_workflows": {}, "kube_prometheus_stack": {}}
OWN = {"name": "own", "version": "1.2.3", "namespace": "own", "chart": "oci://registry.example/charts/own"}


def program(args: Mapping[str, Any]) -> Callable[[], None]:
    def run() -> None:
        provider = kubernetes.Provider("k8s", kubeconfig="{}", cluster_identifier="prod")
        given: Any = dict(args)
        Controllers("controllers", given, pulumi.ResourceOptions(providers=[provider]))

    return run


def refusals(render: Render, args: Mapping[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InputPropertiesError) as refused:
        render(program(args))
    return [(detail["property_path"], detail["reason"]) for detail in refused.value.errors or ()]


def releases(recording: Recording) -> dict[str, Any]:
    return {str(chart.inputs["name"]): chart.inputs for chart in recording.of("helm.sh/v3:Release")}


def test_all_three_charts_as_an_update_would_install_them(render: Render, golden: Any) -> None:
    recording = render(program(ALL))
    shown = [
        {
            "name": resource.name,
            "dependsOn": [urn.rsplit("::", 1)[-1] for urn in resource.depends_on],
            "inputs": dict(resource.inputs),
        }
        for resource in recording.of("helm.sh/v3:Release")
    ]
    shown.append({"outputs": dict(recording.one(":Controllers").outputs)})
    golden.check("components/golden/controllers.yaml", yaml.safe_dump_all(shown, sort_keys=False, width=120))


def test_a_chart_that_is_left_out_is_not_installed(render: Render) -> None:
    assert list(releases(render(program({})))) == []
    assert list(releases(render(program({"kueue": {}})))) == ["kueue"]


def test_every_chart_is_pinned_and_goes_to_the_given_provider(render: Render) -> None:
    recording = render(program({**ALL, "additional": [OWN]}))
    assert {name: chart["version"] for name, chart in releases(recording).items()} == {
        "argo-workflows": "2.0.1",
        "kube-prometheus-stack": "88.1.5",
        "kueue": "0.17.0",
        "own": "1.2.3",
        "prometheus-operator-crds": "31.0.0",
    }
    assert {chart.provider.rsplit("::", 1)[-1] for chart in recording.of(":Release")} == {"k8s"}


def test_crds_of_the_operator_come_before_every_chart_that_may_use_them(render: Render) -> None:
    recording = render(program({**ALL, "additional": [OWN]}))
    first = recording.one(":Release", "controllers-monitoring-crds").urn
    assert {chart.name for chart in recording.of(":Release") if first not in chart.depends_on} == {
        "controllers-monitoring-crds"
    }
    stack = releases(recording)["kube-prometheus-stack"]
    assert (stack["skipCrds"], stack["values"]["crds"]) == (True, {"enabled": False})
    crds = releases(recording)["prometheus-operator-crds"]
    assert (crds["atomic"], crds["cleanupOnFail"]) == (False, False), "a failed upgrade would take new CRDs away again"
    assert crds["values"] == {"crds": {"annotations": {"helm.sh/resource-policy": "keep"}}}


@pytest.mark.parametrize("version", ["latest", "", "*", "1", "1.2", ">=1.2.3", "~1.2.3", "1.2.x", "^1.2.3", "1.2.3 "])
@pytest.mark.parametrize("chart", ["kueue", "argo_workflows", "kube_prometheus_stack"])
def test_a_version_that_is_not_exact_is_refused(render: Render, chart: str, version: str) -> None:
    key = {"kueue": "kueue", "argo_workflows": "argoWorkflows", "kube_prometheus_stack": "kubePrometheusStack"}[chart]
    assert refusals(render, {chart: {"version": version}}) == [
        (
            f"{key}.version",
            f"{key}.version: {version!r} is not one exact chart version; "
            "pin it as three numbers, such as 1.14.1: no range, no latest, not empty",
        )
    ]


# One owner for each CRD.


def test_no_two_charts_of_ours_own_one_crd() -> None:
    everything = [*KARPENTER_CRDS, *KUEUE_CRDS, *ARGO_WORKFLOWS_CRDS, *PROMETHEUS_OPERATOR_CRDS]
    assert len(everything) == len(set(everything)) == 34


@pytest.mark.parametrize(
    ("installed", "crd", "owner"),
    [
        ("kueue", "workloads.kueue.x-k8s.io", "kueue"),
        ("argo_workflows", "workflows.argoproj.io", "argoWorkflows"),
        ("kube_prometheus_stack", "servicemonitors.monitoring.coreos.com", "kubePrometheusStack"),
        ("kueue", "nodepools.karpenter.sh", "KarpenterController"),
    ],
)
def test_two_charts_that_own_one_crd_are_refused(render: Render, installed: str, crd: str, owner: str) -> None:
    own = {**OWN, "owns": ["widgets.example.org", crd]}
    ((path, reason),) = refusals(render, {installed: {}, "additional": [own]})
    assert path == "additional[0].owns[1]"
    assert f"'{crd}' is owned by {owner} already: two charts would overwrite each other's; turn the CRDs" in reason


def test_two_additional_charts_must_not_own_one_crd_either(render: Render) -> None:
    charts = [{**OWN, "owns": ["a.example.org"]}, {**OWN, "name": "two", "owns": ["a.example.org"]}]
    ((path, reason),) = refusals(render, {"additional": charts})
    assert (path, "is owned by own already" in reason) == ("additional[1].owns[0]", True)


def test_a_crd_of_a_chart_that_is_not_installed_is_free(render: Render) -> None:
    own = {**OWN, "owns": ["workflows.argoproj.io", "applications.argoproj.io"]}
    assert list(releases(render(program({"kueue": {}, "additional": [own]})))) == ["kueue", "own"]


BAD = [
    (
        {"additional": [{**OWN, "owns": ["Workflow"]}]},
        "additional[0].owns[0]",
        "is not the name of a CRD; write plural",
    ),
    ({"additional": [OWN, OWN]}, "additional[1].name", "is the name of additional[0] too; choose another name"),
    ({"additional": [{**OWN, "chart": "own"}]}, "additional[0].chart", "is neither an OCI chart nor a folder"),
    ({"kueue": {"repository": "http://charts.example"}}, "kueue.repository", "is not the https address of a chart"),
    ({"kueue": {"namespace": "Queue"}}, "kueue.namespace", "is not a Kubernetes name"),
    ({"kueue": {"verison": "1.0.0"}}, "kueue.verison", "is not a known key; did you mean `version`?"),
    (
        {"kube_prometheus_stack": {"values": {"crds": {"enabled": True}}}},
        "kubePrometheusStack.values.crds.enabled",
        "is set by floodplain already",
    ),
    (
        {"kube_prometheus_stack": {"storage_class": "gp3"}},
        "kubePrometheusStack.storageClass",
        "has no effect without storage; set storage too",
    ),
    ({"kube_prometheus_stack": {"storage": "50GB"}}, "kubePrometheusStack.storage", "'50GB' is not a quantity"),
    (
        {"kube_prometheus_stack": {"crd_chart": "a/b"}},
        "kubePrometheusStack.crdChart",
        "is not the name of a chart in a",
    ),
]


@pytest.mark.parametrize(("args", "path", "reason"), BAD, ids=[path for _, path, _ in BAD])
def test_bad_input_is_refused_at_its_key(render: Render, args: dict[str, Any], path: str, reason: str) -> None:
    ((found, text),) = refusals(render, args)
    assert found == path
    assert reason in text


@pytest.mark.parametrize(
    "name",
    [
        "argo-workflows",
        "karpenter",
        "karpenter-crd",
        "kube-prometheus-stack",
        "kueue",
        "monitoring",
        "monitoring-crds",
        "prometheus-operator-crds",
    ],
)
def test_an_additional_chart_never_takes_the_place_of_one_of_ours(render: Render, name: str) -> None:
    assert name in names_of_ours()
    reason = f"additional[0].name: {name!r} is a name that floodplain's own charts use; choose another"
    own = {**OWN, "name": name}
    assert refusals(render, {"kube_prometheus_stack": {}, "additional": [own]}) == [("additional[0].name", reason)]
    assert refusals(render, {"additional": [own]}) == [("additional[0].name", reason)], "nor when it is not installed"


FAULTS: dict[str, Any] = {
    "kueue": {"repository": "http://a", "timeout_seconds": 1, "values": {"enablePrometheus": False}},
    "argo_workflows": {"chart": "a/b", "values": {"crds": {"keep": False}}},
    "kube_prometheus_stack": {
        "crd_chart": "a/b",
        "retention": "long",
        "storage_class": "gp3",
        "values": {"crds": {"enabled": True}},
    },
    "additional": [
        {**OWN, "version": "latest", "chart": "own"},
        {**OWN, "name": "kueue", "owns": ["nodepools.karpenter.sh"]},
    ],
}


def test_all_that_is_wrong_with_the_charts_is_told_at_once(render: Render) -> None:
    assert sorted(path for path, _ in refusals(render, FAULTS)) == [
        "additional[0].chart",
        "additional[0].version",
        "additional[1].name",
        "argoWorkflows.chart",
        "kubePrometheusStack.crdChart",
        "kubePrometheusStack.retention",
        "kubePrometheusStack.storageClass",
        "kueue.repository",
        "kueue.timeoutSeconds",
    ]


def test_values_that_floodplain_sets_are_told_for_every_chart_at_once(render: Render) -> None:
    clashing = {key: {"values": dict(chart["values"])} for key, chart in FAULTS.items() if key != "additional"}
    assert [path for path, _ in refusals(render, clashing)] == [
        "kueue.values.enablePrometheus",
        "argoWorkflows.values.crds.keep",
        "kubePrometheusStack.values.crds.enabled",
    ]


PLATFORM = {
    "cluster": CLUSTER,
    "pools": [
        {
            "name": "a",
            "families": ["r6id"],
            "limits": {"cpu": "256", "memory": "2Ti"},
            "ami": {"alias": "al2023@v20260714"},
        }
    ],
}


@pytest.mark.parametrize("args", [*(args for args, _, _ in BAD), FAULTS], ids=str)
def test_a_stack_file_is_refused_for_all_that_the_component_would_refuse(render: Render, args: dict[str, Any]) -> None:
    with pytest.raises(StackProblemsError) as refused:
        parse("prod", in_stack_spelling({**PLATFORM, "controllers": args}))
    told = [(problem.path.removeprefix("floodplain:controllers."), problem.rule) for problem in refused.value.problems]
    assert [path for path, _ in told] == [path for path, _ in refusals(render, args)]


# What swap needs of monitoring.


def values(**more: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "retention": "30d",
        "storage": None,
        "storage_class": None,
        "grafana_admin_secret": None,
        "managed_control_plane": True,
    }
    return monitoring_values(**arguments | more)


def kept(metric: str, labels: Mapping[str, str] = {}) -> bool:
    """Whether Prometheus keeps a metric of cAdvisor, by our relabelling: anchored regexes over joined labels."""
    series = {"__name__": metric, "id": "/pod", "pod": "pod", **labels}
    for rule in values()["kubelet"]["serviceMonitor"]["cAdvisorMetricRelabelings"]:
        text = ";".join(series.get(label, "") for label in rule["sourceLabels"])
        if rule["action"] == "drop" and re.fullmatch(rule["regex"], text):
            return False
    return True


@pytest.mark.parametrize(
    "metric",
    [
        "container_memory_swap",
        "container_spec_memory_swap_limit_bytes",
        "container_memory_working_set_bytes",
        "container_memory_failures_total",
        "container_cpu_cfs_throttled_periods_total",
    ],
)
def test_metrics_of_swap_and_memory_pressure_are_kept(metric: str) -> None:
    assert kept(metric, {"scope": "container"})


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("container_memory_mapped_file", {}),
        ("container_tasks_state", {}),
        ("container_spec_memory_limit_bytes", {}),
        ("container_spec_cpu_shares", {}),
        ("container_memory_failures_total", {"scope": "hierarchy"}),
        ("container_network_receive_bytes_total", {"interface": "cali123"}),
        ("container_memory_swap", {"pod": ""}),
    ],
)
def test_what_is_noise_is_still_dropped(metric: str, labels: dict[str, str]) -> None:
    assert not kept(metric, labels)


def test_node_exporter_runs_on_every_pool_and_reads_the_state_of_the_swap_unit() -> None:
    exporter = values()["prometheus-node-exporter"]
    assert exporter["tolerations"] == [{"operator": "Exists"}]
    assert (
        exporter["extraArgs"][-1]
        == "--collector.textfile.directory=/host/root/var/lib/node_exporter/textfile_collector"
    )


def test_kubelets_resource_metrics_are_read_where_kubelet_serves_them() -> None:
    monitor = values()["kubelet"]["serviceMonitor"]
    assert (monitor["resource"], monitor["resourcePath"]) == (True, "/metrics/resource")


def test_grafana_comes_only_with_a_secret_and_no_password_is_written() -> None:
    assert values()["grafana"] == {"enabled": False}
    assert values(grafana_admin_secret="grafana-admin")["grafana"]["admin"] == {
        "existingSecret": "grafana-admin",
        "passwordKey": "admin-password",
        "userKey": "admin-user",
    }
    assert "adminPassword" not in json.dumps(values(grafana_admin_secret="grafana-admin"))


def test_storage_becomes_a_claim_and_its_absence_a_warning() -> None:
    spec = values(storage="50Gi", storage_class="gp3")["prometheus"]["prometheusSpec"]
    assert spec["storageSpec"]["volumeClaimTemplate"]["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "50Gi"}},
        "storageClassName": "gp3",
    }
    with_storage = {"kube_prometheus_stack": {"storage": "50Gi"}}
    assert warnings(ControllersSettings.model_validate(with_storage)) == []
    assert [
        str(problem) for problem in warnings(ControllersSettings.model_validate({"kube_prometheus_stack": {}}))
    ] == [
        "kubePrometheusStack.storage: is not set, so metrics are lost whenever Prometheus moves to another node; "
        "set a size, such as 50Gi"
    ]


def test_the_other_charts_are_scraped_where_there_is_something_that_scrapes(render: Render) -> None:
    alone = releases(render(program({"kueue": {}, "argo_workflows": {}})))
    watched = releases(render(program(ALL)))
    assert (alone["kueue"]["values"], watched["kueue"]["values"]) == (
        {},
        {"enablePrometheus": True, "metrics": {"prometheusNamespace": "monitoring"}},
    )
    assert "controller" not in alone["argo-workflows"]["values"]
    assert watched["argo-workflows"]["values"]["controller"]["serviceMonitor"] == {"enabled": True}


# Chart values: ours and theirs.

VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
TREES = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(value, Mapping):
        return {path: value}
    return {key: leaf for name, item in value.items() for key, leaf in leaves(item, (*path, name)).items()}


@given(ours=TREES, theirs=TREES)
@settings(max_examples=200)
def test_merged_values_hold_every_leaf_of_both_or_the_clash_is_told(ours: Any, theirs: Any) -> None:
    before = json.dumps([ours, theirs])
    try:
        union = merged(ours, theirs)
    except BrokenRulesError as broken:
        assert all(error.path[0] == "values" for error in broken.errors)
        return
    finally:
        assert json.dumps([ours, theirs]) == before, "neither side is changed"
    assert leaves(union) == leaves(ours) | leaves(theirs)


def test_every_argument_has_a_description_in_the_published_schema() -> None:
    schema = json.loads(str(ComponentProvider([Controllers], "floodplain", None, "0.0.0").schema))
    undescribed = [
        f"{name}.{key}"
        for name, about in {**schema["types"], **schema["resources"]}.items()
        for key, property_ in {**about.get("properties", {}), **about.get("inputProperties", {})}.items()
        if not property_.get("description")
    ]
    assert undescribed == []
