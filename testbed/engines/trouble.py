"""Tells from what `go` printed why a build or a download failed, and what a person does about it."""

import re

from testbed.engine_error import EngineError

_CAUSES = (
    (
        r"no space left on device|disk quota exceeded",
        "the disk is full: free some space (`go clean -cache` gives back Go's own) and build again",
    ),
    (
        r"checksum mismatch|SECURITY ERROR",
        "what was fetched is not what go.sum holds: nothing was built from it. Ask for the module's history before "
        "go.sum is changed",
    ),
    (
        r"dial tcp|no such host|i/o timeout|connection (refused|reset)|TLS handshake|x509:|network is unreachable"
        r"|proxyconnect|module lookup disabled|502 Bad Gateway|503 Service Unavailable",
        "the Go module proxy could not be reached: check the network, GOPROXY and, behind a company's proxy, "
        "HTTPS_PROXY and SSL_CERT_FILE",
    ),
    (
        r"signal: killed|cannot allocate memory",
        "the compiler was killed, as a rule for want of memory: 4 GiB are enough",
    ),
)


def tail(output: str, count: int = 15) -> str:
    """The last lines, indented."""
    return "\n".join(f"    {line}" for line in output.splitlines()[-count:]) or "    (nothing was printed)"


def explained(what: str, output: str) -> EngineError:
    """The error for `what` could not be had, with its cause where `output` tells one."""
    for pattern, cause in _CAUSES:
        if re.search(pattern, output, re.IGNORECASE):
            return EngineError(f"{what} could not be had: {cause}. Go's last lines:\n{tail(output)}")
    return EngineError(f"{what} could not be had. Go's last lines:\n{tail(output)}")
