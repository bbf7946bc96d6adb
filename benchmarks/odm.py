"""Predictors of ODM's peak on public observations: how many jobs each would have killed, and what each has too much.

Ours is judged where it has not looked: fitted without a source, it predicts that source's jobs. What was chosen with
all in sight (steeper beyond 5000 images, the fixed factors, the fit's weights) cannot be taken out that way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from floodplain.sizing.odm.fit import SAFETY, fit
from floodplain.sizing.odm.observations import Observation, counted
from floodplain.sizing.odm.peak import Constants, peak_gib
from floodplain.sizing.odm.score import Predictor, Score, score
from floodplain.sizing.scaleodm import PROD, flags_of, predicted_peak_gib

from .rows import Row

Table = tuple[tuple[int, float], ...]

ODM_DOCS: Table = ((40, 4), (250, 16), (500, 32), (1500, 64), (2500, 128), (3500, 192), (5000, 256))
"""Images and GB of memory, or of memory and swap: https://docs.opendronemap.org/installation/."""
CLUSTERODM_AWS: Table = ((40, 4), (80, 8), (250, 16), (500, 32), (1500, 64), (2500, 128), (3500, 256), (5000, 256))
"""ClusterODM's docs/aws.md: instance types' memory, and as much swap."""


def run(options: Sequence[str] = ()) -> list[Row]:
    """All rows. There are no options."""
    observations = counted()
    seen = score(_ours(fit(observations)), observations)
    unseen = score_unseen(observations, _source)
    by_dataset = score_unseen(observations, _dataset)
    rows = [*_own("fitted to all", seen), *_own("each source unseen", unseen)]
    rows += _own("each source unseen, of odm-benchmarks each data set", by_dataset)
    for peer, predictor in PEERS.items():
        rows += _against(peer, score(predictor, observations), unseen)
    rows.append(_as_lean_as("ODM docs, lines between", observations))
    return rows


def score_unseen(
    observations: Sequence[Observation], group: Callable[[Observation], str], safety: float = SAFETY
) -> Score:
    """Each group predicted by a model that was fitted to the others."""
    total = Score((), 0.0, 0)
    for name in sorted({group(one) for one in observations}):
        constants = fit([one for one in observations if group(one) != name], safety)
        total += score(_ours(constants), [one for one in observations if group(one) == name])
    return total


def next_row(table: Table) -> Predictor:
    """As one chooses a machine: the first row with as many images; the last for more."""
    counts = [images for images, _ in table]
    return lambda one: table[min(bisect_left(counts, one.images), len(table) - 1)][1]


def lines_between(table: Table) -> Predictor:
    """As one who wants to save: lines between the rows; the first for fewer, the last line goes on."""

    def predict(one: Observation) -> float:
        if one.images <= table[0][0]:
            return table[0][1]
        place = min(bisect_left([images for images, _ in table], one.images), len(table) - 1)
        (before, low), (after, high) = table[place - 1 : place + 1]
        return low + (high - low) * (one.images - before) / (after - before)

    return predict


PEERS: dict[str, Predictor] = {
    "ScaleODM": lambda one: predicted_peak_gib(one.images, flags_of(one.options), PROD),
    "ScaleODM, flags left out": lambda one: predicted_peak_gib(one.images, (), PROD),
    "ODM docs, next row": next_row(ODM_DOCS),
    "ODM docs, lines between": lines_between(ODM_DOCS),
    "ClusterODM on AWS": next_row(CLUSTERODM_AWS),
}


def _ours(constants: Constants) -> Predictor:
    return lambda one: peak_gib(one.workload, constants)


def _source(one: Observation) -> str:
    return one.source


def _dataset(one: Observation) -> str:
    """One who knows the memory that a data set took knows it also for other settings."""
    return f"{one.source} {one.dataset}" if one.source == "OpenDroneMap/odm-benchmarks" else one.source


def _own(how: str, ours: Score) -> Iterator[Row]:
    count = f"of {len(counted())}"
    yield Row(f"ours, {how}: under-predictions ({', '.join(ours.missed)})", count, len(ours.missed))
    yield Row(f"ours, {how}: over-provision, sum of shares", "", round(ours.over, 2))
    yield Row(f"ours, {how}: more than a quarter over", f"of {_bounded(counted())}", ours.far_over)


def _against(peer: str, theirs: Score, ours: Score) -> Iterator[Row]:
    pairs = (
        ("under-predictions", len(ours.missed), len(theirs.missed)),
        ("over-provision, sum of shares", round(ours.over, 2), round(theirs.over, 2)),
        ("more than a quarter over", ours.far_over, theirs.far_over),
    )
    for figure, own, other in pairs[:2]:
        yield Row(f"{figure}, each source unseen", "", own, f"under {other:g}", peer, other, own < other)
    figure, own, other = pairs[2]
    yield Row(f"{figure}, each source unseen", "", own, peer=peer, peer_value=other)


def _as_lean_as(peer: str, observations: Sequence[Observation]) -> Row:
    """Either axis can be had at the cost of the other; so ours is also fitted to be as lean as the leanest peer."""
    theirs = score(PEERS[peer], observations)
    for tenths in range(10, 0, -1):
        ours = score_unseen(observations, _source, tenths / 10)
        if ours.over <= theirs.over:
            break
    own, other = len(ours.missed), len(theirs.missed)
    figure = f"under-predictions, fitted to be as lean as the peer (safety {tenths / 10:g} of {SAFETY:g}), unseen"
    return Row(figure, "", own, f"under {other}", peer, other, own < other and ours.over <= theirs.over)


def _bounded(observations: Iterable[Observation]) -> int:
    return sum(one.high_gib is not None for one in observations)
