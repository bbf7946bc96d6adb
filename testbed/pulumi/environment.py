"""What the real CLI finds around it: its programs on PATH, a backend and a home of its own, an AWS that is ours. Pure.

Nothing of a person's machine gets in: no proxies, no credentials, no kubeconfig, no home of Pulumi or Helm.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

PASSPHRASE = "testbed"
CALLER = "pulumi"
CHECKOUT = Path(__file__).resolve().parents[2]


def engine_environment(
    folder: Path, given: Mapping[str, str], *, aws_endpoint: str | None, region: str, kubeconfig: Path | None
) -> dict[str, str]:
    """`folder` holds everything that the CLI writes; `given` is the environment of this process."""
    kept = {name: given[name] for name in ("HOME", "LANG", "XDG_CACHE_HOME") if name in given}
    return {
        **kept,
        # Ours first: the CLI takes plugins from PATH before it looks anywhere else.
        "PATH": f"{folder / 'bin'}:{given.get('PATH', '/usr/bin:/bin')}",
        # The Kubernetes provider leaves kubeconfigs there, with their keys.
        "TMPDIR": str(folder / "tmp"),
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        # The event log, which tells the order of steps, is behind this switch.
        "PULUMI_DEBUG_COMMANDS": "true",
        # An Output that was put into a text is then an error instead of a warning in the text.
        "PULUMI_ERROR_OUTPUT_STRING": "true",
        "HELM_CACHE_HOME": str(folder / "helm" / "cache"),
        "HELM_CONFIG_HOME": str(folder / "helm" / "config"),
        "HELM_DATA_HOME": str(folder / "helm" / "data"),
        # Without a file the Kubernetes provider would fall back to a person's own cluster.
        "KUBECONFIG": str(kubeconfig or "/dev/null"),
        "AWS_REGION": region,
        # The front before AWS tells callers apart by their key.
        "AWS_ACCESS_KEY_ID": CALLER,
        "AWS_SECRET_ACCESS_KEY": "testbed",
        "AWS_EC2_METADATA_DISABLED": "true",
        # Nobody listens there: a call that should not be made fails at once instead of reaching AWS.
        "AWS_ENDPOINT_URL": aws_endpoint or "http://127.0.0.1:9",
    }


def module_script(module: str, *, python: str = sys.executable, checkout: Path = CHECKOUT) -> str:
    """A program that runs a module of this checkout, wherever it is started."""
    # -P keeps the working directory, a Pulumi project, off the import path.
    return f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(checkout))} exec {shlex.quote(python)} -P -m {module} "$@"\n'
