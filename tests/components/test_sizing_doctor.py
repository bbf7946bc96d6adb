"""`floodplain doctor` as a CronJob of the sizing service: what it runs, what it may do, whom it may reach, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pydantic import ValidationError

from components import SizingService, sizing_doctor
from components.push_address import namespace_of, port_of
from components.sizing_installation import SizingInstallation
from components.sizing_settings import DoctorSettings, SizingServiceSettings
from floodplain.cli import app
from floodplain.problem import problems_of
from preview import document
from tests.components.test_sizing_service import args, needed_by

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "doctor.md"
PUSH = "http://pushgateway.monitoring.svc:9091"
EVERYTHING: dict[str, Any] = {"schedule": "*/10 6-18 * * mon-fri", "push": PUSH, "kubelets": True}


def plan(**doctor: Any) -> SizingInstallation:
    settings = SizingServiceSettings(namespace="sizing", doctor=DoctorSettings(**doctor))
    return SizingInstallation.model_construct(image="registry.example/service@sha256:0", sizing=settings)


def pod_of(cron_job: Any) -> Any:
    return cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def yaml_of_docs(kind: str) -> Any:
    """The one object of a kind that the page shows."""
    blocks = [block.partition("```")[0] for block in DOCS.read_text().split("```yaml\n")[1:]]
    (found,) = [shown for shown in map(yaml.safe_load, blocks) if shown.get("kind") == kind]
    return found


def test_the_objects_of_doctor_with_everything_switched_on(render: Any, golden: Any) -> None:
    made = render(lambda: SizingService("s", args(sizing={"doctor": EVERYTHING})))
    shown = {
        f"{one.name} ({one.type.rsplit(':', 1)[-1]})": dict(one.inputs)
        for one in made.resources
        if one.name.startswith("s-doctor")
    }
    golden.check("components/golden/sizing-doctor.yaml", document.as_yaml(dict(sorted(shown.items()))))


def test_switched_off_nothing_of_it_is_made_and_the_rest_is_the_same(render: Any) -> None:
    def inputs(**doctor: Any) -> dict[str, Any]:
        made = render(lambda: SizingService("s", args(sizing={"doctor": doctor})))
        return {one.name: dict(one.inputs) for one in made.resources}

    on, off = inputs(), inputs(enabled=False, push=PUSH)
    assert set(on) - set(off) == {
        "s-doctor",
        "s-doctor-account",
        "s-doctor-cluster-role",
        "s-doctor-cluster-role-binding",
        "s-doctor-network",
    }
    assert off == {name: given for name, given in on.items() if name in off}


def test_it_may_do_what_the_docs_list_and_no_more() -> None:
    role = sizing_doctor.rights(plan(kubelets=True))["cluster-role"]
    shown = yaml_of_docs("ClusterRole")
    assert role["rules"] == shown["rules"]
    assert role["metadata"]["name"] == shown["metadata"]["name"]


def test_unless_it_may_ask_kubelets_the_one_dangerous_right_is_left_out() -> None:
    rules = sizing_doctor.rights(plan())["cluster-role"]["rules"]
    assert rules == [rule for rule in yaml_of_docs("ClusterRole")["rules"] if rule["resources"] != ["nodes/proxy"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert "secrets" not in {resource for rule in rules for resource in rule["resources"]}


def test_its_account_is_bound_in_the_namespace_of_the_service() -> None:
    (subject,) = sizing_doctor.rights(plan())["cluster-role-binding"]["subjects"]
    pod = pod_of(sizing_doctor.cron_job(plan()))
    assert subject == {"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "sizing"}
    assert pod["automountServiceAccountToken"]


@pytest.mark.parametrize(
    ("doctor", "told"),
    [
        ({}, {"no_kubelets": True, "push": None}),
        (EVERYTHING, {"no_kubelets": False, "push": PUSH}),
    ],
)
def test_the_program_knows_every_argument_of_the_command(doctor: dict[str, Any], told: dict[str, Any]) -> None:
    (container,) = pod_of(sizing_doctor.cron_job(plan(**doctor)))["containers"]
    program, subcommand, *arguments = container["command"]
    group: Any = typer.main.get_command(app)
    given = group.commands[subcommand].make_context(subcommand, list(arguments)).params
    assert program == "floodplain"
    unset = {name: None if value is None else False for name, value in given.items() if value in (None, False)}
    assert given == unset | {"namespace": "sizing", "as_lines": True, "exit_zero": True, **told}


def test_a_job_of_the_docs_runs_the_same_command_on_the_same_files() -> None:
    shown, made = yaml_of_docs("CronJob"), sizing_doctor.cron_job(plan(push=PUSH, kubelets=True))
    (ours,), (theirs,) = pod_of(made)["containers"], pod_of(shown)["containers"]
    assert theirs["command"] == [one for one in ours["command"] if one not in ("--namespace", "sizing")]
    assert theirs["env"] == ours["env"]
    assert pod_of(shown)["serviceAccountName"] == pod_of(made)["serviceAccountName"]


def test_a_run_is_one_pod_that_ends_in_time_and_is_not_tried_again() -> None:
    spec = sizing_doctor.cron_job(plan())["spec"]
    assert {key: value for key, value in spec.items() if key != "jobTemplate"} == {
        "schedule": "17 * * * *",
        "timeZone": "Etc/UTC",
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
    }
    job = spec["jobTemplate"]["spec"]
    assert (job["backoffLimit"], job["activeDeadlineSeconds"]) == (0, 600)
    assert job["template"]["spec"]["restartPolicy"] == "Never"


API_SERVER = [
    {
        "to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}],
        "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
    },
    {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]},
]
MONITORING = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]}


@pytest.mark.parametrize(
    ("push", "further"),
    [
        (None, []),
        (PUSH, [MONITORING]),
        ("http://pushgateway.monitoring.svc.cluster.local/", [MONITORING]),
        ("http://pushgateway.monitoring:9091", [{"ports": [{"protocol": "TCP", "port": 9091}]}]),
        ("https://push.example.com", [{"ports": [{"protocol": "TCP", "port": 443}]}]),
    ],
)
def test_it_reaches_the_api_server_and_the_pushgateway_and_nobody_reaches_it(
    push: str | None, further: list[Any]
) -> None:
    policy = sizing_doctor.network(plan(push=push))["spec"]
    assert policy == {
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "floodplain-doctor"}},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [*API_SERVER, *further],
    }
    labels = sizing_doctor.cron_job(plan())["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()


def test_account_rights_files_and_network_are_there_before_its_first_pod(render: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    assert needed_by(made, made.one(":CronJob").urn) == {
        "s-doctor-account",
        "s-doctor-cluster-role",
        "s-doctor-cluster-role-binding",
        "s-doctor-network",
        "s-namespace",
        "s-pools",
    }


@pytest.mark.parametrize(
    ("address", "port", "namespace"),
    [
        ("http://gateway", 80, None),
        ("https://gateway.example", 443, None),
        ("http://10.0.0.1:9091/", 9091, None),
        ("http://gateway.metrics.svc:65535", 65535, "metrics"),
        ("http://Gateway.Metrics.SVC.cluster.local", 80, "metrics"),
        ("http://gateway.svc:1", 1, None),
    ],
)
def test_an_address_names_a_port_and_perhaps_a_namespace(address: str, port: int, namespace: str | None) -> None:
    assert (DoctorSettings(push=address).push, port_of(address), namespace_of(address)) == (address, port, namespace)


REMEDY = "write one such as http://pushgateway.monitoring.svc:9091"
NO_ADDRESS = f"is not the address of a pushgateway: http or https, a host, and its port; {REMEDY}"
FIVE = (
    "is not a schedule of five fields (minute, hour, day of the month, month, day of the week);"
    ' write one such as "17 * * * *"'
)


def told(**doctor: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        DoctorSettings.model_validate(doctor)
    return [str(one) for one in problems_of(error.value, DoctorSettings)]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "pushgateway:9091",
        "ftp://gateway",
        "http://",
        "http://gateway:0",
        "http://gateway:65536",
        "http://gateway:x",
        "http://gate way",
        "http://gateway/metrics",
        "http://gateway?a=b",
        "http://gateway.",
        "--aws",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert told(push=address) == [f"push: {address!r} {NO_ADDRESS}"]


def test_a_password_is_refused_and_not_shown() -> None:
    (text,) = told(push="http://me:pass@word@gateway:9091")
    assert text == (
        f"push: '...@gateway:9091' has a user or a password in it, which anybody could read in the pod; {REMEDY}"
    )


@pytest.mark.parametrize(
    "schedule",
    [
        "17 * * * *",
        "*/15 * * * *",
        "0 0 1 1 0",
        "59 23 31 12 6",
        "0,30 6-18/2 ? JAN-mar,dec Mon-Fri",
        "5/10 * * * *",
        " 0  4 * * sun ",
    ],
)
def test_a_schedule_that_kubernetes_reads_is_taken(schedule: str) -> None:
    assert DoctorSettings(schedule=schedule).schedule == schedule


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("", [FIVE]),
        ("@hourly", [FIVE]),
        ("* * * *", [FIVE]),
        ("0 17 * * * *", [FIVE]),
        ("TZ=UTC 17 * * * *", [FIVE]),
        ("60 * * * *", ["has '60' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("-1 * * * *", ["has '-1' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("1, * * * *", ["has '1,' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("*/0 * * * *", ["has '*/0' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("30-10 * * * *", ["has '30-10' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("*-5 * * * *", ["has '*-5' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        ("٣ * * * *", ["has '٣' as minute, which is no cron field; use *, numbers from 0 to 59"]),
        (
            "0 24 0 june 7",
            [
                "has '24' as hour, which is no cron field; use *, numbers from 0 to 23",
                "has '0' as day of the month, which is no cron field; use *, numbers from 1 to 31",
                "has 'june' as month, which is no cron field; use *, numbers from 1 to 12,"
                " or its English name of three letters",
                "has '7' as day of the week, which is no cron field; use *, numbers from 0 to 6,"
                " or its English name of three letters",
            ],
        ),
    ],
)
def test_a_schedule_that_kubernetes_would_refuse_is_told(schedule: str, expected: list[str]) -> None:
    assert told(schedule=schedule) == [f"schedule: {schedule!r} {one}" for one in expected]
