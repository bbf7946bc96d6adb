"""The provider's own configuration: which account, which region, which tags on everything."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]

from testbed.pulumi.aws_standin.wire import Properties

KNOWN = frozenset({"region", "allowedAccountIds", "forbiddenAccountIds", "defaultTags"})
"""Provider inputs that the stand-in honours. Endpoint and credentials come from the environment."""


class AccountRefusedError(Exception):
    """The credentials are another account's than the provider may use."""


def decoded(config: Properties) -> dict[str, Any]:
    """The provider's inputs; the SDK sends what is no text as JSON."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        try:
            found[key] = json.loads(value) if key != "region" and isinstance(value, str) else value
        except ValueError:
            found[key] = value
    return found


class Account:
    """AWS as the provider was configured, over the endpoint that the environment names."""

    def __init__(self, config: Properties) -> None:
        self._region = str(config.get("region") or os.environ["AWS_REGION"])
        self._default_tags: Mapping[str, str] = (config.get("defaultTags") or {}).get("tags") or {}
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        self._check(config)

    def client(self, service: str, region: str | None = None) -> Any:
        """A boto3 client; one for each service and region, as making one takes long."""
        key = (service, region or self._region)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = boto3.client(
                    service,
                    region_name=key[1],
                    config=Config(retries={"mode": "standard", "total_max_attempts": 3}, max_pool_connections=32),
                )
            return self._clients[key]

    def tags(self, properties: Properties) -> dict[str, str]:
        return {**self._default_tags, **(properties.get("tags") or {})}

    def _check(self, config: Properties) -> None:
        allowed, forbidden = config.get("allowedAccountIds"), config.get("forbiddenAccountIds")
        if not allowed and not forbidden:
            return
        account = self.client("sts").get_caller_identity()["Account"]
        if (allowed and account not in allowed) or (forbidden and account in forbidden):
            raise AccountRefusedError(f"AWS account ID not allowed: {account}")
