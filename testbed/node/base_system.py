"""The Debian tree that every node image starts from, made by debootstrap once and kept. Two minutes and a package
mirror; nothing of ours is in it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.engine_error import EngineError

SUITE = "trixie"
MIRROR = "FLOODPLAIN_DEBIAN_MIRROR"
PACKAGES = (
    *("linux-image-cloud-amd64", "initramfs-tools", "lz4", "kmod"),
    *("systemd", "systemd-sysv", "udev", "dbus", "procps", "util-linux", "mount"),
    *("mdadm", "xfsprogs", "e2fsprogs"),
    *("runc", "containernetworking-plugins", "iptables", "iproute2"),
    *("openssh-server", "ca-certificates", "python3", "python3-yaml"),
)
# Root's; a person's may lack /usr/sbin.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a node never reads; half of the tree.
_DROPPED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt/archives", "var/lib/apt/lists")
# The kernel loads what it needs to find the root disk, and the other modules from there.
_INITRAMFS = {
    "etc/initramfs-tools/conf.d/testbed": "MODULES=list\nCOMPRESS=lz4\n",
    "etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\n",
}


def key() -> str:
    """Changes with whatever the tree is made from."""
    text = "\0".join((SUITE, *sorted(PACKAGES), *_DROPPED, *_INITRAMFS.values()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def base_system(cache: Path) -> Path:
    """The tree, from the cache or made now. Whoever calls holds the cache's lock.

    Raises EngineError when root or a tool is missing, or when the mirror cannot be reached.
    """
    folder = cache / f"base-{key()}"
    if folder.is_dir():
        return folder
    require_root("making the node image")
    require_tool("debootstrap", "debootstrap")
    work = cache / f"{folder.name}.partial"
    remove(work)
    mirror = os.environ.get(MIRROR, "")  # debootstrap knows Debian's own
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(work)]
    _run([*command, *filter(None, [mirror])], cache / "debootstrap.log", mirror)
    for path, text in _INITRAMFS.items():
        (work / path).write_text(text)
    _run(["chroot", str(work), "update-initramfs", "-u"], cache / "initramfs.log", mirror)
    for path in _DROPPED:
        remove(work / path)
    (work / "var/cache/apt/archives/partial").mkdir(parents=True)
    work.rename(folder)
    for other in cache.glob("base-*"):
        if other != folder:
            remove(other)
    return folder


def _run(command: list[str], log: Path, mirror: str) -> None:
    # A person's TMPDIR need not exist inside the tree, and their language is not installed there.
    environment = {"PATH": _PATH, "LC_ALL": "C.UTF-8"}
    environment |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    with log.open("wb") as output:
        status = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        ).returncode
    if status:
        lines = "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-10:])
        raise EngineError(
            f"node image: {command[0]} ended with status {status}; its last lines:\n{lines}\n"
            f"If packages could not be fetched from {mirror or 'Debian'}, set {MIRROR} to a mirror of Debian that "
            "can be reached."
        )


def require_root(what: str) -> None:
    if os.geteuid() != 0:
        raise EngineError(f"{what}: only root can do that (it makes a file tree with its owners); run it as root")


def require_tool(program: str, package: str) -> None:
    """Raises EngineError when the program is not installed; `package` is Debian's name for it."""
    if shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_PATH}") is None:
        raise EngineError(f"node machine: there is no program {program}; install it (`apt-get install {package}`)")


def remove(path: Path) -> None:
    """A file or a tree, if it is there. Trees of root's own making only: nothing may be mounted below it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Nobody else makes anything in this cache meanwhile."""
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
