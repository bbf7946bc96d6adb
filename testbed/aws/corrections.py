"""What is answered by us, or changed, on the way to moto and back. Everything else passes through as it is.

The table in README.md has a row for each, with the test that shows it. The translations themselves are pure functions
in `fleet`, `images`, `prices`, `query` and `eks_objects`; here they meet moto.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs
from wsgiref.types import WSGIEnvironment

from testbed.aws import eks_objects, fleet, images, prices, query
from testbed.aws.account import Account
from testbed.aws.calls import Asked
from testbed.aws.eks_objects import EksObjects, EksRefusedError
from testbed.aws.upstream import Answer, Moto, json_answer, xml_answer

USER_DATA_LIMIT = 16384
"""Bytes before base64 (EC2, CreateLaunchTemplate)."""


@dataclass(frozen=True)
class Exchange:
    """One request on its way."""

    asked: Asked
    environ: WSGIEnvironment
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return query.fields(self.body)


@dataclass
class Memory:
    """What the front knows beside moto. `templates` are all that were ever made, by name, since Karpenter deletes them
    a minute or two after their last use; `launched` has the template of each instance."""

    templates: dict[str, dict[str, str]] = field(default_factory=dict)
    launched: dict[str, str] = field(default_factory=dict)
    starved: set[tuple[str, str]] = field(default_factory=set)


class Corrections:
    """Answers requests, correcting what moto lacks."""

    def __init__(self, account: Account, moto: Moto, price_table: Mapping[str, float]) -> None:
        self.memory = Memory()
        self._account, self._moto, self._prices = account, moto, price_table
        self._images = images.images(account)
        self._eks = EksObjects(account.account_id, account.region)
        self._one_fleet_at_a_time = threading.Lock()
        self._constants: dict[bytes, Answer] = {}
        self._one_constant_at_a_time = threading.Lock()
        self._special: dict[tuple[str, str], Callable[[Exchange], Answer]] = {
            **{("eks", name): self._eks_object for name in eks_objects.OPERATIONS},
            ("ec2", "CreateFleet"): self._create_fleet,
            ("ec2", "CreateLaunchTemplate"): self._create_launch_template,
            ("ec2", "DescribeInstanceTypeOfferings"): self._constant,
            ("ec2", "DescribeInstanceTypes"): self._instance_types,
            ("ec2", "DescribeInstances"): self._describe_instances,
            ("ec2", "DescribeSpotPriceHistory"): self._spot_prices,
            ("eks", "DescribeCluster"): self._describe_cluster,
            ("eks", "TagResource"): self._eks_tags,
            ("eks", "UntagResource"): self._eks_tags,
            ("pricing", "GetProducts"): self._products,
            ("ssm", "GetParameter"): self._parameter,
        }

    def answer(self, exchange: Exchange) -> Answer:
        special = self._special.get((exchange.asked.service, exchange.asked.action))
        return special(exchange) if special else self._pass(exchange)

    def _pass(self, exchange: Exchange, form: Mapping[str, str] | None = None) -> Answer:
        return self._moto.forward(exchange.environ, exchange.body if form is None else query.form(form))

    def _create_fleet(self, exchange: Exchange) -> Answer:
        form = exchange.form
        if form.get("DryRun") == "true":
            return self._pass(exchange)
        wanted = fleet.read(form)
        with self._one_fleet_at_a_time:
            left_out = fleet.without_capacity(wanted, self.memory.starved)
            pools = fleet.by_priority(pool for pool in wanted.pools if pool not in left_out)
            if not pools:
                answer = fleet.nothing_launched()
                fleet.report(answer, wanted, left_out)
                return xml_answer(200, query.write_xml(answer))
            given = self._pass(exchange, fleet.write(wanted, pools))
            if given.status != 200:
                return given
            answer = query.read_xml(given.body)
            self._finish_launch(fleet.instance_ids(answer), wanted.template(pools[0]))
            fleet.report(answer, wanted, left_out)
            return given.corrected(query.write_xml(answer))

    def _finish_launch(self, instances: list[str], template: str) -> None:
        groups = fleet.security_groups(self.memory.templates.get(template, {}))
        for instance in instances:
            self.memory.launched[instance] = template
            if groups:
                fields = query.with_numbered({}, "GroupId", groups)
                self._moto.ec2(Action="ModifyInstanceAttribute", InstanceId=instance, **fields)

    def _create_launch_template(self, exchange: Exchange) -> Answer:
        form = exchange.form
        if len(user_data(form)) > USER_DATA_LIMIT:
            message = f"User data is limited to {USER_DATA_LIMIT} bytes"
            return xml_answer(400, query.error("InvalidUserData.Malformed", message))
        given = self._pass(exchange)
        if given.status == 200:
            self.memory.templates[form["LaunchTemplateName"]] = form
        return given

    def _describe_instances(self, exchange: Exchange) -> Answer:
        form = exchange.form
        ids = query.numbered(form, "InstanceId")
        given = self._pass(exchange, query.with_numbered(form, "InstanceId", query.each_once(ids)))
        if given.status != 200 or b"<instanceLifecycle>spot<" not in given.body:
            return given
        answer = query.read_xml(given.body)
        query.add_spot_requests(answer)
        return given.corrected(query.write_xml(answer))

    def _instance_types(self, exchange: Exchange) -> Answer:
        if exchange.form.get("DryRun") == "true":
            message = "Request would have succeeded, but DryRun flag is set."
            return xml_answer(412, query.error("DryRunOperation", message))
        return self._constant(exchange)

    def _constant(self, exchange: Exchange) -> Answer:
        """moto takes two seconds for all instance types, which are the same each time."""
        with self._one_constant_at_a_time:
            known = self._constants.get(exchange.body)
            if known is None:
                known = self._pass(exchange)
                if known.status == 200:
                    self._constants[exchange.body] = known
            return known

    def _spot_prices(self, exchange: Exchange) -> Answer:
        given = self._pass(exchange)
        if given.status != 200:
            return given
        answer = query.read_xml(given.body)
        prices.with_spot_prices(answer, self._prices)
        return given.corrected(query.write_xml(answer))

    def _describe_cluster(self, exchange: Exchange) -> Answer:
        given = self._pass(exchange)
        named = exchange.asked.parameters.get("name") == self._account.cluster_name
        if given.status != 200 or not named or self._account.cluster_endpoint is None:
            return given
        found = json.loads(given.body)
        found["cluster"] |= {
            "endpoint": self._account.cluster_endpoint,
            "certificateAuthority": {"data": self._account.certificate_authority},
        }
        return given.corrected(json.dumps(found).encode())

    def _products(self, exchange: Exchange) -> Answer:
        return json_answer(200, json.dumps(prices.products(self._prices, exchange.asked.parameters)))

    def _parameter(self, exchange: Exchange) -> Answer:
        name = str(exchange.asked.parameters.get("Name", ""))
        if not name.startswith("/aws/service/eks/"):
            return self._pass(exchange)
        image = images.named_by(name, self._images)
        if image is None:
            return json_answer(400, json.dumps({"__type": "ParameterNotFound", "message": f"There is no {name}."}))
        found = {
            "Name": name,
            "Type": "String",
            "Value": image.id,
            "Version": 1,
            "DataType": "text",
            "ARN": f"arn:aws:ssm:{self._account.region}::parameter{name}",
        }
        return json_answer(200, json.dumps({"Parameter": found}))

    def _eks_object(self, exchange: Exchange) -> Answer:
        parameters: Mapping[str, Any] = exchange.asked.parameters
        try:
            if parameters["name"] != self._account.cluster_name:
                raise EksRefusedError(
                    "ResourceNotFoundException", f"No cluster found for name: {parameters['name']}.", 404
                )
            body = {key: value for key, value in parameters.items() if key != "name"}
            found = self._eks.answer(exchange.asked.action, parameters, body)
        except EksRefusedError as refusal:
            content = json.dumps({"message": refusal.message, "code": refusal.code})
            headers = (("Content-Type", "application/json"), ("x-amzn-ErrorType", refusal.code))
            return Answer(refusal.status, headers, content.encode(), front=True)
        return Answer(200, (("Content-Type", "application/json"),), json.dumps(found).encode(), front=True)

    def _eks_tags(self, exchange: Exchange) -> Answer:
        parameters = exchange.asked.parameters
        gone = parse_qs(exchange.environ.get("QUERY_STRING", "")).get("tagKeys", [])
        if not self._eks.tag(parameters["resourceArn"], parameters.get("tags", {}), gone):
            return self._pass(exchange)
        return Answer(200, (("Content-Type", "application/json"),), b"{}", front=True)


def user_data(template: Mapping[str, str]) -> bytes:
    """The bytes of user data in a launch template's form; as they stand where they are not base64."""
    text = template.get("LaunchTemplateData.UserData", "")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return text.encode()
