"""What the component makes is what the service looks for: neither is told the other's names."""

from __future__ import annotations

from components import sizing_names as names
from components.sizing_doctor import cron_job
from components.sizing_installation import SizingInstallation
from components.sizing_settings import SizingServiceSettings
from components.sizing_webhook import MODES, SERVICE_PORT
from components.sizing_workloads import admission_deployment, sizing_deployment
from floodplain.admission.decision import Mode
from floodplain.doctor import objects, observe
from floodplain.service.admission_settings import AdmissionSettings
from floodplain.service.settings import DEFAULT_POOLS, DEFAULT_SIZING, ServiceSettings, service_settings

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
PLAN = SizingInstallation.model_construct(image="registry.example/service@sha256:0", sizing=SizingServiceSettings())


def environment(deployment: dict[str, object]) -> dict[str, str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
    return IN_A_POD | {entry["name"]: entry["value"] for entry in container["env"]}


def test_admission_is_told_nothing_but_its_files_and_finds_its_objects_and_ports() -> None:
    found = service_settings(AdmissionSettings, environment(admission_deployment(PLAN)))
    expected = AdmissionSettings(host="0.0.0.0", drain_seconds=5, pools=DEFAULT_POOLS, settings=DEFAULT_SIZING)
    assert found == expected
    assert (found.service, found.secret, found.webhooks) == (names.ADMISSION, names.CERTIFICATE_SECRET, names.SIZING)
    assert (found.port, found.health_port) == (names.WEBHOOK_PORT, names.HEALTH_PORT)


def test_the_planning_service_is_told_its_files_and_finds_its_port() -> None:
    found = service_settings(ServiceSettings, environment(sizing_deployment(PLAN)))
    assert found == ServiceSettings(host="0.0.0.0", drain_seconds=5, pools=DEFAULT_POOLS, settings=DEFAULT_SIZING)
    assert found.port == names.HTTP_PORT
    assert f"{names.FOLDER}/{names.POOLS_KEY}" == DEFAULT_POOLS
    assert f"{names.FOLDER}/{names.SETTINGS_KEY}" == DEFAULT_SIZING


def test_the_service_ends_within_the_grace_of_its_pods() -> None:
    for deployment, model in (
        (admission_deployment(PLAN), AdmissionSettings),
        (sizing_deployment(PLAN), ServiceSettings),
    ):
        found = service_settings(model, environment(deployment))
        grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert found.drain_seconds + found.grace_seconds < grace


def test_namespaces_are_labelled_by_the_modes_of_admission() -> None:
    assert [str(mode) for mode in Mode] == list(MODES)
    assert objects.SIZING_LABEL == names.SIZING_LABEL


def test_doctor_looks_at_the_objects_that_are_made() -> None:
    assert (observe.WEBHOOK, observe.SECRET) == (names.SIZING, names.CERTIFICATE_SECRET)
    given = environment(cron_job(PLAN)["spec"]["jobTemplate"])
    assert service_settings(ServiceSettings, given).pools == DEFAULT_POOLS
    assert SERVICE_PORT == 443
