"""What sizing is called in a cluster: the names, ports, labels and annotations that service and objects agree on.

They are fixed, since the service looks for its Secret and its webhook configuration by name. There is one in a cluster.
"""

from __future__ import annotations

from floodplain.admission.annotations import ENGINE, PLAN
from floodplain.pools import DOMAIN

SIZING = "floodplain-sizing"
"""Deployment and Service that plan over HTTP; also the webhook configuration."""
ADMISSION = "floodplain-admission"
"""Deployment and Service that the API server asks."""
DOCTOR = "floodplain-doctor"
"""CronJob that looks at the cluster, its account and its rights."""
POOLS = "floodplain-pools"
"""ConfigMap of the pools and of the sizing settings."""
CERTIFICATE_SECRET = "floodplain-admission-tls"
"""Made and renewed by admission itself."""

HTTP_PORT = 8080
WEBHOOK_PORT = 8443
HEALTH_PORT = 8081
"""Of admission: health and metrics, in the clear."""

FOLDER = "/etc/floodplain"
POOLS_KEY = "pools.json"
SETTINGS_KEY = "sizing.json"
POOLS_VARIABLE = "FLOODPLAIN_POOLS"
"""Environment variable that names the file of the pools."""

SIZING_LABEL = f"{DOMAIN}/sizing"
"""On a namespace: `observe` or `enforce`."""
ENGINE_ANNOTATION = ENGINE
"""On a pod or Job that is to be sized."""
PLAN_ANNOTATION = PLAN
"""Written by admission."""
