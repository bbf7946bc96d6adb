"""Starts an image's root file system once, read-only and not as root, and asks both services. Standard library only.

Stands for a container runtime where there is none: a mount namespace, a read-only bind of the root, chroot to the
image's user. What it cannot show is a runtime's own: capabilities, seccomp, cgroups.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 60
MOST_MIB = 150
"""Resident memory of one process after its first answers."""
FOLDER = "etc/floodplain"
# A read-only root, /proc as every runtime gives it, and one folder as a ConfigMap would be mounted. No /tmp.
_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$2" "$1/etc/floodplain"
mount --rbind /proc "$1/proc"
mount -o remount,bind,ro "$1"
shift 2
exec "$@"
"""
_MATERIAL = """
import datetime, json
from floodplain.pools import dump
from floodplain.service.authority import Step, carry_out
from floodplain.sizing.default_pool import default_pool
made = carry_out(Step.NEW, None, ("localhost", "127.0.0.1"), datetime.datetime.now(datetime.UTC))
print(json.dumps({"pools.json": dump([default_pool()]).decode(), "tls.crt": made.certificate.decode(),
                  "tls.key": made.key.decode(), "ca.crt": made.bundle.decode()}))
"""
_BUILDERS = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|ld|as|make|clang|rustc|cargo|go|pip[0-9.]*)")


class CheckError(Exception):
    """What is wrong with the image."""


class Image:
    """A root file system and the settings that the image has for it."""

    def __init__(self, root: Path, config: dict[str, Any]) -> None:
        self.root, self.config = root, config

    def command(self, files: Path, *arguments: str) -> list[str]:
        """How a runtime would start it with `arguments`."""
        environment = self.config["Env"]
        user = self.config["User"]
        chroot = ["chroot", f"--userspec={user}", "--groups=", str(self.root), "/usr/bin/env", "-i", *environment]
        unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _SCRIPT, "sh"]
        return [*unshare, str(self.root), str(files), *chroot, *arguments]

    @contextmanager
    def running(self, files: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
        """The process and its log line `listening`. It has to end with 0 when it is asked to."""
        command = self.command(files, *self.config["Entrypoint"], *arguments)
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            yield process, _listening(process)
            process.send_signal(signal.SIGTERM)
            status = process.wait(PATIENCE_SECONDS)
            if status != 0:
                raise CheckError(f"{' '.join(arguments)} ended with {status} when it was asked to end")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _listening(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("event") == "listening":
            return told
    raise CheckError(f"ended with {process.wait()} before it listened:\n{''.join(seen[-20:])}")


def asked(url: str, body: Any = None, authority: str | None = None) -> Any:
    """The answer, as JSON where it is."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        *([urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=authority))] if authority else []),
    )
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with opener.open(request, timeout=PATIENCE_SECONDS) as answer:
        text = answer.read().decode()
    return json.loads(text) if "json" in answer.headers["content-type"] else text


def resident_mib(process: subprocess.Popen[str]) -> int:
    """VmRSS; the process has become the service itself by exec."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def check_settings(config: dict[str, Any]) -> None:
    if config.get("User") != "65532:65532":
        raise CheckError(f"runs as {config.get('User')!r}; Kubernetes wants a number that is not 0")
    if config.get("Entrypoint") != ["floodplain"] or config.get("Cmd") != ["serve", "sizing"]:
        raise CheckError(f"starts {config.get('Entrypoint')} {config.get('Cmd')}")
    if "Volumes" in config:
        raise CheckError("has volumes, which a runtime mounts writable")


def check_files(root: Path) -> None:
    folders = [root / "opt/floodplain/bin", *(root / one for one in ("usr/bin", "usr/sbin", "usr/local/bin"))]
    found = sorted(
        path.name
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if _BUILDERS.fullmatch(path.name) and folder.parts[-2:] != ("local", "bin")
    )
    if found:
        raise CheckError(f"has programs that build or install: {', '.join(found)}")
    packages = root / "opt/floodplain/lib"
    sources = sum(1 for _ in packages.rglob("*.py"))
    compiled = sum(1 for _ in packages.rglob("*.pyc"))
    if not sources or compiled < sources * 0.9:
        raise CheckError(f"{compiled} of {sources} modules are compiled: with a read-only root each start compiles")
    writable = [path for path in (root / "opt").rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]
    if writable:
        raise CheckError(f"others may write {writable[0].relative_to(root)}")


def check_sizing(image: Image, files: Path) -> str:
    begun = time.monotonic()
    with image.running(files, *image.config["Cmd"], "--port", "0", "--pools", f"/{FOLDER}/pools.json") as (
        process,
        told,
    ):
        started = time.monotonic() - begun
        if asked(f"{told['url']}/healthz") != "ok\n":
            raise CheckError("/healthz does not say ok")
        plan = asked(f"{told['url']}/v1/plans", {"images": 500})
        if not plan["feasible"] or plan["pool"] != "example":
            raise CheckError(f"a plan for 500 images: {plan}")
        page = asked(f"{told['url']}/")
        if "<form" not in page:
            raise CheckError("the page has no form")
        memory = resident_mib(process)
    if memory > MOST_MIB:
        raise CheckError(f"serve sizing holds {memory} MiB")
    return f"serve sizing: answers after {started:.1f} s, holds {memory} MiB"


def check_admission(image: Image, files: Path) -> str:
    begun = time.monotonic()
    options = ("--port", "0", "--health-port", "0", "--pools", f"/{FOLDER}/pools.json")
    pair = ("--certificate", f"/{FOLDER}/tls.crt", "--key", f"/{FOLDER}/tls.key")
    annotations = {"floodplain.dev/engine": "odm", "floodplain.dev/images": "500"}
    pod = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "odm", "image": "odm"}]}}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    request = {"uid": "1", "kind": kind, "operation": "CREATE", "object": pod}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    with image.running(files, "serve", "admission", *options, *pair) as (process, told):
        started = time.monotonic() - begun
        if not asked(f"{told['health']}/readyz")["ready"]:
            raise CheckError("admission is not ready")
        answer = asked(f"{told['url']}/enforce", review, (files / "ca.crt").read_text())["response"]
        if not answer["allowed"] or "patch" not in answer:
            raise CheckError(f"admission of a pod with 500 images: {answer}")
        memory = resident_mib(process)
    if memory > MOST_MIB:
        raise CheckError(f"serve admission holds {memory} MiB")
    return f"serve admission: answers after {started:.1f} s, holds {memory} MiB"


