"""How the engines of a control plane are called, and the kubeconfig that leads to them."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
import yaml

from testbed.cluster.api import Api
from testbed.cluster.certificates import Authority, Pair, token_keys
from testbed.cluster.control_plane import (
    ControlPlane,
    Options,
    api_server_command,
    controller_manager_command,
    etcd_command,
    kubeconfig_for,
    needed,
    scheduler_command,
    write_kubeconfig,
)
from testbed.engine_error import EngineError

ENDPOINT = "https://127.0.0.1:6443"
ENGINES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ENGINES:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("FLOODPLAIN_ENGINES", str(tmp_path))
    return tmp_path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


@pytest.fixture
def admin(authority: Authority) -> Pair:
    return authority.issue("admin", "testbed-admin", "system:masters")


@pytest.fixture
def commands(binaries: Path, authority: Authority, admin: Pair) -> dict[str, list[str]]:
    tokens = token_keys(binaries)
    options = Options(api_server_flags=("--audit-log-path=/a",))
    return {
        "etcd": etcd_command(binaries / "etcd", Path("/data"), 2379, 2380),
        "kube-apiserver": api_server_command(6443, 2379, authority, admin, tokens, admin, options),
        "kube-controller-manager": controller_manager_command(Path("/kubeconfig"), tokens, authority),
        "kube-scheduler": scheduler_command(Path("/kubeconfig")),
    }


def test_every_engine_is_the_built_one(commands: dict[str, list[str]], binaries: Path) -> None:
    assert {name: command[0] for name, command in commands.items()} == {name: str(binaries / name) for name in ENGINES}


def test_every_engine_listens_on_loopback_only(commands: dict[str, list[str]]) -> None:
    """Whoever reaches etcd rules the cluster, and a testbed runs with a person's rights."""
    listening = {
        name: [flag for flag in command if re.match(r"--(bind-address|listen-\w+-urls)=", flag)]
        for name, command in commands.items()
    }
    assert listening == {
        "etcd": ["--listen-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380"],
        "kube-apiserver": ["--bind-address=127.0.0.1"],
        "kube-controller-manager": ["--bind-address=127.0.0.1"],
        "kube-scheduler": ["--bind-address=127.0.0.1"],
    }


def test_no_flag_is_given_twice_and_those_of_the_options_come_last(commands: dict[str, list[str]]) -> None:
    for command in commands.values():
        flags = [flag.split("=")[0] for flag in command[1:]]
        assert sorted(flags) == sorted(set(flags))
    assert commands["kube-apiserver"][-1] == "--audit-log-path=/a"


def test_managers_never_share_a_port(commands: dict[str, list[str]]) -> None:
    ports = [flag for name in ENGINES[2:] for flag in commands[name] if flag.startswith("--secure-port=")]
    assert len(set(ports)) == 2


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (Options(), ENGINES),
        (Options(scheduler=False), ENGINES[:3]),
        (Options(controller_manager=False), ("etcd", "kube-apiserver", "kube-scheduler")),
        (Options(scheduler=False, controller_manager=False), ENGINES[:2]),
    ],
)
def test_the_engines_of_a_cluster_follow_from_its_options(options: Options, names: tuple[str, ...]) -> None:
    assert needed(options) == names


def test_a_kubeconfig_holds_its_certificates(authority: Authority, admin: Pair, tmp_path: Path) -> None:
    """A Pulumi provider takes it as text, on whatever machine it runs."""

    def text(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    config = kubeconfig_for(ENDPOINT, authority, admin)
    assert config == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "testbed",
                "cluster": {"server": ENDPOINT, "certificate-authority-data": text(authority.certificate)},
            }
        ],
        "users": [
            {
                "name": "user",
                "user": {"client-certificate-data": text(admin.certificate), "client-key-data": text(admin.key)},
            }
        ],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
        "current-context": "testbed",
    }
    path = write_kubeconfig(tmp_path / "kubeconfig", ENDPOINT, authority, admin)
    assert yaml.safe_load(path.read_text()) == config
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_kubelet_is_added_to_the_server_s_hosts_in_place(authority: Authority, admin: Pair, tmp_path: Path) -> None:
    api = Api(ENDPOINT, authority.certificate, admin)
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n198.18.0.1 n1\n")
    before = hosts.stat().st_ino
    ControlPlane(api, ENDPOINT, 6443, tmp_path, authority, {}, hosts).add_kubelet_host("n2")
    assert hosts.read_text() == "127.0.0.1 localhost\n198.18.0.1 n1\n198.18.0.1 n2\n"
    assert hosts.stat().st_ino == before
    with pytest.raises(EngineError) as refusal:
        ControlPlane(api, ENDPOINT, 6443, tmp_path, authority).add_kubelet_host("n2")
    assert str(refusal.value) == (
        "the API server uses this machine's own hosts; give Options(kubelet_hosts=...) for n2"
    )
