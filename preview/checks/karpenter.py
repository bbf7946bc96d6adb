"""NodePools, EC2NodeClasses and boot texts against the rules the API server and the node would apply."""

from __future__ import annotations

from collections.abc import Iterator

from components import crd
from floodplain.problem import Problem
from nodeconfig import problems_of_user_data

from .. import wire
from ..finding import Finding
from ..karpenter_objects import NODE_CLASS, NODE_POOL
from ..origin import place
from ..recording import Recorded
from ..render import Applied


def check(rendering: Applied) -> Iterator[Finding]:
    for kind in (NODE_POOL, NODE_CLASS):
        for resource in rendering.apply.of(kind):
            manifest = wire.reveal(resource.inputs)
            for violation in crd.violations(manifest):
                yield _finding(rendering, "crd", resource, violation)
            user_data = manifest.get("spec", {}).get("userData")
            if isinstance(user_data, str):
                for problem in problems_of_user_data(user_data):
                    within = Problem(
                        f"spec.userData {problem.path}".strip(), problem.rule, problem.remedy, problem.value
                    )
                    yield _finding(rendering, "user-data", resource, within)


def _finding(rendering: Applied, check: str, resource: Recorded, problem: Problem) -> Finding:
    where = place(rendering.stackfile, resource, problem.path)
    told = Problem(where or f"{resource.name}: {problem.path}", problem.rule, problem.remedy, problem.value)
    if where:
        told = Problem(where, f"{problem.path} {problem.rule}", problem.remedy, problem.value)
    return Finding("error", check, told, resource.urn, problem.path)
