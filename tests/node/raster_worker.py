"""What the worker containers of test_raster_tiles run: a worker of a queue that is a folder, with real rasterio.

A task is a file of JSON in the folder of its pool. Whoever renames it has it, in one of as many threads as the worker
has slots; what became of it is written beside it. Each task is measured, into a history on the pod's own volume.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

from floodplain.raster.cgroup_memory import PeakFile, own_cgroup
from floodplain.raster.measuring import measured, start_worker
from floodplain.raster.raster_warm_up import warm_up_raster

POOL = os.environ["FLOODPLAIN_RASTER_POOL"]
SLOTS = int(os.environ["FLOODPLAIN_RASTER_SLOTS"])
SLOT_LIMIT = int(os.environ["FLOODPLAIN_RASTER_SLOT_LIMIT_BYTES"])
QUEUE = Path("/queue") / POOL
HISTORY = Path("/scratch/peaks.jsonl")


def warp(path: str) -> int:
    """The whole raster in web mercator; its number of pixels."""
    import rasterio
    from rasterio.vrt import WarpedVRT
    from rasterio.warp import Resampling

    with rasterio.open(path) as raster, WarpedVRT(raster, crs="EPSG:3857", resampling=Resampling.bilinear) as warped:
        return int(warped.read().size)


def work(limit: int) -> None:
    while True:
        for path in sorted(QUEUE.glob("*.json")):
            taken = path.with_suffix(f".{os.environ['POD_NAME']}")
            try:
                path.rename(taken)
            except FileNotFoundError:
                continue  # another one has it
            task = json.loads(taken.read_text())
            facts = {"task": path.stem, "estimate_bytes": task["estimate_bytes"], "slot_limit_bytes": limit}
            with measured(task["layer"], history=HISTORY, shared="set", **facts) as measurement:
                pixels = warp(task["source"])
            assert measurement.record is not None
            done = {
                "pixels": pixels,
                "record": measurement.record.model_dump(mode="json"),
                "pod_peak_bytes": pod_peak(),
            }
            written = taken.with_suffix(".writing")
            written.write_text(json.dumps(done))
            written.rename(taken.with_suffix(".done"))
        time.sleep(0.5)


def pod_peak() -> int:
    """memory.peak of the container so far, page cache included."""
    group = own_cgroup()
    assert group is not None
    with PeakFile(group.folder / "memory.peak") as peak:
        return peak.peak_bytes()


def main() -> None:
    begun = time.monotonic()
    # Closes what an earlier container of this pod left open: a killed task is in the history from here on.
    start_worker(history=HISTORY, warm_up=warm_up_raster)
    print(
        f"{POOL}: {SLOTS} slots, {SLOT_LIMIT} bytes with one task, ready after {time.monotonic() - begun:.1f} s",
        flush=True,
    )
    threads = [threading.Thread(target=work, args=(SLOT_LIMIT,)) for _ in range(SLOTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
