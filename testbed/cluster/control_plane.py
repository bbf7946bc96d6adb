"""etcd, API server, controller manager and scheduler as processes on loopback. Ready in about four seconds."""

import base64
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from testbed import engines
from testbed.cluster.api import Api, is_true
from testbed.cluster.certificates import Authority, Pair, token_keys
from testbed.cluster.tunnel import UNDIALLED, tunnel
from testbed.engine_error import EngineError
from testbed.ports import free_port
from testbed.processes import Process, Processes, wait_until
from testbed.state import State

SERVICES = "10.96.0.0/16"
CLUSTER_DNS = "10.96.0.10"


@dataclass(frozen=True)
class Options:
    """What a cluster is made with. `kubelet_hosts` are node names whose kubelets the API server is to reach at
    127.0.0.1, where the ports of a node machine are forwarded to; `port` is a free one when it is None."""

    scheduler: bool = True
    controller_manager: bool = True
    kubelet_hosts: tuple[str, ...] = ()
    port: int | None = None
    api_server_flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ControlPlane:
    """A running cluster. `endpoint` is its URL; `processes` are its engines by name."""

    api: Api
    endpoint: str
    port: int
    kubeconfig: Path
    authority: Authority
    processes: dict[str, Process] = field(default_factory=dict)
    hosts: Path | None = None

    def add_kubelet_host(self, name: str) -> None:
        """Let the API server reach another node's kubelet at 127.0.0.1; the cluster must have been made with one.

        The API server reads its file of hosts again within five seconds.
        """
        if self.hosts is None:
            raise EngineError(
                f"the API server uses this machine's own hosts; give Options(kubelet_hosts=...) for {name}"
            )
        # In place: the file is mounted where the API server looks, and a new one would not be.
        with self.hosts.open("a") as file:
            file.write(f"{UNDIALLED} {name}\n")

    def install_karpenter_crds(self) -> None:
        """Karpenter's own CRDs, from its Go module, served when this returns."""
        folder = engines.module_folder("github.com/aws/karpenter-provider-aws") / "pkg" / "apis" / "crds"
        for file in sorted(folder.glob("*.yaml")):
            self.api.must_apply(yaml.safe_load(file.read_text()))
        wait_until("Karpenter's kinds are served", lambda: _established(self.api))

    def wait_until_collected(self, resource: str) -> None:
        """Until the garbage collector watches a custom resource (such as `nodeclaims`), so that owners wait for it.

        It looks for new kinds every 30 s. An owner deleted in the foreground before that waits for nobody.
        """
        manager = self.processes["kube-controller-manager"]

        def watched() -> bool:
            log = manager.log.read_text(errors="replace")
            seen = log.find(f"Resource={resource}")
            return seen >= 0 and "synced garbage collector" in log[seen:]

        wait_until(f"the garbage collector watches {resource}", watched, process=manager, timeout_seconds=90)


@contextlib.contextmanager
def control_plane(state: State, processes: Processes, options: Options | None = None) -> Iterator[ControlPlane]:
    """A cluster that is ready: its API answers, its default service account exists. Ended when the block is left.

    Raises EngineError with the last lines of whatever did not come up.
    """
    options = options or Options()
    for name in needed(options):
        engines.path(name)  # one that is missing is told before any is started
    started: dict[str, Process] = {}
    with contextlib.ExitStack() as stack:
        if options.kubelet_hosts:
            egress = state.path("cluster", "egress.json")
            egress.write_text(json.dumps(stack.enter_context(tunnel())))
            flags = (*options.api_server_flags, f"--egress-selector-config-file={egress}")
            options = replace(options, api_server_flags=flags)
        try:
            yield _start(state, processes, options, started)
        finally:
            # The API server before etcd, without which it hangs in its shutdown.
            for process in reversed(started.values()):
                if started["etcd"].alive():
                    process.stop()
                else:
                    process.kill()


def needed(options: Options) -> tuple[str, ...]:
    """The engines of such a cluster."""
    manager = ("kube-controller-manager",) if options.controller_manager else ()
    return ("etcd", "kube-apiserver", *manager, *(("kube-scheduler",) if options.scheduler else ()))


