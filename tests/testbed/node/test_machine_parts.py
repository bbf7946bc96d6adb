"""What a machine is made of, without running one: container images, the metadata disk, QEMU's command."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from testbed.engine_error import EngineError
from testbed.node import base_system
from testbed.node.container_images import layout, references
from testbed.node.image import Image
from testbed.node.instance import Instance, metadata_disk
from testbed.node.machine import ssh_command
from testbed.node.qemu import Hardware, command


def unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]


def test_a_container_image_is_an_oci_layout_whose_digests_hold() -> None:
    archive = layout({"a.test/one:1": b"program one", "a.test/two:latest": b"program two"})
    files = unpacked(archive)
    for path, content in files.items():
        if path.startswith("blobs/sha256/"):
            assert path == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    index = json.loads(files["index.json"])
    names = [each["annotations"]["io.containerd.image.name"] for each in index["manifests"]]
    digests = [each["digest"] for each in index["manifests"]]
    one, two = f"a.test/one@{digests[0]}", f"a.test/two@{digests[2]}"
    assert names == ["a.test/one:1", one, "a.test/two:latest", two]
    assert references(archive) == {"a.test/one:1": one, "a.test/two:latest": two}
    manifest = json.loads(files[f"blobs/{index['manifests'][2]['digest'].replace(':', '/')}"])
    config = json.loads(files[f"blobs/{manifest['config']['digest'].replace(':', '/')}"])
    layer = files[f"blobs/{manifest['layers'][0]['digest'].replace(':', '/')}"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    assert (config["config"]["Entrypoint"], unpacked(layer)) == (["/two"], {"two": b"program two"})


def test_the_same_programs_give_the_same_archive() -> None:
    assert layout({"a:1": b"x"}) == layout({"a:1": b"x"})


def test_the_metadata_disk_holds_the_bytes_of_the_user_data() -> None:
    user_data = bytes(range(256))
    disk = metadata_disk(
        Instance(), user_data=user_data, kubelet_port=20001, certificate="C", key="K", authorized_key="A"
    )
    assert unpacked(disk) == {
        "user-data": user_data,
        "instance.json": (
            b'{"instance_id": "i-0f100d91a10000001", "zone": "eu-west-1a", '
            b'"node_name": "ip-10-0-2-15.eu-west-1.compute.internal", "node_ip": "10.0.2.15", '
            b'"eni_max_pods": 8, "kubelet_port": 20001}'
        ),
        "hostname": b"ip-10-0-2-15.eu-west-1.compute.internal\n",
        "kubelet.crt": b"C",
        "kubelet.key": b"K",
        "authorized_keys": b"A",
    }


IMAGE = Image(Path("/i/disk.img"), Path("/i/vmlinuz"), Path("/i/initrd.img"), Path("/i/images.tar"))


def hardware(**changes: object) -> Hardware:
    values: dict[str, object] = {"disks": [Path("/s/0"), Path("/s/1")], "allow_reboot": False, **changes}
    return Hardware(2, 4096, Path("/s/meta"), ssh_port=20001, kubelet_port=20002, **values)  # type: ignore[arg-type]


def test_a_machine_listens_on_loopback_only() -> None:
    text = " ".join(command(IMAGE, hardware(), "tcg"))
    assert text.count("hostfwd=tcp:127.0.0.1:") == text.count("hostfwd=") == 2
    assert "-vnc" not in text


def test_the_image_is_never_written_to_and_the_instance_store_is() -> None:
    drives = [word for word in command(IMAGE, hardware(), "tcg") if "file=" in word]
    assert drives == [
        "if=virtio,file=/i/disk.img,format=raw,snapshot=on,cache=unsafe",
        "if=virtio,file=/s/meta,format=raw,readonly=on",
        "if=none,id=store0,file=/s/0,format=raw,cache=unsafe,discard=unmap",
        "if=none,id=store1,file=/s/1,format=raw,cache=unsafe,discard=unmap",
    ]


def test_a_disk_of_packages_comes_after_the_other_two_and_is_only_read() -> None:
    words = command(IMAGE, hardware(packages=Path("/p/disk.img"), disks=[]), "tcg")
    assert [word for word in words if "file=" in word][2:] == ["if=virtio,file=/p/disk.img,format=raw,readonly=on"]


def test_a_comma_in_a_folders_name_does_not_end_an_option_of_qemu() -> None:
    words = command(IMAGE, hardware(disks=[Path("/s,snapshot=on/0")]), "tcg")
    drive = next(word for word in words if word.startswith("if=none,id=store0"))
    assert drive == "if=none,id=store0,file=/s,,snapshot=on/0,format=raw,cache=unsafe,discard=unmap"


@pytest.mark.parametrize(("folder", "shared"), [("/s/machine", True), (f"/s/{'long/' * 20}machine", False)])
def test_a_connection_is_shared_where_the_path_of_its_socket_is_short_enough(folder: str, shared: bool) -> None:
    words = ssh_command(Path(folder), Path("/s/key"), 20001)
    assert (f"ControlPath={folder}/ssh" in words, "ControlMaster=auto" in words) == (shared, shared)


@pytest.mark.parametrize(
    ("allowed", "accelerator", "expected"),
    [(True, "kvm", (False, "kvm", "host")), (False, "tcg", (True, "tcg", "max"))],
)
def test_an_unexpected_reboot_ends_the_machine(
    allowed: bool, accelerator: str, expected: tuple[bool, str, str]
) -> None:
    words = command(IMAGE, hardware(allow_reboot=allowed), accelerator)
    found = ("-no-reboot" in words, words[words.index("-accel") + 1], words[words.index("-cpu") + 1])
    assert (found[0], found[1].split(",")[0], found[2]) == expected


def test_serial_numbers_are_what_the_devices_links_are_made_of() -> None:
    devices = [word for word in command(IMAGE, hardware(), "tcg") if word.startswith("nvme,")]
    assert devices == [
        "nvme,drive=store0,serial=AWS00000000000000000",
        "nvme,drive=store1,serial=AWS00000000000000001",
    ]


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(EngineError) as error:
        base_system.require_tool("no-such-qemu", "qemu-system-x86")
    expected = "node machine: there is no program no-such-qemu; install it (`apt-get install qemu-system-x86`)"
    assert str(error.value) == expected


def test_only_root_makes_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="only root can do that"):
        base_system.require_root("making the node image")


def test_an_unreachable_mirror_leaves_no_tree_and_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("FLOODPLAIN_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")
    debootstrap = tmp_path / "bin" / "debootstrap"
    debootstrap.parent.mkdir()
    debootstrap.write_text('#!/bin/sh\nmkdir "$4"; echo "E: cannot reach $5"; exit 1\n')
    debootstrap.chmod(0o755)
    monkeypatch.setattr(base_system, "_PATH", f"{debootstrap.parent}:{os.environ['PATH']}")
    with pytest.raises(EngineError) as error:
        base_system.base_system(tmp_path)
    assert str(error.value) == (
        "node image: debootstrap ended with status 1; its last lines:\n"
        "    E: cannot reach http://127.0.0.1:9/debian\n"
        "If packages could not be fetched from http://127.0.0.1:9/debian, set FLOODPLAIN_DEBIAN_MIRROR to a mirror of "
        "Debian that can be reached."
    )
    assert [path.suffix for path in tmp_path.glob("base-*")] == [".partial"]
