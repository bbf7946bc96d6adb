"""The node's disk image: the Debian tree with our kubelet, containerd, test images and stand-ins on it.

Made once for the same inputs and kept. What differs from boot to boot (user data, keys, names) is not in it: that comes
on a second disk, see `instance`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed import engines
from testbed.engine_error import EngineError
from testbed.engines.toolchain import go
from testbed.engines.trouble import explained
from testbed.engines.where import cache_folder
from testbed.node.base_system import base_system, locked, remove, require_root, require_tool
from testbed.node.base_system import key as base_key
from testbed.node.container_images import EATER, PAUSE, layout, references

HERE = Path(__file__).parent
ENGINES = ("kubelet", "containerd", "containerd-shim-runc-v2", "ctr")
DISK_BYTES = 6 * 2**30
KEPT = 3
_ENABLED = ("instance-metadata", "nodeadm-config", "cloud-final", "nodeadm-run", "systemd-networkd", "ssh")
# Work of their own in the minutes of a test, or waits for what never comes.
_MASKED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
    *("mdmonitor-oneshot.timer", "mdcheck_start.timer", "mdcheck_continue.timer", "mdmonitor.service"),
    *("systemd-networkd-wait-online.service", "e2scrub_reap.service", "systemd-pstore.service"),
    *("serial-getty@ttyS0.service", "getty@tty1.service", "systemd-logind.service"),
    *(f"modprobe@{module}.service" for module in ("configfs", "drm", "efi_pstore", "fuse")),
    *("sys-kernel-config.mount", "sys-fs-fuse-connections.mount", "sys-kernel-debug.mount", "dev-mqueue.mount"),
)
# Run at every daemon-reload, of which our boot has several; none finds anything in this image.
_NO_GENERATORS = ("debug", "getty", "gpt-auto", "hibernate-resume", "rc-local", "run", "ssh", "sysv", "tpm2")
# Rules for devices that the machine does not have. Emulated, each rule costs time for each of some hundred devices.
_NO_RULES = (
    *("60-autosuspend", "60-cdrom_id", "60-drm", "60-evdev", "60-fido-id", "60-infiniband", "60-input-id"),
    *("60-persistent-alsa", "60-persistent-input", "60-persistent-storage-mtd", "60-persistent-storage-tape"),
    *("60-persistent-v4l", "60-sensor", "60-serial", "64-btrfs", "70-camera", "70-joystick", "70-memory"),
    *("70-mouse", "70-power-switch", "70-touchpad", "75-net-description", "75-probe_mtd", "78-sound-card"),
    *("81-net-dhcp", "90-iocost"),
)


@dataclass(frozen=True)
class Image:
    """Files to boot from; never written to. `container_images` is the archive of the images that containerd knows."""

    disk: Path
    kernel: Path
    initrd: Path
    container_images: Path

    def reference(self, name: str) -> str:
        """A test image's name by digest."""
        return references(self.container_images.read_bytes())[name]


def build_image(cache: Path | None = None) -> Image:
    """The image, from the cache or made now: seconds once the Debian tree is there, else about three minutes.

    Raises EngineError when root, a tool, an engine or the package mirror is missing. A build that is cut off leaves
    nothing that a later one would take for an image; two at once wait for each other.
    """
    cache = cache or cache_folder(os.environ, "node")
    binaries = {name: engines.path(name) for name in ENGINES}
    folder = cache / f"image-{_key(binaries)}"
    if not folder.is_dir():
        require_root("making the node image")
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache):
            if not folder.is_dir():
                _make(cache, folder, binaries)
    folder.touch()
    return Image(folder / "disk.img", folder / "vmlinuz", folder / "initrd.img", folder / "images.tar")


