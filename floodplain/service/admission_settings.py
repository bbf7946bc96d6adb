"""What the admission process is told, beyond what every process of the service is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, model_validator

from floodplain.problem import RuleError, raise_rules
from floodplain.service.authority import service_names
from floodplain.service.settings import DEFAULT_POOLS, ServiceSettings

_HOST = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?|[0-9a-f:]+", re.IGNORECASE)
_NAME = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


class AdmissionSettings(ServiceSettings):
    """Of `floodplain serve admission`."""

    port: Annotated[int, Field(ge=0, le=65535)] = 8443
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """Plain HTTP: /healthz, /readyz, /metrics."""
    pools: Annotated[str, Field(min_length=1)] = DEFAULT_POOLS
    """Named: the example pool is for a look, and no pod is to be sent there."""
    body_bytes: Annotated[int, Field(ge=1024, le=64 << 20)] = 4 << 20
    """An API server takes objects of up to some 3 MiB, and wraps them."""
    in_flight: Annotated[int, Field(ge=1, le=10_000)] = 128
    request_seconds: Annotated[float, Field(gt=0, le=3600)] = 5
    """As long as the webhook configuration lets the API server wait."""

    certificate: Annotated[str, Field(min_length=1)] | None = None
    """PEM files of certificate and key that somebody else renews; then no cluster is asked."""
    key: Annotated[str, Field(min_length=1)] | None = None
    kubeconfig: Annotated[str, Field(min_length=1)] | None = None
    """Way to the cluster from outside; in a pod it is the service account."""
    namespace: Annotated[_NAME, Field(max_length=63)] | None = None
    """Of the Service and the Secret. None: that of the service account or of the kubeconfig."""
    service: Annotated[_NAME, Field(max_length=63)] = "floodplain-admission"
    secret: _NAME = "floodplain-admission-tls"
    webhooks: _NAME = "floodplain-sizing"
    """The MutatingWebhookConfiguration whose caBundle is kept current."""
    dns_name: tuple[str, ...] = ()
    """More names and addresses for the certificate, for an API server that calls by URL."""
    certificate_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 30
    """Between two looks at Secret and caBundle (give or take a fifth), or at the files."""

    @model_validator(mode="after")
    def _consistent(self) -> AdmissionSettings:
        raise_rules(_broken_rules(self))
        return self

    def hosts(self, namespace: str) -> tuple[str, ...]:
        """What the certificate is for."""
        return (*service_names(self.service, namespace), *self.dns_name)


def _broken_rules(settings: AdmissionSettings) -> Iterator[RuleError]:
    for given, lacking in (("certificate", "key"), ("key", "certificate")):
        if getattr(settings, given) and not getattr(settings, lacking):
            yield RuleError("is needed beside the other file", "give certificate and key, or neither", (lacking,))
    if settings.certificate and settings.kubeconfig:
        remedy = "give certificate and key to serve without a cluster, or a kubeconfig"
        yield RuleError("cannot be used with a certificate of your own", remedy, ("kubeconfig",), settings.kubeconfig)
    for name in settings.dns_name:
        if len(name) > 253 or not _HOST.fullmatch(name):
            yield RuleError("is no DNS name or address", "write one such as admission.example", ("dns_name",), name)
