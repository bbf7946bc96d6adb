"""From a deployed stack to a running job, link by link: each waits until the real thing has done its part.

What a link found is returned; whether it is right is for tests to say.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from components.sizing_installation import SizingInstallation
from components.sizing_names import SIZING_LABEL
from components.sizing_webhook import webhook_configuration
from floodplain import catalogue
from floodplain.catalogue.instance_type import InstanceType
from testbed.admission import Admission, start_admission
from testbed.bed import CHECKOUT, STACK, Bed
from testbed.cluster.api import is_true
from testbed.engine_error import EngineError
from testbed.node.container_images import EATER, PAUSE
from testbed.node.image import Image
from testbed.node.instance import Instance
from testbed.node.machine import Machine, boot
from testbed.processes import wait_until

POOL = "swap"
POD = "peak"
PODS = "/api/v1/namespaces/default/pods"
NAMESPACE = "/api/v1/namespaces/default"
IMAGES, MEGAPIXELS = 5, 3
"""So few and small that the machine's emulated memory is filled within a minute."""
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"


def pod(peak_mib: int, plateau_mib: int = 0) -> dict[str, Any]:
    """What a user writes: how many images there are and how large, and nothing of memory, taints and selectors.

    The job fills `peak_mib`, whatever was predicted, and keeps `plateau_mib` of it.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": POD,
            "namespace": "default",
            "annotations": {
                "floodplain.dev/engine": "odm",
                "floodplain.dev/images": str(IMAGES),
                "floodplain.dev/megapixels": str(MEGAPIXELS),
            },
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "job",
                    "image": EATER,
                    "args": [f"-mib={peak_mib}", f"-plateau={plateau_mib}", "-hold=5s"],
                }
            ],
        },
    }


def admit(bed: Bed) -> Admission:
    """Sizing's admission with the pools that the stack has put out, called for pods of the default namespace."""
    pools = bed.project.outputs()["pools"]
    admission = start_admission(bed.state, bed.processes, bed.cluster, pools.encode())
    # The process runs from the checkout, so that no image is pulled.
    plan = SizingInstallation(image=f"floodplain@sha256:{'0' * 64}", documents=pools)
    bed.cluster.api.must_apply(admission.called_by_address(webhook_configuration(plan)))
    bed.cluster.api.patch(NAMESPACE, {"metadata": {"labels": {SIZING_LABEL: "enforce"}}})
    return admission


@dataclass(frozen=True)
class Launched:
    """What Karpenter launched: the claim, the instance as EC2 describes it, and the bytes it would boot with."""

    claim: dict[str, Any]
    instance: dict[str, Any]
    user_data: bytes
    kind: InstanceType

    @property
    def digest(self) -> str:
        """SHA-256 of the user data."""
        return hashlib.sha256(self.user_data).hexdigest()


def ready_pool(bed: Bed) -> None:
    """Karpenter has looked at both objects and takes them."""
    paths = ("/apis/karpenter.k8s.aws/v1/ec2nodeclasses/swap", "/apis/karpenter.sh/v1/nodepools/swap")
    for path in paths:
        wait_until(f"{path} is Ready", partial(_is_ready, bed, path), process=bed.karpenter.process, timeout_seconds=90)


def _is_ready(bed: Bed, path: str) -> bool:
    return is_true(bed.cluster.api.get(path), "Ready")


def launched(bed: Bed) -> Launched:
    """The claim that Karpenter makes for the pending pod, once it has an instance."""

    def claims() -> list[dict[str, Any]]:
        return [one for one in bed.cluster.api.items(CLAIMS) if one.get("status", {}).get("providerID")]

    (found,) = wait_until(
        "Karpenter has launched an instance", claims, process=bed.karpenter.process, timeout_seconds=150
    )
    identity = found["status"]["providerID"].rpartition("/")[2]
    instance = bed.aws.instance(identity)
    (kind,) = (one for one in catalogue.load() if one.name == instance["InstanceType"])
    return Launched(found, instance, bed.aws.launch_template_of(identity).user_data, kind)


def boot_it(bed: Bed, image: Image, what: Launched) -> Machine:
    """A machine of the instance's type: its memory, its disks, its names, the launch template's bytes."""
    name = what.instance["PrivateDnsName"]
    bed.cluster.add_kubelet_host(name)
    instance = Instance(
        instance_id=what.instance["InstanceId"],
        zone=what.instance["Placement"]["AvailabilityZone"],
        node_name=name,
        eni_max_pods=what.kind.pods,
    )
    return boot(
        bed.state,
        bed.processes,
        image,
        what.user_data,
        control_plane=bed.cluster,
        memory_mib=what.kind.memory_mib,
        disks=(what.kind.nvme_bytes,),
        instance=instance,
        name="machine",
    )


def phase(bed: Bed) -> str:
    """The job's: Pending, Running, Succeeded or Failed."""
    return str(bed.cluster.api.get(f"{PODS}/{POD}")["status"]["phase"])


def settings(image: Image) -> dict[str, Any]:
    """For `open_bed`: the stack's pool, with an image for the headroom DaemonSet that machines of `image` have."""
    return {"floodplain:pools": [{**pool_settings(), "headroomImage": image.reference(PAUSE)}]}


def pool_settings() -> dict[str, Any]:
    """The pool of the testbed's stack file."""
    content = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{STACK}.yaml").read_text())
    (pool,) = content["config"]["floodplain:pools"]
    return dict(pool)


def meminfo(machine: Machine) -> dict[str, int]:
    """/proc/meminfo of the machine, in bytes."""
    lines = (line.split() for line in machine.run("cat /proc/meminfo").splitlines())
    return {fields[0].removesuffix(":"): int(fields[1]) * 1024 for fields in lines if len(fields) == 3}


def watch_cgroup(bed: Bed, machine: Machine, timeout_seconds: float = 600) -> dict[str, int]:
    """Limits and highest use of the job's container, in bytes, read again and again until the pod has ended."""
    folder = ""
    seen: dict[str, int] = {}
    deadline = time.monotonic() + timeout_seconds
    while (now := phase(bed)) not in ("Succeeded", "Failed"):
        if time.monotonic() > deadline:
            raise EngineError(f"pod {POD} is still {now} after {timeout_seconds:.0f} s")
        folder = folder or _cgroup(bed)
        if folder:
            seen |= _figures(machine, folder)
        time.sleep(0.5)
    return seen


FIGURES = ("memory.max", "memory.high", "memory.swap.max", "memory.swap.peak", "memory.peak")


def _figures(machine: Machine, folder: str) -> dict[str, int]:
    # The cgroup goes with its container; what was read before stands then.
    files = " ".join(FIGURES)
    said = machine.run(f"cd {folder} 2>/dev/null && for f in {files}; do echo $f $(cat $f); done", check=False)
    pairs = (line.split() for line in said.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _cgroup(bed: Bed) -> str:
    """Folder of the container's cgroup by systemd's driver; empty while there is no container."""
    found = bed.cluster.api.get(f"{PODS}/{POD}")
    statuses = found["status"].get("containerStatuses") or [{}]
    container = statuses[0].get("containerID", "").partition("//")[2]
    if not container:
        return ""
    slice_ = f"kubepods-burstable-pod{found['metadata']['uid'].replace('-', '_')}.slice"
    return f"/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/{slice_}/cri-containerd-{container}.scope"
