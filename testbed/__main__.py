"""`python -m testbed`: build the engines, run them for a person, build the node image. Edge: reads and prints."""

import contextlib
import os
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from floodplain.standard_output import guarded
from testbed.engine_error import EngineError
from testbed.engines.table import ENGINES, Tier, of_tier

app = typer.Typer(
    help="Real engines on this machine: built from source, started on loopback, ended by process id.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Real engines on this machine: built from source, started on loopback, ended by process id."""


def _known(names: list[str] | None) -> list[str] | None:
    for name in names or ():
        if name not in ENGINES:
            raise typer.BadParameter(f"there is no engine {name!r}; known: {', '.join(ENGINES)}")
    return names


@app.command("build")
def build_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Engines to build; all when none is named.", callback=_known)
    ] = None,
    tier: Annotated[
        Tier | None, typer.Option(help="What this tier's tests need; other programs are looked for.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Only show what is built.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove builds of other versions and toolchains.")] = False,
) -> None:
    """Build the engines that are missing: some 20 minutes on 2 cores when all are, a second when none is."""
    from testbed import needs
    from testbed.engines import show as shown
    from testbed.engines.toolchain import READY, go
    from testbed.engines.where import cache_folder, stale

    wanted = names or (of_tier(tier) if tier else list(ENGINES))
    console = Console(highlight=False)
    if tier and not show and not prune:
        search = f"{os.environ.get('PATH', '')}:{needs.SYSTEM_PATH}"
        needs.require(tier, which=lambda program: shutil.which(program, path=search), root=os.geteuid() == 0)
    if show:
        shown.listed(go(), console)
    elif prune:
        for folder in stale(cache_folder(go().environment), go()):
            shutil.rmtree(folder)
            console.print(f"removed {folder.name}", soft_wrap=True)
    elif os.environ.get(READY):
        shown.ready_shown(wanted, console)
    else:
        shown.build_shown(wanted, go(), console)


@app.command("up")
def up_command(
    folder: Annotated[Path | None, typer.Option(help="State folder; default: a temporary one.")] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Without the testbed's stack and Karpenter.")] = False,
) -> None:
    """Run a cluster with the stack `testbed` and Karpenter, print how to reach it, and end it on Ctrl-C.

    It ends by itself, with status 1, when one of the engines ends.
    """
    from testbed.bed import open_bed
    from testbed.cluster.fake_kubelets import fake_kubelets
    from testbed.state import State

    with contextlib.ExitStack() as stack:
        state = stack.enter_context(State(folder))
        bed, kubelets = stack.enter_context(open_bed(state)), None
        if not bare:
            typer.echo("pulumi up of the stack testbed ...", err=True)
            bed.deploy()
            kubelets = stack.enter_context(fake_kubelets(state, bed.cluster.api, bed.aws))
        typer.echo(f"export KUBECONFIG={shlex.quote(str(bed.cluster.kubeconfig))}")
        typer.echo(f"AWS stand-in at {bed.aws.endpoint}; logs in {state.path('logs')}; Ctrl-C ends it all", err=True)
        with contextlib.suppress(KeyboardInterrupt):  # from here on Ctrl-C is the good end
            while kubelets is None or not kubelets.failing():  # leaving their block raises what fails
                bed.require_whole()
                time.sleep(1)


@app.command("image")
def image_command() -> None:
    """Build the image that node machines boot from, where it is missing."""
    from testbed.node.image import build_image

    typer.echo(f"node image: {build_image().disk}")


def _terminated(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _run() -> None:
    try:
        app()
    except EngineError as error:
        raise SystemExit("\n".join([f"testbed: {error}", *getattr(error, "__notes__", ())])) from None
    except OSError as error:
        if error.filename is None:  # standard output
            raise
        raise SystemExit(
            f"testbed: {error.filename}: {error.strerror}; name a folder that can be written, on a disk with room: "
            "XDG_CACHE_HOME for what is built, TMPDIR for what is temporary"
        ) from None


def main() -> None:
    """Run a command; what went wrong is one message. Ends with 1 for a fault, 2 for wrong use, 130 for Ctrl-C.

    Only of a cluster that is up Ctrl-C is the good end, 0.
    """
    # As with Ctrl-C, what was started is ended before we are; SIGHUP is a terminal that was closed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    # A shell lets its background jobs ignore it, and then nothing but SIGTERM would end us.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    guarded(_run)


if __name__ == "__main__":
    main()