def check_read_only(image: Image, files: Path) -> None:
    write = "import pathlib; pathlib.Path('/opt/floodplain/x').write_text('x')"
    done = subprocess.run(
        image.command(files, "/opt/floodplain/bin/python", "-c", write), capture_output=True, text=True
    )
    if "Read-only file system" not in done.stderr and "Permission denied" not in done.stderr:
        raise CheckError(f"the root file system can be written: {done.stderr[-300:]}")


def size_mib(folder: Path) -> int:
    """What du says, on one file system."""
    done = subprocess.run(["du", "-sxm", str(folder)], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0])


def check(image: Image) -> Iterator[str]:
    """One line for each thing that was seen to be right. Raises CheckError."""
    check_settings(image.config)
    check_files(image.root)
    yield f"size: {size_mib(image.root)} MiB, of which {size_mib(image.root / 'opt/floodplain')} ours and packages"
    (image.root / FOLDER).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        files.chmod(0o755)
        made = subprocess.run(
            image.command(files, "/opt/floodplain/bin/python", "-I", "-c", _MATERIAL), capture_output=True, text=True
        )
        if made.returncode:
            raise CheckError(f"the package does not run:\n{made.stderr[-2000:]}")
        for name, text in json.loads(made.stdout).items():
            (files / name).write_text(text)
        check_read_only(image, files)
        yield check_sizing(image, files)
        yield check_admission(image, files)


def main() -> int:
    """Print what was seen; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="the image's root, mounted; a folder is made in it")
    parser.add_argument("--inspected", type=Path, required=True, help="what `buildah inspect` says of the image")
    given = parser.parse_args()
    try:
        config = json.loads(given.inspected.read_text())["OCIv1"]["config"]
        for line in check(Image(given.root, config)):
            print(f"image: {line}")
    except CheckError as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
