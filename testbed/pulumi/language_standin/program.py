"""Runs a Pulumi program against the engine's monitor, in a process of its own. Part of the language host's stand-in."""

import argparse
import asyncio
import logging
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pulumi
from pulumi.runtime import configure, run_in_stack
from pulumi.runtime.config import get_config_env, get_config_secret_keys_env, set_all_config
from pulumi.runtime.settings import Settings

SHOWN_ALREADY = 32


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("project", "stack", "organization", "monitor", "engine", "parallel"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("program")
    run = parser.parse_args()
    # As the real host does: the program's folder first, and this file's not at all.
    sys.path[0] = run.program
    configure(
        Settings(
            project=run.project,
            stack=run.stack,
            organization=run.organization,
            monitor=run.monitor,
            engine=run.engine,
            parallel=int(run.parallel),
            dry_run=run.dry_run,
            root_directory=run.program,
        )
    )
    # The SDK looks into the environment for single keys only; the real host's program does the same as this.
    set_all_config(get_config_env(), get_config_secret_keys_env())
    # After one failure every sibling future would log a traceback of its own.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(32))
    try:
        loop.run_until_complete(run_in_stack(lambda: _run(run.program)))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return SHOWN_ALREADY
    except Exception:
        pulumi.log.error(f"Program failed with an unhandled exception:\n{traceback.format_exc()}")
        return SHOWN_ALREADY
    finally:
        loop.close()
    return 0


def _run(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    sys.exit(main())
