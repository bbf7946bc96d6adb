"""The Jobs and queues that the example renders for Kueue. That Kueue takes them: tests/cluster/kueue."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from floodplain.quantity import MIB, to_bytes
from mosaic.kueue import QUEUE_LABEL, jobs, memory_bytes, queues
from mosaic.routes import Place, Route
from mosaic.settings import POOLS, SLOT_LIMIT_BYTES
from mosaic.tiles import Tile, grid

TILES = grid(["s3://scenes/aerial.tif"])


def _route(tile: Tile, place: Place, mebibytes: int) -> Route:
    terms = {"warp chunk": mebibytes * MIB}
    return Route(tile=tile, place=place, why="a reason", estimate_bytes=mebibytes * MIB, terms=terms)


def _queue(name: str) -> Any:
    return next(one for one in queues() if one["kind"] == "ClusterQueue" and one["metadata"]["name"] == name)


def test_the_big_queue_holds_one_pod_and_borrows_from_nobody() -> None:
    assert _queue("mosaic-big")["spec"] == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mosaic"}},
        "queueingStrategy": "StrictFIFO",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", "pods"],
                "flavors": [
                    {
                        "name": "mosaic-big",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "2"},
                            {"name": "memory", "nominalQuota": "400Mi"},
                            {"name": "pods", "nominalQuota": "1"},
                        ],
                    }
                ],
            }
        ],
    }


def test_each_pool_has_a_flavor_a_cluster_queue_and_a_local_queue_that_know_each_other() -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in queues()]
    assert names == [
        ("Namespace", "mosaic"),
        ("ResourceFlavor", "mosaic-small"),
        ("ClusterQueue", "mosaic-small"),
        ("LocalQueue", "small"),
        ("ResourceFlavor", "mosaic-big"),
        ("ClusterQueue", "mosaic-big"),
        ("LocalQueue", "big"),
    ]
    local = {one["metadata"]["name"]: one["spec"] for one in queues() if one["kind"] == "LocalQueue"}
    assert local == {"small": {"clusterQueue": "mosaic-small"}, "big": {"clusterQueue": "mosaic-big"}}


def test_a_job_waits_in_the_queue_of_its_pool_with_the_memory_of_its_estimate() -> None:
    [job] = jobs([_route(TILES[0], Place.BIG, 147)])
    assert job["metadata"]["labels"] == {"app.kubernetes.io/name": "mosaic", QUEUE_LABEL: "big"}
    assert job["spec"]["suspend"] is True
    [container] = job["spec"]["template"]["spec"]["containers"]
    # 108 MiB of baseline + 1.3 x 147 MiB.
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "300Mi"}, "limits": {"memory": "300Mi"}}
    assert job["spec"]["template"]["metadata"]["annotations"] == {
        "floodplain.dev/engine": "raster",
        "floodplain.dev/peak": "255Mi",
        "floodplain.dev/estimate": "tile-0-0: baseline 108 MiB, warp chunk 147 MiB",
    }
    assert {one["name"]: one["value"] for one in container["env"]}["GDAL_CACHEMAX"] == "32MB"


def test_a_time_out_is_tried_again_and_a_kill_for_memory_is_not() -> None:
    [job] = jobs([_route(TILES[0], Place.SMALL, 9)])
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][:5] == ["timeout", "120", "python", "-m", "mosaic.build_tile"]
    assert job["spec"]["backoffLimit"] == 2
    assert job["spec"]["podFailurePolicy"] == {
        "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [137]}}]
    }
    # podFailurePolicy needs it.
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize(("place", "mebibytes"), [(Place.SMALL, 60), (Place.BIG, 290)])
def test_no_pod_asks_for_more_than_a_slot(place: Place, mebibytes: int) -> None:
    assert memory_bytes(_route(TILES[0], place, mebibytes)) == SLOT_LIMIT_BYTES[place]


def test_every_pod_fits_its_queue_with_all_that_it_asks_for() -> None:
    for place, mebibytes in ((Place.SMALL, 9), (Place.BIG, 250)):
        [job] = jobs([_route(TILES[0], place, mebibytes)])
        asked = job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
        [group] = _queue(f"mosaic-{place}")["spec"]["resourceGroups"]
        quota = {one["name"]: one["nominalQuota"] for one in group["flavors"][0]["resources"]}
        # A resource that is asked for and not covered would keep the Job out for ever.
        assert set(asked) <= set(group["coveredResources"])
        assert to_bytes(asked["memory"]) <= to_bytes(quota["memory"])
    assert to_bytes("368Mi") == POOLS.small_limit_bytes


def test_skipped_tiles_have_no_job_and_a_refused_one_is_told_with_its_number() -> None:
    assert jobs([_route(TILES[0], Place.SKIPPED, 0)]) == []
    with pytest.raises(ValueError, match="tile-1-0: a reason"):
        jobs([_route(TILES[0], Place.SMALL, 9), _route(TILES[1], Place.REFUSED, 900)])


def test_manifests_are_plain_json_and_yaml() -> None:
    for manifest in [*queues(), *jobs([_route(TILES[0], Place.SMALL, 9)])]:
        assert json.loads(json.dumps(manifest)) == manifest == yaml.safe_load(yaml.safe_dump(manifest))
