"""Outputs and function results of the AWS provider, derived from the inputs.

The account is AWS's own example number, so that nothing here can be mistaken for somebody's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from .monitor import Request

ACCOUNT = "111122223333"
REGION = "us-west-2"
Derive = Callable[[Request], Mapping[str, Any]]


def _region(request: Request) -> str:
    return str(request.inputs.get("region") or request.region or REGION)


def _partition(region: str) -> tuple[str, str]:
    """Partition and domain suffix of a region."""
    if region.startswith("cn-"):
        return "aws-cn", "amazonaws.com.cn"
    return ("aws-us-gov" if region.startswith("us-gov-") else "aws"), "amazonaws.com"


def _name(request: Request) -> str:
    return str(request.inputs.get("name") or request.name)


def _mark(request: Request, prefix: str, length: int = 17) -> str:
    """An identifier as AWS would draw it, but always the same for the same resource."""
    text = hashlib.sha256(f"{request.type}/{request.name}".encode()).hexdigest()
    return prefix + text[:length]


def _arn(request: Request, service: str, resource: str, *, regional: bool = True) -> str:
    region = _region(request)
    return f"arn:{_partition(region)[0]}:{service}:{region if regional else ''}:{ACCOUNT}:{resource}"


def _iam(kind: str, prefix: str) -> Derive:
    def derive(request: Request) -> Mapping[str, Any]:
        name, path = _name(request), str(request.inputs.get("path") or "/")
        return {
            "id": _arn(request, "iam", f"{kind}{path}{name}", regional=False) if kind == "policy" else name,
            "arn": _arn(request, "iam", f"{kind}{path}{name}", regional=False),
            "name": name,
            "path": path,
            f"{ {'role': 'uniqueId', 'policy': 'policyId', 'instance-profile': 'uniqueId'}[kind] }": _mark(
                request, prefix
            ).upper(),
            "tagsAll": dict(request.inputs.get("tags") or {}),
        }

    return derive


def _service_linked_role(request: Request) -> Mapping[str, Any]:
    service = str(request.inputs["awsServiceName"])
    name = "AWSServiceRoleForEC2Spot" if service.startswith("spot.") else f"AWSServiceRoleFor{request.name}"
    arn = _arn(request, "iam", f"role/aws-service-role/{service}/{name}", regional=False)
    return {"id": arn, "arn": arn, "name": name, "path": f"/aws-service-role/{service}/"}


def _queue(request: Request) -> Mapping[str, Any]:
    region, name = _region(request), _name(request)
    url = f"https://sqs.{region}.{_partition(region)[1]}/{ACCOUNT}/{name}"
    return {"id": url, "arn": _arn(request, "sqs", name), "url": url, "name": name}


def _rule(request: Request) -> Mapping[str, Any]:
    name = _name(request)
    return {"id": name, "arn": _arn(request, "events", f"rule/{name}"), "name": name}


def _access_entry(request: Request) -> Mapping[str, Any]:
    cluster, principal = str(request.inputs["clusterName"]), str(request.inputs["principalArn"])
    mark = _mark(request, "", 32)
    return {
        "id": f"{cluster}:{principal}",
        "accessEntryArn": _arn(request, "eks", f"access-entry/{cluster}/role/{mark}"),
        "userName": principal,
    }


def _pod_identity(request: Request) -> Mapping[str, Any]:
    cluster, mark = str(request.inputs["clusterName"]), _mark(request, "a-")
    return {
        "id": mark,
        "associationId": mark,
        "associationArn": _arn(request, "eks", f"podidentityassociation/{cluster}/{mark}"),
    }


def _addon(request: Request) -> Mapping[str, Any]:
    cluster, name = str(request.inputs["clusterName"]), str(request.inputs["addonName"])
    return {"id": f"{cluster}:{name}", "arn": _arn(request, "eks", f"addon/{cluster}/{name}")}


RESOURCES: Mapping[str, Derive] = {
    "aws:iam/role:Role": _iam("role", "AROA"),
    "aws:iam/policy:Policy": _iam("policy", "ANPA"),
    "aws:iam/instanceProfile:InstanceProfile": _iam("instance-profile", "AIPA"),
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": _service_linked_role,
    "aws:sqs/queue:Queue": _queue,
    "aws:cloudwatch/eventRule:EventRule": _rule,
    "aws:eks/accessEntry:AccessEntry": _access_entry,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _pod_identity,
    "aws:eks/addon:Addon": _addon,
}


def _cluster(request: Request) -> Mapping[str, Any]:
    name, region = str(request.inputs["name"]), _region(request)
    mark = hashlib.sha256(f"eks/{name}".encode()).hexdigest().upper()[:32]
    suffix = _partition(region)[1]
    return {
        "id": name,
        "name": name,
        "arn": _arn(request, "eks", f"cluster/{name}"),
        "endpoint": f"https://{mark}.gr7.{region}.eks.{suffix}",
        "certificateAuthorities": [{"data": "ZXhhbXBsZQ=="}],
        "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{region}.{suffix}/id/{mark}"}]}],
        "accessConfigs": [{"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}],
        "status": "ACTIVE",
        "version": "1.34",
    }


def _caller(request: Request) -> Mapping[str, Any]:
    arn = _arn(request, "iam", "role/deployer", regional=False)
    return {"id": ACCOUNT, "accountId": ACCOUNT, "arn": arn, "userId": "AROAEXAMPLE:deployer"}


def _partition_of(request: Request) -> Mapping[str, Any]:
    partition, suffix = _partition(_region(request))
    return {"id": partition, "partition": partition, "dnsSuffix": suffix, "reverseDnsPrefix": "com.amazonaws"}


def _region_of(request: Request) -> Mapping[str, Any]:
    region = _region(request)
    suffix = _partition(region)[1]
    return {"id": region, "name": region, "region": region, "description": region, "endpoint": f"ec2.{region}.{suffix}"}


def _roles(request: Request) -> Mapping[str, Any]:
    """A fresh account: no role has the name asked for."""
    return {"id": REGION, "arns": [], "names": [], **request.inputs}


def _document(request: Request) -> Mapping[str, Any]:
    text = json.dumps({"Version": "2012-10-17", "Statement": request.inputs.get("statements", [])})
    return {"id": "document", "json": text, "minifiedJson": text}


FUNCTIONS: Mapping[str, Derive] = {
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition_of,
    "aws:index/getRegion:getRegion": _region_of,
    "aws:iam/getRoles:getRoles": _roles,
    "aws:iam/getPolicyDocument:getPolicyDocument": _document,
}
