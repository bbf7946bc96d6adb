"""`SizingService`: the service that plans over HTTP, and the webhook that sizes annotated pods and Jobs."""

from collections.abc import Mapping
from typing import Any, NotRequired, Optional, TypedDict

import pulumi
from pulumi import Output, ResourceOptions
from pydantic.alias_generators import to_camel

from . import sizing_doctor, sizing_surroundings, sizing_workloads
from .arguments import read_args
from .cluster_args import ClusterArgs
from .kubernetes_object import kubernetes_object
from .pool_args import SwapPoolArgs
from .sizing_args import SizingServiceSettingsArgs
from .sizing_installation import SizingInstallation
from .sizing_names import ADMISSION, DOCTOR, HEALTH_PORT, HTTP_PORT, POOLS, SIZING
from .sizing_webhook import CA_BUNDLE_PATHS, SERVICE_PORT, webhook_configuration


class SizingServiceArgs(TypedDict):
    """The service's image, and the pools that it plans for."""

    image: str
    """Image of the services, by digest."""
    cluster: NotRequired[ClusterArgs]
    """The EKS cluster of `pools`, as `SwapNodePool` takes it. Not needed for `documents` alone."""
    pools: NotRequired[list[SwapPoolArgs]]
    """Pools, as `SwapNodePool` takes them."""
    documents: NotRequired[str]
    """Pool documents of pools that something else makes, on any cluster: JSON, as `SwapNodePool` outputs it."""
    sizing: NotRequired[SizingServiceSettingsArgs]
    """Its place and size, and what it plans by."""


class SizingService(pulumi.ComponentResource):
    """A service that says what a job needs, and a webhook that writes it into annotated pods and Jobs.

    The webhook does nothing until a namespace is labelled `floodplain.dev/sizing`: with `observe` it explains in an
    annotation, with `enforce` it sizes. A CronJob looks whether the cluster keeps what plans promise. There is one
    such component in a cluster. What it depends on (`depends_on`) the webhook's configuration waits for.
    """

    namespace: Output[str]
    """Its namespace."""
    service_name: Output[str]
    """Name of the Deployment and Service that plan over HTTP."""
    address: Output[str]
    """Where they answer within the cluster, such as `http://floodplain-sizing.floodplain.svc:8080`."""
    admission_name: Output[str]
    """Name of the Deployment and Service that the API server asks."""
    webhook_configuration_name: Output[str]
    """Name of the MutatingWebhookConfiguration."""
    pools_config_map_name: Output[str]
    """Name of the ConfigMap that holds the pools and the settings."""

    def __init__(self, name: str, args: SizingServiceArgs, opts: Optional[ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:SizingService", name, {}, opts)
        self._name = name
        plan = read_args(SizingInstallation, args)
        self._namespace = self._make("namespace", sizing_surroundings.namespace(plan))
        pools = self._within("pools", sizing_surroundings.config_map(plan))
        around = [
            pools,
            *(self._within(key, one) for key, one in sizing_surroundings.network_policies(plan).items()),
        ]
        accounts = {
            key: self._within(f"{key}-account", sizing_surroundings.service_account(plan, called))
            for key, called in (("sizing", SIZING), ("admission", ADMISSION))
        }
        rights = [self._within(key, one) for key, one in sizing_surroundings.rights(plan).items()]
        self._within("sizing", sizing_workloads.sizing_deployment(plan), *around, accounts["sizing"])
        ports = {"http": (HTTP_PORT, "http")}
        self._within("sizing-service", sizing_workloads.service(plan, SIZING, ports))
        admission = self._within(
            "admission", sizing_workloads.admission_deployment(plan), *around, accounts["admission"], *rights
        )
        ports = {"webhook": (SERVICE_PORT, "webhook"), "health": (HEALTH_PORT, "health")}
        answers = self._within("admission-service", sizing_workloads.service(plan, ADMISSION, ports))
        budget = self._within("admission-budget", sizing_workloads.disruption_budget(plan))
        self._make_webhook(plan, opts, admission, answers, budget, *self._make_doctor(plan, pools))

        outputs = {
            "namespace": plan.sizing.namespace,
            "service_name": SIZING,
            "address": f"http://{SIZING}.{plan.sizing.namespace}.svc:{HTTP_PORT}",
            "admission_name": ADMISSION,
            "webhook_configuration_name": SIZING,
            "pools_config_map_name": POOLS,
        }
        for key, value in outputs.items():
            setattr(self, key, Output.from_input(value))
        self.register_outputs({to_camel(key): value for key, value in outputs.items()})

    def _make_doctor(self, plan: SizingInstallation, pools: pulumi.Resource) -> list[pulumi.Resource]:
        """The CronJob, where there is one, with its account, rights and network before it."""
        if not plan.sizing.doctor.enabled:
            return []
        before = [
            self._within("doctor-account", sizing_surroundings.service_account(plan, DOCTOR)),
            *(self._within(f"doctor-{key}", one) for key, one in sizing_doctor.rights(plan).items()),
            self._within("doctor-network", sizing_doctor.network(plan)),
        ]
        return [self._within("doctor", sizing_doctor.cron_job(plan), pools, *before)]

    def _make_webhook(
        self, plan: SizingInstallation, given: Optional[ResourceOptions], *answering: pulumi.Resource
    ) -> None:
        """Last, when admission answers, and so first to go: a configuration without anybody behind it would refuse
        every annotated pod of an enforced namespace.

        Admission is therefore ready before the configuration is there. It looks for it every half minute and writes
        its authority into it; until then *enforce* refuses, and controllers try again.
        """
        options = ResourceOptions.merge(
            # The engine does not pass a component's dependencies on to its children.
            ResourceOptions(depends_on=given.depends_on if given else None),
            ResourceOptions(parent=self, depends_on=list(answering), ignore_changes=CA_BUNDLE_PATHS),
        )
        kubernetes_object(f"{self._name}-webhook", webhook_configuration(plan), options)

    def _within(self, key: str, manifest: Mapping[str, Any], *after: pulumi.Resource) -> pulumi.Resource:
        """An object that needs the namespace, be it for its subjects."""
        return self._make(key, manifest, self._namespace, *after)

    def _make(self, key: str, manifest: Mapping[str, Any], *after: pulumi.Resource) -> pulumi.Resource:
        return kubernetes_object(f"{self._name}-{key}", manifest, ResourceOptions(parent=self, depends_on=list(after)))
