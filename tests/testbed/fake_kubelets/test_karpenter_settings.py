"""Do a chart's values reach the process as kubelet would give them to the container?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.cluster.karpenter import error_lines, settings_from_deployment

DEPLOYMENT: dict[str, Any] = {
    "metadata": {"namespace": "karpenter"},
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "controller",
                        "resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "1500m", "memory": "1Gi"}},
                        "env": [
                            {"name": "CLUSTER_NAME", "value": "demo"},
                            {"name": "CLUSTER_CA_BUNDLE"},
                            {
                                "name": "SYSTEM_NAMESPACE",
                                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
                            },
                            {"name": "CPU_REQUESTS", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
                            {"name": "MEMORY_LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
                        ],
                    }
                ]
            }
        }
    },
}


def test_settings_are_what_kubelet_would_resolve() -> None:
    assert settings_from_deployment(DEPLOYMENT) == {
        "CLUSTER_NAME": "demo",
        "CLUSTER_CA_BUNDLE": "",
        "SYSTEM_NAMESPACE": "karpenter",
        "CPU_REQUESTS": "1500",
        "MEMORY_LIMIT": "1073741824",
    }


def test_a_source_that_is_not_followed_is_an_error() -> None:
    env = [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]
    container = {"name": "controller", "env": env}
    deployment = {"metadata": {}, "spec": {"template": {"spec": {"containers": [container]}}}}
    with pytest.raises(ValueError, match="TOKEN comes from"):
        settings_from_deployment(deployment)


def test_error_lines_say_what_about_which_object(tmp_path: Path) -> None:
    log = tmp_path / "karpenter.log"
    log.write_text(
        '{"level":"INFO","message":"fine"}\n'
        "a line of something else\n"
        '{"level":"ERROR","message":"Reconciler error","error":"unexpected EOF","EC2NodeClass":{"name":"swap"}}\n'
        '{"level":"ERR'
    )
    assert error_lines(log) == ["Reconciler error unexpected EOF {'name': 'swap'}"]
