"""The admission process: its files, its certificate, its two doors, from start to end. Edge.

Raises ServeError, ClusterAccessError or CertificateError for what keeps it from starting; whatever goes wrong later is
told by log, metrics and readiness, and it goes on with what it has.
"""

from __future__ import annotations

import gc

from floodplain.service.admission_app import admission_app, health_app
from floodplain.service.admission_metrics import AdmissionMetrics
from floodplain.service.admission_settings import AdmissionSettings
from floodplain.service.certificates import ClusterCertificates, Names
from floodplain.service.cluster_access import cluster_access
from floodplain.service.file_certificates import FileCertificates
from floodplain.service.logs import logger
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.pools_source import PoolsSource
from floodplain.service.readiness import Draining
from floodplain.service.serve import Door, listen, serve, url
from floodplain.service.serving_tls import ServingTls

_KEEP_ALIVE_SECONDS = 180
"""An API server closes a connection that it has not used for 90 s (Go's default). Were we the first to, a question that
is just on its way would fail, and with it the pod."""


class CertificateError(RuntimeError):
    """The certificate files that were named cannot be served with. `str()` says why."""


def certificates_for(settings: AdmissionSettings, tls: ServingTls) -> ClusterCertificates | FileCertificates:
    """Whoever looks after the certificate, by the settings."""
    if settings.certificate is not None and settings.key is not None:
        files = FileCertificates(settings.certificate, settings.key, tls, every_seconds=settings.certificate_seconds)
        files.look()
        if files.problem:
            raise CertificateError(files.problem)
        return files
    access = cluster_access(settings.kubeconfig, settings.namespace)
    names = Names(settings.hosts(access.namespace), settings.secret, settings.webhooks)
    return ClusterCertificates(access, names, tls, every_seconds=settings.certificate_seconds)


def run(settings: AdmissionSettings, source: PoolsSource) -> None:
    """Answer the API server until told to end."""
    tls, draining, metrics = ServingTls(), Draining(), ServiceMetrics()
    doors: list[Door] = []
    certificates = certificates_for(settings, tls)
    try:
        counted = AdmissionMetrics(metrics.registry)
        metrics.watch(source)
        counted.watch(tls, certificates)
        app = admission_app(source, settings, metrics, counted, draining)
        health = health_app(source, metrics, draining, tls, certificates)
        doors.append(Door(app, listen(settings.host, settings.port), tls.context, _KEEP_ALIVE_SECONDS))
        doors.append(Door(health, listen(settings.host, settings.health_port, "--health-port")))
        certificates.start()
        # What is here now stays: the collector need not look through it while the API server waits.
        gc.collect()
        gc.freeze()
        logger().info("listening", url=url(doors[0]), health=url(doors[1]))
        serve(doors, draining, drain_seconds=settings.drain_seconds, grace_seconds=settings.grace_seconds)
    finally:
        certificates.stop()
        for door in doors:
            door.socket.close()