def _start(state: State, processes: Processes, options: Options, started: dict[str, Process]) -> ControlPlane:
    folder = state.path("cluster", "certificates")
    authority = Authority(folder)
    admin = authority.issue("admin", "testbed-admin", "system:masters")
    tokens = token_keys(folder)
    port = options.port or free_port()
    endpoint = f"https://127.0.0.1:{port}"
    api = Api(endpoint, authority.certificate, admin)
    kubeconfig = write_kubeconfig(state.path("cluster", "kubeconfig"), endpoint, authority, admin)

    etcd_port, etcd = free_port(), engines.path("etcd")
    started["etcd"] = processes.start("etcd", etcd_command(etcd, state.path("cluster", "etcd"), etcd_port, free_port()))
    serving = authority.issue("api-server", "kube-apiserver", hosts=("127.0.0.1", "10.0.2.2", "10.96.0.1", "localhost"))
    command = api_server_command(port, etcd_port, authority, serving, tokens, admin, options)
    started["kube-apiserver"] = processes.start("kube-apiserver", _with_hosts(state, command, options.kubelet_hosts))
    wait_until("the API server is ready", lambda: _ready(api, started), process=started["kube-apiserver"])
    if options.controller_manager:
        started["kube-controller-manager"] = processes.start(
            "kube-controller-manager",
            controller_manager_command(kubeconfig, tokens, authority),
        )
        wait_until(
            "the default service account exists",
            lambda: api.find("/api/v1/namespaces/default/serviceaccounts/default"),
            process=started["kube-controller-manager"],
        )
    if options.scheduler:
        started["kube-scheduler"] = processes.start("kube-scheduler", scheduler_command(kubeconfig))
    # Karpenter asks for this service's address and writes it into its nodes' settings.
    api.must_apply(_dns_service())
    hosts = state.path("cluster", "hosts") if options.kubelet_hosts else None
    return ControlPlane(api, endpoint, port, kubeconfig, authority, started, hosts)


def _ready(api: Api, started: dict[str, Process]) -> bool:
    etcd = started["etcd"]
    if not etcd.alive():
        raise EngineError(f"etcd ended with status {etcd.exit_code()}; its last lines:\n{etcd.last_lines()}")
    return api.request("GET", "/readyz", timeout_seconds=5).ok


def etcd_command(program: Path, data: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        str(program),
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        # Nothing here outlives a power failure, and a shared disk makes every write slow.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server_command(
    port: int, etcd_port: int, authority: Authority, serving: Pair, tokens: Pair, admin: Pair, options: Options
) -> list[str]:
    return [
        str(engines.path("kube-apiserver")),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--client-ca-file={authority.certificate}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--service-account-key-file={tokens.certificate}",
        f"--service-account-signing-key-file={tokens.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICES}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        # For logs and exec; a kubelet's serving certificate is its own.
        "--kubelet-preferred-address-types=Hostname",
        f"--kubelet-client-certificate={admin.certificate}",
        f"--kubelet-client-key={admin.key}",
        *options.api_server_flags,
    ]


def controller_manager_command(kubeconfig: Path, tokens: Pair, authority: Authority) -> list[str]:
    return [
        str(engines.path("kube-controller-manager")),
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={tokens.key}",
        f"--root-ca-file={authority.certificate}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        # Nodes bring their own addresses.
        "--controllers=*,-node-ipam-controller",
        # Says which kinds the garbage collector has begun to watch; see `wait_until_collected`.
        "--vmodule=garbagecollector=2",
    ]


def scheduler_command(kubeconfig: Path) -> list[str]:
    return [
        str(engines.path("kube-scheduler")),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
    ]


def write_kubeconfig(path: Path, endpoint: str, authority: Authority, user: Pair) -> Path:
    """A kubeconfig whose certificates lie inside it, so that it can be handed to a Pulumi provider as text."""
    path.write_text(yaml.safe_dump(kubeconfig_for(endpoint, authority, user), sort_keys=False))
    path.chmod(0o600)
    return path


def kubeconfig_for(endpoint: str, authority: Authority, user: Pair) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "testbed",
                "cluster": {"server": endpoint, "certificate-authority-data": _base64(authority.certificate)},
            }
        ],
        "users": [
            {
                "name": "user",
                "user": {
                    "client-certificate-data": _base64(user.certificate),
                    "client-key-data": _base64(user.key),
                },
            }
        ],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
        "current-context": "testbed",
    }


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _with_hosts(state: State, command: list[str], hosts: tuple[str, ...]) -> list[str]:
    """The API server finds a node's kubelet by the node's name: it gets an /etc/hosts of its own, in a mount namespace
    of its own, so that the machine's file stays as it is."""
    if not hosts:
        return command
    file = state.path("cluster", "hosts")
    file.write_text(f"127.0.0.1 localhost\n{UNDIALLED} {' '.join(hosts)}\n")
    script = 'mount --bind "$0" /etc/hosts && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(file), *command]


def _dns_service() -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system"},
        "spec": {"clusterIP": CLUSTER_DNS, "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}]},
    }


def _established(api: Api) -> bool:
    crds = api.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    return all(is_true(crd, "Established") for crd in crds)
