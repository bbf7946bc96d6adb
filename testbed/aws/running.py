"""Starts the pretended AWS and talks to it: clients, what was asked, capacity taken away, instances interrupted."""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import requests
from botocore.config import Config  # type: ignore[import-untyped]

from testbed import engines
from testbed.aws.account import ACCOUNT, AMI_VERSIONS, REGION, Account
from testbed.aws.calls import Call
from testbed.aws.fleet import ANY
from testbed.aws.interruption import Delivery, Kind, Rule, deliveries, event
from testbed.aws.seed import Network, seed
from testbed.ports import free_port
from testbed.processes import Process, Processes, clean_environment, wait_until
from testbed.state import State

PRICES = Path("pkg/providers/pricing/zz_generated.pricing_aws.go")
KARPENTER_MODULE = "github.com/aws/karpenter-provider-aws"


@dataclass(frozen=True)
class LaunchTemplate:
    """A launch template that was made, whether or not it still exists. `fields` are the form's others."""

    name: str
    user_data: bytes
    fields: Mapping[str, str]


@dataclass
class Aws:
    """A running account. Each caller has an access key of its own, by which `calls` tells them apart."""

    account: Account
    endpoint: str
    process: Process
    network: Network = field(default_factory=lambda: Network("", (), ""))
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def environment(self, caller: str) -> dict[str, str]:
        """Variables by which an AWS SDK finds this account and nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.account.region,
            "AWS_DEFAULT_REGION": self.account.region,
            "AWS_ACCESS_KEY_ID": caller,
            "AWS_SECRET_ACCESS_KEY": "testbed",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def client(self, service: str, caller: str = "testbed") -> Any:
        """A boto3 client, made once. Usable from several threads."""
        with self._lock:
            if (service, caller) not in self._clients:
                self._clients[service, caller] = boto3.session.Session().client(
                    service,
                    endpoint_url=self.endpoint,
                    region_name=self.account.region,
                    aws_access_key_id=caller,
                    aws_secret_access_key="testbed",
                    config=Config(proxies={}, retries={"max_attempts": 2}),
                )
            return self._clients[service, caller]

    def calls(self, caller: str | None = None) -> list[Call]:
        """What was asked so far, in order; of one caller or of all."""
        found = [Call(**entry) for entry in self._control("GET", "calls")]
        return [call for call in found if caller in (None, call.caller)]

    def launch_templates(self) -> list[LaunchTemplate]:
        """All that were ever made, the last made last."""
        return [
            LaunchTemplate(entry["name"], base64.b64decode(entry["user_data"]), entry["fields"])
            for entry in self._control("GET", "launch-templates")
        ]

    def launch_template_of(self, instance_id: str) -> LaunchTemplate:
        """The template that a fleet launched an instance from. Raises KeyError for another instance."""
        name = self._control("GET", "launched")[instance_id]
        return next(template for template in self.launch_templates() if template.name == name)

    def starve(self, instance_type: str = ANY, zone: str = ANY) -> None:
        """Let there be no capacity for a type in a zone, from the next fleet on."""
        self._control("PUT", "starved", [*self._control("GET", "starved"), [instance_type, zone]])

    def feed(self) -> None:
        """Let there be capacity again for everything."""
        self._control("PUT", "starved", [])

    def instance(self, instance_id: str) -> dict[str, Any]:
        """An instance as EC2 describes it."""
        found: dict[str, Any] = self.client("ec2").describe_instances(InstanceIds=[instance_id])["Reservations"][0]
        instance: dict[str, Any] = found["Instances"][0]
        return instance

    def interrupt(self, kind: Kind, instance_id: str) -> list[Delivery]:
        """Let AWS tell about an instance; nothing happens to the instance. An empty answer: nobody will hear of it."""
        happened = event(kind, instance_id, account_id=self.account.account_id, region=self.account.region)
        sqs, queues = self.client("sqs"), self._queues()
        found = deliveries(happened, self._rules(), {arn: policy for arn, (_, policy) in queues.items()})
        for delivery in found:
            sqs.send_message(QueueUrl=queues[delivery.queue][0], MessageBody=json.dumps(happened))
        return found

    def stop_instance(self, instance_id: str) -> list[Delivery]:
        """Let a machine power itself off: the instance stops, and EC2 tells of it twice."""
        told = self.interrupt("stopping", instance_id)
        self.client("ec2").stop_instances(InstanceIds=[instance_id])
        return [*told, *self.interrupt("stopped", instance_id)]

    def _rules(self) -> Iterable[Rule]:
        events = self.client("events")
        for rule in events.list_rules()["Rules"]:
            targets = events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
            arns = tuple(target["Arn"] for target in targets)
            yield Rule(rule["Name"], rule["Arn"], rule.get("EventPattern", ""), rule["State"] == "ENABLED", arns)

    def _queues(self) -> dict[str, tuple[str, str]]:
        """URL and policy of each queue by its ARN."""
        sqs = self.client("sqs")
        found = {}
        for url in sqs.list_queues().get("QueueUrls", []):
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn", "Policy"])["Attributes"]
            found[attributes["QueueArn"]] = (url, attributes.get("Policy", ""))
        return found

    def _control(self, method: str, what: str, body: Any = None) -> Any:
        answer = requests.request(
            method, f"{self.endpoint}/testbed/{what}", json=body, timeout=30, proxies={"http": ""}
        )
        answer.raise_for_status()
        return answer.json()


def start_aws(
    state: State,
    processes: Processes,
    *,
    cluster_name: str,
    account: str = ACCOUNT,
    region: str = REGION,
    ami_versions: tuple[str, ...] = AMI_VERSIONS,
    cluster_endpoint: str | None = None,
    certificate_authority: str | None = None,
    price_table: Path | None = None,
) -> Aws:
    """moto with the front before it, holding a network and an EKS cluster; ready when this returns.

    `cluster_endpoint` and `certificate_authority` (base64) are what EKS tells of the cluster; `price_table` is a file
    like Karpenter's, None for Karpenter's own. Ended with `processes`.
    """
    wanted = Account(
        cluster_name=cluster_name,
        account_id=account,
        region=region,
        ami_versions=ami_versions,
        cluster_endpoint=cluster_endpoint,
        certificate_authority=certificate_authority,
    )
    settings = state.path("aws", "account.json")
    settings.write_text(wanted.as_json())
    port = free_port()
    process = processes.start(
        "aws",
        [
            sys.executable,
            "-m",
            "testbed.aws.server",
            str(port),
            settings,
            price_table or engines.module_folder(KARPENTER_MODULE) / PRICES,
        ],
        env=clean_environment(PYTHONUNBUFFERED="1", PYTHONWARNINGS="ignore"),
        cwd=Path(__file__).parents[2],
    )
    aws = Aws(wanted, f"http://127.0.0.1:{port}", process)
    wait_until("moto answers", lambda: aws._control("GET", "starved") == [], process=process)
    aws.network = seed(wanted, aws.client)
    return aws
