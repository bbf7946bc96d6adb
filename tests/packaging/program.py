"""A platform team's own program: one pool in a cluster that has Karpenter already. Run by test_wheel, elsewhere.

Prints the taint of the NodePool and what is importable, as JSON.
"""

import importlib.util
import json
from typing import Any

import pulumi


class Mocks(pulumi.runtime.Mocks):
    """Writes down what is registered; ids are names."""

    def __init__(self) -> None:
        self.resources: dict[str, dict[str, Any]] = {}

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.resources[args.typ] = args.inputs
        return args.name, dict(args.inputs)

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        return {}, []


mocks = Mocks()
pulumi.runtime.set_mocks(mocks, project="elsewhere", stack="test")

import floodplain_pulumi  # type: ignore[import-not-found]  # noqa: E402 not of this checkout
from floodplain_pulumi import SwapNodePool  # noqa: E402


@pulumi.runtime.test  # type: ignore[untyped-decorator]
def render() -> Any:
    pool = SwapNodePool(
        "batch",
        {
            "pool": {
                "name": "batch",
                "families": ["r6id"],
                "limits": {"cpu": "64", "memory": "512Gi"},
                "ami": {"alias": "al2023@v20260714"},
            },
            "cluster": {"name": "theirs", "kubernetes_version": "1.34"},
            "node_role_name": "their-nodes",
        },
    )
    return pool.taint


render()
node_pool = mocks.resources["kubernetes:karpenter.sh/v1:NodePool"]
node_class = mocks.resources["kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"]
print(
    json.dumps(
        {
            "taints": node_pool["spec"]["template"]["spec"]["taints"],
            "limits": node_pool["spec"]["limits"],
            "role": node_class["spec"]["role"],
            "userData starts": node_class["spec"]["userData"][:17],
            "types": sorted(mocks.resources),
            "home": floodplain_pulumi.__file__.split("/")[-3:],
            "shadowed": [
                name
                for name in ("components", "nodeconfig", "stacks", "policies", "preview", "benchmarks")
                if importlib.util.find_spec(name)
            ],
        }
    )
)
