"""Admission's certificate from nothing through years: with replicas that race, and an API server that refuses."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from floodplain.service import logs
from floodplain.service.authority import Material, Step, carry_out, decide, material_of, service_names
from floodplain.service.certificates import ClusterCertificates, Names
from floodplain.service.serving_tls import ServingTls
from tests.floodplain.service.api_stand_in import (
    CONFIGURATION,
    SECRET,
    SECRETS,
    ApiStandIn,
    api_stand_in,
    configuration,
)

BEGIN = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
HOSTS = service_names("floodplain-admission", "floodplain")
DAY = timedelta(days=1)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.configure(stream)
    yield stream
    assert "PRIVATE KEY" not in stream.getvalue()
    logs.configure()


@pytest.fixture
def api(log: io.StringIO) -> Iterator[ApiStandIn]:
    with api_stand_in(BEGIN) as running:
        yield running


class Replica:
    """One process's certificates. Its own clock may be wrong."""

    def __init__(self, api: ApiStandIn, *, clock: datetime | None = None) -> None:
        self.tls = ServingTls()
        names = Names(HOSTS)
        self.certificates = ClusterCertificates(api.access(), names, self.tls, clock=lambda: clock or api.now)

    def look(self, times: int = 1) -> Replica:
        for _ in range(times):
            self.certificates.look()
        return self


def in_secret(api: ApiStandIn) -> Material:
    return material_of({key: base64.b64decode(value) for key, value in api.objects[SECRET]["data"].items()})


def store(api: ApiStandIn, material: Material, **more: Any) -> None:
    data = {key: base64.b64encode(value).decode() for key, value in material.secret_data().items()}
    metadata = {"name": "floodplain-admission-tls", "namespace": "floodplain"}
    api.put(
        SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data, **more}
    )


def bundles(api: ApiStandIn) -> list[bytes | None]:
    found = [one["clientConfig"].get("caBundle") for one in api.objects[CONFIGURATION]["webhooks"]]
    return [None if one is None else base64.b64decode(one) for one in found]


def events(log: io.StringIO) -> list[str]:
    return [json.loads(line)["event"] for line in log.getvalue().splitlines()]


