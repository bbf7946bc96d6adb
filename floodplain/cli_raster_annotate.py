"""`floodplain raster annotate`: estimates as annotations of pods, so that admission needs no network. Edge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from floodplain.cli_raster import raster
from floodplain.cli_raster_estimate import answer, headline
from floodplain.cli_raster_ground import asked_of, ground_of
from floodplain.cli_raster_options import PoolFlags, Sidecars, TargetFlags, TaskFlags
from floodplain.cli_raster_status import bad, failed
from floodplain.grouped_options import grouped

_STATUS = (
    "Exit status: 0 printed, 1 the estimate is refused or cannot be had, or a file cannot be read or understood, "
    "2 bad options."
)


@raster.command("annotate", epilog=_STATUS)
@grouped
def annotate(
    source: Annotated[
        str | None, typer.Argument(help="A raster, as of `raster estimate`; or name --routed.", metavar="[SOURCE]")
    ] = None,
    routed: Annotated[
        str | None,
        typer.Option(
            help="Lines of `raster route`: the container does them one by one. - reads stdin.", metavar="FILE"
        ),
    ] = None,
    line: Annotated[int | None, typer.Option(min=1, help="Only this line of --routed.", metavar="NUMBER")] = None,
    manifest: Annotated[
        str | None, typer.Option(help="Print this Job, CronJob or Pod with the annotations on its pod.", metavar="FILE")
    ] = None,
    *,
    target: TargetFlags,
    tasks: TaskFlags,
    sidecars: Sidecars = False,
    pools: PoolFlags,
) -> None:
    """Print the annotations of a pod that runs a task: engine, peak (estimate and baseline) and what it consists of.

    Of several lines the largest estimate counts.
    """
    from floodplain.cli_plan_files import FileError
    from floodplain.problem import printable
    from floodplain.raster.pod_annotations import annotations_of, patched, to_yaml

    ground = ground_of(tasks, pools)
    if (source is None) == (routed is None):
        bad("SOURCE: name a raster, or a file of routed lines with --routed; not both")
    if routed is not None and tasks.history:
        bad("--history: does not go with --routed, whose estimates are made; give it to `raster route`")
    try:
        if routed is not None:
            found, of = _largest(routed, line)
        else:
            assert source is not None
            asked = asked_of(target)
            found, of = answer(source, asked, ground, sidecars)[0].to_json(), headline(source, asked)
        if "peak_bytes" not in found or found["pool"] not in ("small", "big"):
            raise FileError(printable(f"{of} is {found['pool']}: {found['reason']}"))
        made = annotations_of(found["peak_bytes"], ground.pools.baseline_bytes, found["terms"], of=of)
        typer.echo(to_yaml(made) if manifest is None else _patched(manifest, made, patched), nl=False)
    except FileError as error:
        failed(str(error))


def _patched(manifest: str, made: Mapping[str, str], patch: Any) -> str:
    from floodplain.cli_raster_files import read_file

    return read_file("--manifest", manifest, lambda content: str(patch(content.decode("utf-8-sig"), made)))


def _largest(path: str, only: int | None) -> tuple[Mapping[str, Any], str]:
    """The largest estimate of a file, and of which line it is. Raises FileError."""
    from floodplain.cli_plan_files import FileError, shown
    from floodplain.problem import printable

    best: tuple[Mapping[str, Any], str] | None = None
    count = 0
    for number, entry in _estimates(path):
        if only is not None and number != only:
            continue
        count += 1
        found = entry["estimate"]
        if found["pool"] == "skipped":
            continue
        told = f"line {number}, {shown(entry['source'])}"
        if "peak_bytes" not in found:
            why = printable(found["reason"])
            raise FileError(f"--routed: {shown(path)}: {told} has no estimate ({why}); leave it out")
        if best is None or found["peak_bytes"] > best[0]["peak_bytes"]:
            best = found, told
    if best is None:
        wanted = "has no task with an estimate" if only is None else f"has no task with an estimate in line {only}"
        raise FileError(f"--routed: {shown(path)} {wanted}; name a file that `floodplain raster route` wrote")
    found, told = best
    return found, told if count == 1 else f"largest of {count} tasks, {told}"


def _estimates(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    from floodplain.cli_plan_files import FileError, opened_lines, shown
    from floodplain.json_once import once
    from floodplain.problem import RuleError

    with opened_lines("--routed", path) as lines:
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                entry = json.loads(text, object_pairs_hook=once)
            except RuleError as error:
                entry, why = None, f": {error.value!r} {error}"
            except (ValueError, RecursionError) as error:
                entry, why = None, f" ({error})"
            else:
                why = ""
            if not _routed_line(entry):
                remedy = "name a file that `floodplain raster route` wrote"
                raise FileError(f"--routed: {shown(path)}: line {number} is no routed task{why}; {remedy}")
            yield number, entry


def _routed_line(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("source"), str):
        return False
    found = entry.get("estimate")
    if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in ("pool", "reason")):
        return False
    if "peak_bytes" not in found:
        return True
    terms = found.get("terms")
    counts = [found["peak_bytes"], *(terms.values() if isinstance(terms, dict) else [None])]
    return all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts)
