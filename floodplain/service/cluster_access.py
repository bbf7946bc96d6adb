"""How admission reaches its API server, and what time it is there. Edge."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2
from lightkube import Client
from lightkube.config.client_adapter import verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

_TIMEOUT_SECONDS = 10


class ClusterAccessError(RuntimeError):
    """There is no way to a cluster. `str()` says why and what to do."""


class ClusterAccess:
    """`client` works in `namespace`. The API server's clock is read from the Date header of each answer."""

    def __init__(self, config: SingleConfig, namespace: str | None = None) -> None:
        verify = verify_cluster(config.cluster, config.user, config.abs_file) if config.user else True
        self._dated = _Dated(httpx2.HTTPTransport(verify=verify))
        self.client = Client(
            config, namespace=namespace, timeout=httpx2.Timeout(_TIMEOUT_SECONDS), transport=self._dated
        )
        self.namespace: str = self.client.namespace

    def server_time(self) -> datetime | None:
        """Now, by the API server's clock; None while it has not answered."""
        return self._dated.time()


class _Dated(httpx2.BaseTransport):
    """A transport that remembers when the last answer was given."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self._answered: tuple[datetime, float] | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        try:
            told = parsedate_to_datetime(response.headers.get("date", ""))
        except ValueError:
            return response
        self._answered = (told.astimezone(UTC), time.monotonic())
        return response

    def time(self) -> datetime | None:
        if self._answered is None:
            return None
        told, at = self._answered
        return told + timedelta(seconds=time.monotonic() - at)

    def close(self) -> None:
        self._inner.close()


def cluster_access(kubeconfig: str | None, namespace: str | None) -> ClusterAccess:
    """By the kubeconfig file that is named, or by the service account of the pod that this runs in.

    Never by a kubeconfig that nobody named: admission writes a Secret. Raises ClusterAccessError.
    """
    try:
        if kubeconfig is not None:
            found = KubeConfig.from_file(kubeconfig).get()
        elif "KUBERNETES_SERVICE_HOST" in os.environ:
            found = KubeConfig.from_service_account().get()
        else:
            raise ClusterAccessError(
                "there is no cluster here: give --certificate and --key to serve without one, or --kubeconfig"
            )
        if found is None:
            raise ConfigError("it names no context")
        return ClusterAccess(found, namespace)
    except ClusterAccessError:
        raise
    except Exception as error:  # whatever a kubeconfig can be wrong in: YAML, types, files, certificates
        place = kubeconfig or "the service account"
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClusterAccessError(f"{place}: no way to a cluster ({reason}); mend it, or name another") from error