def test_the_first_replica_makes_a_secret_has_it_trusted_and_serves_with_it(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    replica = Replica(api).look()
    made = in_secret(api)
    assert decide(made, HOSTS, BEGIN).step is Step.KEEP
    assert bundles(api) == [made.bundle, made.bundle]
    assert replica.tls.certificate == made.certificate
    assert (replica.certificates.problem, replica.certificates.bundle_current) == (None, True)
    assert api.objects[SECRET]["type"] == "Opaque"


def test_a_second_replica_and_a_second_look_change_nothing(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    first = Replica(api).look()
    writes = list(api.writes)
    second = Replica(api).look()
    first.look()
    assert api.writes == writes == [("POST", SECRETS), ("PATCH", CONFIGURATION)]
    assert first.tls.certificate == second.tls.certificate


def test_of_two_replicas_that_make_the_secret_at_once_the_loser_serves_what_the_winner_made(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    winner, loser = Replica(api), Replica(api)
    api.before_write.append(winner.look)
    loser.look()
    assert winner.tls.certificate == loser.tls.certificate == in_secret(api).certificate
    assert bundles(api) == [in_secret(api).bundle] * 2


def test_of_two_replicas_that_renew_at_once_the_loser_serves_what_the_winner_made(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    winner, loser = Replica(api).look(), Replica(api).look()
    before = in_secret(api)
    api.now = BEGIN + 60 * DAY
    api.before_write.append(winner.look)
    loser.look()
    assert winner.tls.certificate == loser.tls.certificate == in_secret(api).certificate != before.certificate
    assert in_secret(api).ca_certificate == before.ca_certificate


def test_a_race_that_does_not_end_is_told_and_tried_again(api: ApiStandIn) -> None:
    api.refused["POST", SECRETS] = (409, "already exists")
    replica = Replica(api).look()
    told = "Secret floodplain-admission-tls: others wrote it 5 times meanwhile; tried again soon"
    assert (replica.certificates.problem, replica.tls.certificate) == (told, None)
    api.refused.clear()
    assert replica.look().certificates.problem is None


def test_a_renewed_certificate_is_served_at_once_since_its_authority_is_trusted(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    replica = Replica(api).look()
    first = in_secret(api)
    api.now = BEGIN + 61 * DAY
    replica.look()
    assert replica.tls.certificate == in_secret(api).certificate != first.certificate
    assert bundles(api) == [first.bundle] * 2


def test_a_certificate_of_a_new_authority_is_served_one_look_after_it_is_trusted(api: ApiStandIn) -> None:
    """An API server that has not heard of the new bundle yet is answered with what it trusts."""
    api.put(CONFIGURATION, configuration())
    first, second = Replica(api).look(), Replica(api).look()
    old = in_secret(api)
    api.now = BEGIN + 60 * DAY
    first.look()
    second.look()
    served = in_secret(api).certificate
    store(api, carry_out(Step.ROTATE, in_secret(api), HOSTS, api.now))
    new = in_secret(api)
    assert new.bundle == new.ca_certificate + old.ca_certificate
    first.look()
    assert (bundles(api), first.tls.certificate) == ([new.bundle] * 2, served)
    assert second.look().tls.certificate == served
    assert first.look().tls.certificate == new.certificate
    assert second.look().tls.certificate == new.certificate


def test_a_year_goes_by_and_everyone_is_trusted_all_the_time(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    replicas = [Replica(api).look(), Replica(api).look()]
    authorities = set()
    for day in range(0, 800, 16):
        api.now = BEGIN + day * DAY
        for replica in replicas:
            replica.look(2)
            (bundle, same) = bundles(api)
            assert bundle == same == in_secret(api).bundle
            authorities.add(in_secret(api).ca_certificate)
        assert {replica.tls.certificate for replica in replicas} == {in_secret(api).certificate}
    assert len(authorities) == 4
    assert in_secret(api).previous_ca == b""


def test_a_secret_that_somebody_deleted_is_made_again_and_what_is_served_stays_trusted(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    replica = Replica(api).look()
    old = in_secret(api)
    del api.objects[SECRET]
    replica.look()
    new = in_secret(api)
    assert new.ca_certificate != old.ca_certificate == new.previous_ca
    assert bundles(api) == [new.bundle] * 2
    assert replica.tls.certificate == old.certificate
    assert replica.look().tls.certificate == new.certificate


@pytest.mark.parametrize("data", [{}, {"ca.crt": "bm90aGluZw==", "note": "a2VwdA=="}])
def test_a_secret_that_is_empty_or_broken_is_filled_and_what_else_it_holds_stays(
    data: dict[str, str], api: ApiStandIn, log: io.StringIO
) -> None:
    store(api, carry_out(Step.NEW, None, HOSTS, BEGIN), data=data)
    replica = Replica(api).look()
    assert replica.tls.certificate == in_secret(api).certificate
    assert set(api.objects[SECRET]["data"]) - set(in_secret(api).secret_data()) == set(data) - {"ca.crt"}
    assert json.loads(log.getvalue().splitlines()[0])["reason"] == "the authority's certificate is unreadable"


def test_expired_material_is_replaced_at_once(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration())
    replica = Replica(api).look()
    old = in_secret(api)
    api.now = BEGIN + 400 * DAY
    replica.look()
    assert replica.tls.certificate == in_secret(api).certificate != old.certificate
    assert bundles(api) == [in_secret(api).ca_certificate] * 2


@pytest.mark.parametrize("wrong", [timedelta(hours=5), -timedelta(hours=5), -20_000 * DAY, 20_000 * DAY])
def test_the_api_servers_clock_counts_and_not_ours(wrong: timedelta, api: ApiStandIn, log: io.StringIO) -> None:
    replica = Replica(api, clock=BEGIN + wrong).look(2)
    assert decide(in_secret(api), HOSTS, BEGIN).step is Step.KEEP
    assert replica.tls.certificate == in_secret(api).certificate
    told = [json.loads(line) for line in log.getvalue().splitlines() if "clock" in line]
    assert [one["minutes_ahead"] for one in told] == [wrong / timedelta(minutes=1)]


def test_an_entry_that_lost_its_bundle_gets_it_back_and_other_entries_are_left_alone(api: ApiStandIn) -> None:
    names = ("observe.sizing.floodplain.dev", "somebody.example.com", "enforce.sizing.floodplain.dev")
    api.put(CONFIGURATION, configuration(*names))
    replica = Replica(api).look()
    bundle = in_secret(api).bundle
    assert bundles(api) == [bundle, None, bundle]
    del api.objects[CONFIGURATION]["webhooks"][2]["clientConfig"]["caBundle"]
    replica.look()
    assert bundles(api) == [bundle, None, bundle]


def test_without_a_webhook_configuration_it_serves_and_gives_the_bundle_to_one_made_later(api: ApiStandIn) -> None:
    replica = Replica(api).look()
    assert (replica.certificates.problem, replica.certificates.bundle_current) == (None, False)
    assert replica.tls.certificate is not None
    api.put(CONFIGURATION, configuration())
    replica.look()
    assert replica.certificates.bundle_current
    assert bundles(api) == [in_secret(api).bundle] * 2


def test_entries_that_moved_meanwhile_are_not_given_each_others_bundle(api: ApiStandIn) -> None:
    api.put(CONFIGURATION, configuration("somebody.example.com", "enforce.sizing.floodplain.dev"))
    replica = Replica(api)
    replica.look()
    del api.objects[CONFIGURATION]["webhooks"][1]["clientConfig"]["caBundle"]
    moved = configuration("enforce.sizing.floodplain.dev", "somebody.example.com")
    api.before_write.append(lambda: api.put(CONFIGURATION, moved))
    replica.look()
    assert bundles(api) == [None, None]
    assert "rejected" in (replica.certificates.problem or "")
    assert bundles((replica.look(), api)[1]) == [in_secret(api).bundle, None]


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", SECRET, "Secret floodplain-admission-tls: no; give the service account this right"),
        ("POST", SECRETS, "Secret floodplain-admission-tls: no; give the service account this right"),
        (
            "GET",
            CONFIGURATION,
            "MutatingWebhookConfiguration floodplain-sizing: no; give the service account this right",
        ),
        (
            "PATCH",
            CONFIGURATION,
            "MutatingWebhookConfiguration floodplain-sizing: no; give the service account this right",
        ),
    ],
)
def test_a_missing_right_is_told_once_and_healed_when_it_is_given(
    method: str, path: str, told: str, api: ApiStandIn, log: io.StringIO
) -> None:
    api.put(CONFIGURATION, configuration())
    api.refused[method, path] = (403, "no")
    replica = Replica(api).look(3)
    assert replica.certificates.problem == told
    assert events(log).count("certificates") == 1
    # Whoever may not patch the configuration serves all the same: somebody else may do it.
    assert (replica.tls.certificate is not None) == (path == CONFIGURATION)
    api.refused.clear()
    replica.look()
    assert replica.certificates.problem is None
    assert replica.certificates.bundle_current
    assert events(log)[-1] in ("certificates are well again", "serving with another certificate")


def test_an_api_server_that_is_away_takes_nothing_from_what_is_served(api: ApiStandIn) -> None:
    replica = Replica(api).look()
    served = replica.tls.certificate
    api.refused["GET", SECRET] = (500, "etcd is away")
    replica.look()
    assert replica.certificates.problem == "Secret floodplain-admission-tls: etcd is away"
    assert replica.tls.certificate == served


def test_a_server_that_cannot_be_reached_at_all_is_a_problem_and_no_traceback(log: io.StringIO) -> None:
    with api_stand_in(BEGIN) as gone:
        replica = Replica(gone)
    assert (replica.look().certificates.problem or "").startswith("Secret floodplain-admission-tls: ")
    assert "exception" not in log.getvalue()
