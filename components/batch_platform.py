"""`Platform`: everything a cluster needs for batch jobs whose memory peaks briefly, in the right order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Optional, TypedDict, cast

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import Input, InvokeOptions, Output, ResourceOptions

from floodplain import pools

from .arguments import read_args
from .cluster import Cluster
from .cluster_args import ClusterArgs, PlacedClusterArgs
from .controllers import Controllers, ControllersArgs
from .guardrails import Guardrails, GuardrailsArgs
from .karpenter_controller import INPUTS as KARPENTER_INPUTS
from .karpenter_controller import KarpenterArgs, KarpenterController
from .karpenter_settings import Credentials
from .platform_settings import PlatformSettings
from .platform_warnings import warnings
from .pool_args import SwapPoolArgs
from .pool_choices import GuardrailMode
from .pool_document import pool_document
from .sizing_args import SizingServiceSettingsArgs
from .sizing_service import SizingService
from .swap_node_pool import SwapNodePool
from .worker_args import WorkersArgs
from .worker_pools import WorkerPools


class ImageArgs(TypedDict, total=False):
    """floodplain's own images, by digest."""

    service: str
    """Image of the services."""
    agent: str
    """Image of the node agents."""


class PlatformArgs(TypedDict):
    """A whole platform."""

    cluster: PlacedClusterArgs
    """The EKS cluster that exists already."""
    pools: list[SwapPoolArgs]
    """The swap-backed pools."""
    install_karpenter: NotRequired[bool]
    """Install Karpenter. False keeps the one that the cluster has; `karpenter` then says its version and the role of
    its nodes. Default true."""
    karpenter: NotRequired[KarpenterArgs]
    """Karpenter's controller."""
    controllers: NotRequired[ControllersArgs]
    """Further controllers: queues, workflows, metrics."""
    sizing: NotRequired[SizingServiceSettingsArgs]
    """The service that sizes jobs. It is installed where `images.service` holds a digest."""
    worker_pools: NotRequired[list[WorkersArgs]]
    """Pools of raster workers, each a small and a big one."""
    images: NotRequired[ImageArgs]
    """floodplain's own images."""
    protected: NotRequired[bool]
    """Whether images and charts must be pinned and rules are strict. Default false."""
    tags: NotRequired[dict[str, str]]
    """Tags on everything made in AWS, instances included."""
    kubeconfig: NotRequired[Input[str]]
    """Kubeconfig of the cluster. By default one is made that signs in with `aws eks get-token`."""


