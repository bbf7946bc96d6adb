"""One controller in a small program, and how tests look at what it asks for. No tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.errors import InputPropertiesError

from components.karpenter_controller import KarpenterController
from preview.recording import Recorded, Recording

Render = Callable[..., Recording]

CLUSTER = {
    "name": "prod",
    "region": "eu-central-1",
    "account_id": "111122223333",
    "kubernetes_version": "1.34",
}
PROVIDER_ARN = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/ABC"
FARGATE = {"runs_on": "Fargate", "credentials": "Irsa", "oidc_provider_arn": PROVIDER_ARN}


def program(more: Mapping[str, Any] | None = None, then: Callable[[KarpenterController], Any] | None = None) -> Any:
    """A program with explicit providers and one controller, `then` with what depends on it.

    `more` are keys of the cluster or of Karpenter.
    """

    def run() -> None:
        given = dict(more or {})
        cluster = {key: given.pop(key) for key in CLUSTER if key in given}
        args: Any = {"cluster": {**CLUSTER, **cluster}, "karpenter": given}
        providers: list[pulumi.ProviderResource] = [
            aws.Provider("aws", region=args["cluster"]["region"]),
            kubernetes.Provider("k8s", kubeconfig="{}", cluster_identifier="prod"),
        ]
        controller = KarpenterController("karpenter", args, pulumi.ResourceOptions(providers=providers))
        if then:
            then(controller)

    return run


def refusals(render: Render, more: Mapping[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InputPropertiesError) as refused:
        render(program(more))
    return [(detail["property_path"], detail["reason"]) for detail in refused.value.errors or ()]


def release(recording: Recording, name: str = "karpenter-controller") -> Recorded:
    return recording.one("helm.sh/v3:Release", name)


def values(recording: Recording) -> Any:
    return release(recording).inputs["values"]


def needs(recording: Recording) -> dict[str, set[str]]:
    """For each resource by name, all that must exist before it, near and far."""
    resources = recording.by_urn()

    def direct(resource: Recorded) -> set[str]:
        by_property = {urn for urns in resource.property_depends_on.values() for urn in urns}
        return {urn for urn in {*resource.depends_on, *by_property, resource.parent} if urn in resources}

    def all_of(urn: str, seen: set[str]) -> set[str]:
        for below in direct(resources[urn]) - seen:
            seen.add(below)
            all_of(below, seen)
        return seen

    return {resources[urn].name: {resources[found].name for found in all_of(urn, set())} for urn in resources}
