"""Programs that are functions of a test, through the Automation API. No language host takes part; the CLI is real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulumi import automation

from testbed.pulumi.engine import Engine


def inline_stack(engine: Engine, name: str, program: Callable[[], Any]) -> automation.Stack:
    """A new stack `dev` of the project `name`, in the engine's backend and environment."""
    for_cli = {**dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), ""), **engine.environment}
    return automation.create_or_select_stack(
        stack_name="dev",
        project_name=name,
        program=program,
        opts=automation.LocalWorkspaceOptions(
            env_vars=for_cli,
            pulumi_home=for_cli["PULUMI_HOME"],
            # It looks for bin/pulumi below this folder.
            pulumi_command=automation.PulumiCommand(root=str(engine.folder)),
        ),
    )
