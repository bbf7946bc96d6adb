"""What a process is told, by environment and command line."""

from __future__ import annotations

import pytest

from floodplain.service.settings import ServiceSettings, ServiceSettingsError, service_settings


def test_on_a_desk_only_the_desk_is_served() -> None:
    assert service_settings(ServiceSettings, {}) == ServiceSettings(host="127.0.0.1", port=8080, drain_seconds=0)


@pytest.mark.parametrize(("api", "host"), [("10.100.0.1", "0.0.0.0"), ("fd00::1", "::")])
def test_in_a_cluster_every_address_of_its_kind_is_served_and_draining_takes_a_while(api: str, host: str) -> None:
    settings = service_settings(ServiceSettings, {"KUBERNETES_SERVICE_HOST": api})
    assert settings == ServiceSettings(host=host, port=8080, drain_seconds=5)


def test_options_stand_above_the_environment_and_that_above_the_place() -> None:
    environment = {
        "KUBERNETES_SERVICE_HOST": "10.100.0.1",
        "FLOODPLAIN_HOST": "192.0.2.1",
        "FLOODPLAIN_PORT": "9000",
        "FLOODPLAIN_POOLS": "/pools.json",
        "FLOODPLAIN_PRICES": "  ",
        "OTHER": "x",
    }
    settings = service_settings(ServiceSettings, environment, {"port": 9001, "host": None})
    assert settings == ServiceSettings(host="192.0.2.1", port=9001, pools="/pools.json", drain_seconds=5)


def test_every_problem_is_told_with_the_name_that_was_used() -> None:
    with pytest.raises(ServiceSettingsError) as caught:
        service_settings(ServiceSettings, {"FLOODPLAIN_IN_FLIGHT": "many", "FLOODPLAIN_PORT": "1"}, {"port": 70000})
    assert str(caught.value).splitlines() == [
        "--port: 70000 should be less than or equal to 65535",
        "FLOODPLAIN_IN_FLIGHT: 'many' should be a whole number",
    ]
