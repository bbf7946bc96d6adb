"""Makes both work pools and a deployment of the same flow in each: `python -m mosaic.deployments`.

A tag would route nothing: it only limits how many run, wherever they run. A work pool is a place of its own.
"""

from __future__ import annotations

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.deployments.runner import RunnerDeployment
from prefect.types.entrypoint import EntrypointType

from mosaic.flows import build_tiles
from mosaic.settings import BIG, SLOTS, SMALL


def deploy() -> None:
    with get_client(sync_client=True) as client:
        for pool in (SMALL, BIG):
            # Flow runs of one pool that run at once, over all of its workers.
            wanted = WorkPoolCreate(name=pool, type="process", concurrency_limit=SLOTS[pool])
            client.create_work_pool(wanted, overwrite=True)
    for pool in (SMALL, BIG):
        deployment = build_tiles.to_deployment(
            name=pool, work_pool_name=pool, entrypoint_type=EntrypointType.MODULE_PATH
        )
        assert isinstance(deployment, RunnerDeployment)  # a coroutine only where an event loop runs
        deployment.apply()


if __name__ == "__main__":
    deploy()
