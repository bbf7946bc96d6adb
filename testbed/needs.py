"""Does this machine have what a tier of tests needs? Asked before minutes are spent; all that lacks is told at once."""

from collections.abc import Callable
from dataclasses import dataclass

from testbed.engine_error import EngineError
from testbed.engines.table import Tier

# Where Debian keeps what only root is expected to run.
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Tool:
    """A program and the Debian package that brings it."""

    program: str
    package: str
    why: str


_CLUSTER = (Tool("setpriv", "util-linux", "ends engines together with whoever started them"),)
_NODE = (
    Tool("qemu-system-x86_64", "qemu-system-x86", "runs node machines"),
    Tool("debootstrap", "debootstrap", "makes their file system"),
    Tool("mke2fs", "e2fsprogs", "puts it on a disk image"),
    Tool("ssh", "openssh-client", "runs commands in them"),
    Tool("ssh-keygen", "openssh-client", "makes the key for that"),
)
TOOLS = {Tier.CLUSTER: _CLUSTER, Tier.NODE: _CLUSTER + _NODE, Tier.CHAIN: _CLUSTER + _NODE}


def require(tier: Tier, *, which: Callable[[str], str | None], root: bool) -> None:
    """Raise EngineError with everything that the tests of `tier` lack here, and the one command that gets it."""
    absent = [tool for tool in TOOLS[tier] if which(tool.program) is None]
    lines = [f"  {tool.program} {tool.why}" for tool in absent]
    remedies = []
    if absent:
        remedies.append(f"apt-get install {' '.join(sorted({tool.package for tool in absent}))}")
    if tier is not Tier.CLUSTER and not root:
        lines.append("  root makes the file tree of the node image")
        remedies.append("run it as root")
    if lines:
        raise EngineError("\n".join([f"the {tier} tests need what is not here:", *lines, "; ".join(remedies)]))
