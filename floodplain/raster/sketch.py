"""DDSketches of peaks: made here, and read bucket by bucket. Pure.

ddsketch has no public name for its buckets or its exact maximum (`get_quantile_value` gives neither: the largest value
comes back as the middle of its bucket), so that its private ones are read, here and nowhere else. Checked with 3.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

RELATIVE_ERROR = 0.01


def sketch_of(counts: Iterable[float]) -> Any:
    """A DDSketch with a relative error of 1 %. Sketches of several workers merge."""
    from ddsketch import DDSketch

    sketch = DDSketch(RELATIVE_ERROR)
    for count in counts:
        sketch.add(count)
    return sketch


def maximum(sketch: Any) -> float:
    """The largest value, exactly; minus infinity where there is none."""
    found: float = sketch._max  # the number that was added, and so an int above 2^53 too
    return found


def buckets(sketch: Any) -> dict[float, float]:
    """How many values lie in each bucket that has any, by the value that stands for the bucket; 0 for zeros.

    Values of buckets are the same in all sketches of one accuracy.
    """
    store, value = sketch._store, sketch._mapping.value
    found = {value(index + store.offset): count for index, count in enumerate(store.bins) if count}
    return {0.0: sketch._zero_count, **found} if sketch._zero_count else found
