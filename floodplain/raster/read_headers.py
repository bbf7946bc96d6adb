"""Edge: the headers of many rasters at once, in threads. Reading waits for the network and for GDAL, not for Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread

from floodplain.raster.read_header import HeaderReading, RasterUnreadable, read_header

Read = HeaderReading | RasterUnreadable


def read_headers(sources: Sequence[str], *, threads: int, sidecars: bool = False) -> Iterator[tuple[str, Read]]:
    """Each source with its header, or with why it cannot be read, in the order in which they come.

    Whoever stops early (Ctrl-C) does not wait for what is being read: GDAL cannot be interrupted, so the threads are
    daemons and take nothing new.
    """
    import rasterio  # noqa: F401 - once, before threads import it all at the same time

    waiting: SimpleQueue[str] = SimpleQueue()
    done: SimpleQueue[tuple[str, Read]] = SimpleQueue()
    for source in sources:
        waiting.put(source)
    stopped = Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                source = waiting.get_nowait()
            except Empty:
                return
            done.put((source, _read(source, sidecars)))

    for number in range(min(threads, len(sources))):
        Thread(target=work, name=f"header-{number}", daemon=True).start()
    try:
        for _ in sources:
            yield done.get()
    finally:
        stopped.set()


def _read(source: str, sidecars: bool) -> Read:
    try:
        return read_header(source, sidecars=sidecars)
    except RasterUnreadable as error:
        return error
    except Exception as error:  # a thread that ends without an answer would be waited for without an end
        return RasterUnreadable(source, f"{type(error).__name__}: {error}", "report this, with the raster's header")