class Platform(pulumi.ComponentResource):
    """Karpenter, swap-backed pools, controllers and guardrails on an existing EKS cluster.

    Makes its own AWS and Kubernetes providers, bound to the account and the cluster that the arguments name, so that
    nothing can land elsewhere.
    """

    node_role_name: Output[str]
    """Name of the IAM role of the nodes."""
    queue_name: Output[Optional[str]]
    """Name of Karpenter's interruption queue."""
    pool_names: Output[list[str]]
    """Names of the pools."""
    runtime_class_names: Output[dict[str, str]]
    """RuntimeClass that the jobs of each pool name."""
    pools: Output[str]
    """The pools for sizing and tools: JSON, as `python -m preview show pools --json` prints it."""
    policy_names: Output[list[str]]
    """Names of the guardrails' admission policies."""
    sizing_address: Output[Optional[str]]
    """Where the sizing service answers within the cluster."""
    worker_pools: Output[dict[str, str]]
    """Figures of each entry of `workerPools`: JSON, as `floodplain raster route --pools-file` reads it."""

    def __init__(self, name: str, args: PlatformArgs, opts: Optional[ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:Platform", name, {}, opts)
        inputs = ("kubeconfig", *(f"karpenter.{key}" for key in KARPENTER_INPUTS))
        settings = read_args(PlatformSettings, args, inputs=inputs)
        for warning in warnings(settings):
            pulumi.log.warn(str(warning), self)

        cluster = settings.cluster
        self._aws = aws.Provider(
            f"{name}-aws",
            region=cluster.region,
            allowed_account_ids=[cluster.account_id],
            opts=ResourceOptions(parent=self),
        )
        self._found = aws.eks.get_cluster_output(name=cluster.name, opts=InvokeOptions(parent=self, provider=self._aws))
        self._kubernetes = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=args.get("kubeconfig") or self._found.apply(lambda found: _kubeconfig(cluster, found)),
            # Otherwise a new kubeconfig would replace the provider and everything made through it.
            cluster_identifier=cluster.arn,
            enable_server_side_apply=True,
            # Otherwise a new pool would take the ConfigMap that running services read away before it comes back.
            enable_config_map_mutable=True,
            opts=ResourceOptions(parent=self),
        )
        self._through = [self._aws, self._kubernetes]

        karpenter = self._karpenter(name, settings, args.get("karpenter") or {})
        node_role: Any = karpenter.node_role_name if karpenter else settings.karpenter.node_role_name
        versions = settings.cluster_versions
        documents = [pool_document(pool, versions) for pool in settings.pools]
        made: dict[str, SwapNodePool] = {}
        policies: list[Output[list[str]]] = []
        cluster_args = cast(ClusterArgs, versions.model_dump())
        for pool, pool_args in zip(settings.pools, args["pools"], strict=True):
            guarded: GuardrailsArgs = {"cluster": cluster_args, "pools": [pool_args]}
            guardrails = Guardrails(f"{name}-{pool.name}", guarded, self._options())
            policies.append(guardrails.policy_names)
            made[pool.name] = SwapNodePool(
                f"{name}-{pool.name}",
                {
                    "pool": {**pool_args, "tags": {**settings.tags, **pool.tags}},
                    "cluster": cluster_args,
                    "node_role_name": node_role,
                    "protected": settings.protected,
                },
                # No pod may land on a pool before its rules are there.
                self._options(guardrails, *([karpenter] if karpenter else [])),
            )
        sizing = self._sizing(name, settings, args, cluster_args, list(made.values()))
        if sizing and settings.sizing.guardrails is not GuardrailMode.OFF:
            unsized: GuardrailsArgs = {"unsized": settings.sizing.guardrails}
            # Before the webhook there is nobody who could size a pod, and it goes first at a destroy.
            policies.append(Guardrails(f"{name}-sizing-guardrails", unsized, self._options(sizing)).policy_names)
        Controllers(f"{name}-controllers", args.get("controllers") or {}, self._options())
        workers = self._workers(name, settings, args.get("worker_pools") or [], made)

        self.node_role_name = Output.from_input(node_role)
        self.queue_name = karpenter.queue_name if karpenter else Output.from_input(None)
        self.pool_names = Output.from_input(list(made))
        self.runtime_class_names = Output.all(**{key: one.runtime_class_name for key, one in made.items()})
        self.pools = Output.from_input(pools.dump(documents).decode())
        self.policy_names = Output.all(*policies).apply(lambda found: [name for names in found for name in names])
        self.sizing_address = sizing.address if sizing else Output.from_input(None)
        # Of nothing, Output.all makes a list.
        figures = {key: one.raster for key, one in workers.items()}
        self.worker_pools = Output.all(**figures) if figures else Output.from_input({})
        self.register_outputs(
            {
                "nodeRoleName": self.node_role_name,
                "queueName": self.queue_name,
                "poolNames": self.pool_names,
                "runtimeClassNames": self.runtime_class_names,
                "pools": self.pools,
                "policyNames": self.policy_names,
                "sizingAddress": self.sizing_address,
                "workerPools": self.worker_pools,
            }
        )

    def _options(self, *depends_on: pulumi.Resource) -> ResourceOptions:
        return ResourceOptions(parent=self, providers=self._through, depends_on=list(depends_on))

    def _karpenter(self, name: str, settings: PlatformSettings, given: KarpenterArgs) -> Optional[KarpenterController]:
        """The controller, unless the cluster keeps its own."""
        karpenter, cluster = settings.karpenter, settings.cluster
        if not settings.install_karpenter:
            return None
        args = given.copy()
        args["tags"] = {**settings.tags, **karpenter.tags}
        if karpenter.credentials is Credentials.IRSA and "oidc_provider_arn" not in args:
            args["oidc_provider_arn"] = self._found.apply(
                lambda found: cluster.place.iam(f"oidc-provider/{_issuer(found).removeprefix('https://')}")
            )
        return KarpenterController(
            f"{name}-karpenter",
            {"cluster": cast(PlacedClusterArgs, cluster.model_dump()), "karpenter": args},
            self._options(),
        )

    def _sizing(
        self,
        name: str,
        settings: PlatformSettings,
        given: PlatformArgs,
        cluster: ClusterArgs,
        pools: Sequence[SwapNodePool],
    ) -> Optional[SizingService]:
        """Sizing, where there is an image of it.

        After the pools: a plan names a pool's RuntimeClass, and the API server refuses a pod whose RuntimeClass does
        not exist. At a destroy sizing goes first, so that no pod is sent to a pool that is going.
        """
        if settings.images.service is None:
            return None
        return SizingService(
            f"{name}-sizing",
            {
                "image": settings.images.service,
                "cluster": cluster,
                "pools": given["pools"],
                "sizing": given.get("sizing") or {},
            },
            self._options(*pools),
        )

    def _workers(
        self, name: str, settings: PlatformSettings, given: Sequence[WorkersArgs], pools: Mapping[str, SwapNodePool]
    ) -> dict[str, WorkerPools]:
        """Raster workers. A big pool that runs in a swap pool comes after it, whose RuntimeClass it names."""
        made = {}
        for workers, args in zip(settings.worker_pools, given, strict=True):
            swap_pool = workers.big.swap_pool
            made[workers.name] = WorkerPools(
                f"{name}-{workers.name}-workers",
                {"workers": args, "protected": settings.protected},
                self._options(*([pools[swap_pool]] if swap_pool else [])),
            )
        return made


def _issuer(found: aws.eks.GetClusterResult) -> str:
    return str(found.identities[0].oidcs[0].issuer)


def _kubeconfig(cluster: Cluster, found: aws.eks.GetClusterResult) -> str:
    """A kubeconfig without a secret in it: the token comes from the caller's own AWS credentials."""
    command = ["eks", "get-token", "--cluster-name", cluster.name, "--region", cluster.region, "--output", "json"]
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": cluster.name,
                    "cluster": {
                        "server": found.endpoint,
                        "certificate-authority-data": found.certificate_authorities[0].data,
                    },
                }
            ],
            "users": [
                {
                    "name": cluster.name,
                    "user": {
                        "exec": {
                            "apiVersion": "client.authentication.k8s.io/v1beta1",
                            "command": "aws",
                            "args": command,
                            "interactiveMode": "Never",
                        }
                    },
                }
            ],
            "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": cluster.name}}],
            "current-context": cluster.name,
        },
        sort_keys=True,
    )
