"""The stand-in for nodeadm and cloud-init, outside a machine: parts, merging, kubelet's files."""

import base64
import gzip
import json

import pytest

from nodeconfig import BootSettings, user_data
from testbed.node.karpenter_part import merged_user_data
from testbed.node.nodeadm_standin.archive import NODE_CONFIG, SHELL, Part, parts
from testbed.node.nodeadm_standin.kubelet import InstanceFacts, files, reserved, reserved_millicores
from testbed.node.nodeadm_standin.merge import merged

FACTS = InstanceFacts("i-1", "eu-west-1a", "node.test", "10.0.2.15", eni_max_pods=29, cpus=2, kubelet_port=20001)
SETTINGS = BootSettings(extra_scripts=("#!/bin/sh\necho more\n",))
TAINT = {"effect": "NoSchedule", "key": "dedicated", "value": "odm"}
HEADER = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'


def launch_template() -> bytes:
    return merged_user_data(
        user_data(SETTINGS),
        endpoint="https://127.0.0.1:6443",
        certificate_authority=b"the authority\n",
        kubelet={"maxPods": 8, "evictionHard": {"memory.available": "256Mi"}},
        taints=[TAINT],
        labels={"b": "2", "a": "1"},
    )


def test_parts_come_out_in_order_with_their_exact_text() -> None:
    found = parts(launch_template())
    assert [part.media_type for part in found] == [NODE_CONFIG, SHELL, SHELL, NODE_CONFIG]
    assert found[2].body == "#!/bin/sh\necho more\n"
    assert f"Content-Type: application/node.eks.aws\n\n{found[0].body}--//\n" in user_data(SETTINGS)
    assert f'charset="us-ascii"\n\n{found[1].body}--//\n' in user_data(SETTINGS)
    assert found[3].body.startswith("# Karpenter Generated NodeConfig\n")


def test_user_data_is_read_as_the_metadata_service_or_the_launch_template_holds_it() -> None:
    expected = parts(launch_template())
    packed = gzip.compress(launch_template())
    encodings = (base64.b64encode(launch_template()), packed, base64.b64encode(packed))
    assert [parts(data) for data in encodings] == [expected] * 3


def test_text_that_is_no_archive_is_a_script_or_a_node_config() -> None:
    assert parts(b"#!/bin/sh\ntrue\n") == [Part(SHELL, "#!/bin/sh\ntrue\n")]
    assert parts(b"kind: NodeConfig\n") == [Part(NODE_CONFIG, "kind: NodeConfig\n")]


def test_later_node_configs_win_key_by_key_and_flags_are_appended() -> None:
    texts = [
        """{apiVersion: node.eks.aws/v1alpha1, kind: NodeConfig, spec: {
            kubelet: {config: {failSwapOn: false, memorySwap: {swapBehavior: LimitedSwap}, maxPods: 1,
                               systemReserved: {memory: 1Gi, cpu: 1}}, flags: [--v=4]}}}""",
        """{apiVersion: node.eks.aws/v1alpha1, kind: NodeConfig, spec: {
            cluster: {name: testbed}, instance: {localStorage: {strategy: RAID0}},
            kubelet: {config: {maxPods: 58, registerWithTaints: [{key: a}]}, flags: [--node-labels=a=b]}}}""",
        """{apiVersion: node.eks.aws/v1alpha1, kind: NodeConfig, spec: {
            kubelet: {config: {systemReserved: {memory: 256Mi, ephemeral-storage: 5},
                               registerWithTaints: [{key: b}]}}}}""",
    ]
    assert merged(texts)["spec"] == {
        "cluster": {"name": "testbed"},
        "instance": {"localStorage": {"strategy": "RAID0"}},
        "kubelet": {
            "config": {
                "failSwapOn": False,
                "memorySwap": {"swapBehavior": "LimitedSwap"},
                "maxPods": 58,
                "systemReserved": {"memory": "256Mi", "cpu": 1, "ephemeral-storage": 5},
                "registerWithTaints": [{"key": "b"}],
            },
            "flags": ["--v=4", "--node-labels=a=b"],
        },
    }


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "user data: could not find a NodeConfig"),
        (["- a\n"], "user data: a NodeConfig part is no YAML map: '- a\\n'"),
        (["kind: Pod\n"], "user data: a part is no node.eks.aws/v1alpha1 NodeConfig: 'kind: Pod\\n'"),
    ],
)
def test_what_is_no_node_config_ends_it(texts: list[str], said: str) -> None:
    with pytest.raises(ValueError) as error:
        merged(texts)
    assert str(error.value) == said


def test_kubelet_gets_nodeadms_defaults_the_users_settings_and_the_clusters_certificate() -> None:
    node_config = merged(part.body for part in parts(launch_template()) if part.media_type == NODE_CONFIG)
    written = files(node_config, FACTS)
    assert written["/etc/eks/kubelet/environment"] == (
        "NODEADM_KUBELET_ARGS=--config=/etc/kubernetes/kubelet/config.json --hostname-override=node.test "
        "--kubeconfig=/var/lib/kubelet/kubeconfig --node-ip=10.0.2.15 "
        '--config-dir=/etc/kubernetes/kubelet/config.json.d --node-labels="a=1,b=2"\n'
        "KUBELET_CONFIG_DROPIN_DIR_ALPHA=on\n"
    )
    assert written["/etc/kubernetes/pki/ca.crt"] == "the authority\n"
    assert json.loads(written["/etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf"]) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "singleProcessOOMKill": False,
        "clusterDNS": ["10.96.0.10"],
        "maxPods": 8,
        "evictionHard": {"memory.available": "256Mi"},
        "registerWithTaints": [TAINT],
    }
    defaults = json.loads(written["/etc/kubernetes/kubelet/config.json"])
    # Facts/node.md 4.4 as nodeadm 2026-07 has them; kubelet itself judges the rest when a machine boots.
    assert {key: defaults[key] for key in ("protectKernelDefaults", "cgroupDriver", "evictionHard", "providerID")} == {
        "protectKernelDefaults": True,
        "cgroupDriver": "systemd",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
        "providerID": "aws:///eu-west-1a/i-1",
    }
    assert "failSwapOn" not in defaults


def test_the_reserve_follows_the_network_interfaces_not_max_pods() -> None:
    assert reserved(FACTS) == {"cpu": "70m", "ephemeral-storage": "1Gi", "memory": "574Mi"}
    assert [reserved_millicores(cpus) for cpus in (1, 2, 4, 8, 96)] == [60, 70, 80, 90, 310]


def test_karpenters_part_stands_last_and_ours_stay_as_they_are() -> None:
    text = launch_template().decode()
    ours = user_data(SETTINGS)
    assert text.startswith(ours.rstrip().removesuffix("--//--"))
    assert text.endswith("\n--//--\n")
    with pytest.raises(ValueError, match="not an archive with the boundary //"):
        merged_user_data("#!/bin/sh\n", endpoint="", certificate_authority=b"", kubelet={})