def _make(cache: Path, folder: Path, binaries: dict[str, Path]) -> None:
    require_tool("mke2fs", "e2fsprogs")
    for cut_off in cache.glob("partial-*"):  # nobody else is at it: the cache is locked
        remove(cut_off)
    base = base_system(cache)
    with tempfile.TemporaryDirectory(prefix="partial-", dir=cache) as name:
        root, made = Path(name) / "root", Path(name) / "made"
        made.mkdir()
        # Links, not copies: what we change is replaced, never written into, so that the base stays what it is.
        _run("cp", "--archive", "--link", str(base), str(root))
        _fill(root, binaries)
        shutil.copyfile(root / "usr/lib/testbed/images.tar", made / "images.tar")
        for program in ("vmlinuz", "initrd.img"):
            shutil.copyfile(next((root / "boot").glob(f"{program}-*")), made / program)
        with (made / "disk.img").open("wb") as disk:
            disk.truncate(DISK_BYTES)
        _run("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", str(root), str(made / "disk.img"))
        made.rename(folder)
    images = sorted(cache.glob("image-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in images[KEPT:]:
        remove(old)


def _fill(root: Path, binaries: dict[str, Path]) -> None:
    for name, path in binaries.items():
        _put(root / "usr/bin" / name, path.read_bytes(), 0o755)
    for source in sorted((HERE / "rootfs").rglob("*")):
        if source.is_file():
            executable = source.read_bytes().startswith(b"#!")
            place = root / source.relative_to(HERE / "rootfs")
            _put(place, source.read_bytes(), 0o755 if executable else 0o644)
    for source in sorted((HERE / "nodeadm_standin").glob("*.py")):
        _put(root / "usr/lib/testbed/nodeadm_standin" / source.name, source.read_bytes(), 0o644)
    _put(root / "usr/lib/testbed/images.tar", layout(_programs()), 0o644)
    _put(root / "etc/fstab", b"/dev/vda / ext4 defaults,noatime 0 1\n", 0o644)
    _put(root / "etc/resolv.conf", b"nameserver 10.0.2.3\n", 0o644)
    for name in _NO_GENERATORS:
        _link(root / f"etc/systemd/system-generators/systemd-{name}-generator", "/dev/null")
    for name in _NO_RULES:
        _link(root / f"etc/udev/rules.d/{name}.rules", "/dev/null")
    # Compiled in the node once, at build time: emulated, each compilation costs seconds of every boot.
    _run("chroot", str(root), "python3", "-m", "compileall", "-q", "/usr/lib/testbed/nodeadm_standin")
    _run("chroot", str(root), "systemctl", "--quiet", "enable", *_ENABLED)
    _run("chroot", str(root), "systemctl", "--quiet", "mask", *_MASKED)
    for name in ("etc/.updated", "var/.updated"):  # systemd-update-done.service: no first boot after an update
        _put(root / name, b"", 0o644)


def _put(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _programs() -> dict[str, bytes]:
    """The programs of the test images, built now: a second or two, with nothing but Go's own library."""
    toolchain = go()
    with tempfile.TemporaryDirectory() as folder:
        done = toolchain.run(
            "build", "-trimpath", "-ldflags=-s -w", "-o", f"{folder}/", "./eater", "./pause", cwd=HERE / "programs"
        )
        if done.returncode:
            raise explained("the programs of the test images", done.stderr)
        return {name: (Path(folder) / program).read_bytes() for name, program in ((PAUSE, "pause"), (EATER, "eater"))}


def _key(binaries: dict[str, Path]) -> str:
    digest = hashlib.sha256(base_key().encode())
    sources = [HERE / "image.py", HERE / "container_images.py"]
    for part in ("nodeadm_standin", "programs", "rootfs"):
        sources += [path for path in sorted((HERE / part).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    inputs = {**{str(path.relative_to(HERE)): path for path in sources}, **binaries}
    for name, path in inputs.items():
        digest.update(f"\0{name}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip()[-800:]
        raise EngineError(f"node image: `{' '.join(command[:3])} ...` ended with status {done.returncode}: {said}")
