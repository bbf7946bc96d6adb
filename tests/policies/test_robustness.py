"""No rule ever raises anything but UnknownValueError, whatever the properties are; and every rule says what it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st
from pulumi_policy import EnforcementLevel, Policy, PolicyConfigSchema, StackValidationPolicy
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from policies.rules import POLICIES
from policies.rules.iam_documents import _PLACES

TYPES = [
    "kubernetes:karpenter.sh/v1:NodePool",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:helm.sh/v4:Chart",
    "kubernetes:core/v1:ConfigMap",
    "kubernetes:core/v1:Secret",
    "kubernetes:core/v1:Pod",
    "kubernetes:core/v1:PersistentVolumeClaim",
    "kubernetes:apps/v1:Deployment",
    "kubernetes:batch/v1:CronJob",
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    "kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration",
    "aws:cloudwatch/eventRule:EventRule",
    "aws:cloudwatch/eventTarget:EventTarget",
    "pulumi:providers:kubernetes",
    "pulumi:pulumi:Stack",
    "floodplain:index:Platform",
    "a:b",
    "",
    *_PLACES,
]


def words(text: str) -> list[str]:
    return text.split()


# Keys that rules look for, so that the arbitrary values land where they look.
KEYS = words("""
    spec template metadata labels annotations name value data stringData values settings interruptionQueue chart version
    limits cpu memory replicas taints key effect expireAfter terminationGracePeriod disruption budgets nodes reasons
    consolidationPolicy requirements operator nodeClassRef role instanceProfile amiSelectorTerms alias id ssmParameter
    userData kubelet evictionHard memory.available systemReserved ephemeral-storage amiFamily instanceStorePolicy
    policy assumeRolePolicy inlinePolicies eventPattern isEnabled rule arn queueUrl url clusterIdentifier kubeconfig
    enableServerSideApply containers initContainers volumes image reference env jobTemplate paramKind paramRef
    policyName validationActions password additionalAnnotations helm.sh/resource-policy crds devel startupTaints
    floodplain.dev/pool floodplain.dev/swap-ratio webhooks failurePolicy namespaceSelector matchLabels matchExpressions
    objectSelector matchConditions sideEffects timeoutSeconds GDAL_CACHEMAX resources floodplain.dev/raster-pool
""")
TEXTS = words("""
    In Exists NoSchedule Never 720h 10% WhenEmpty karpenter.k8s.aws/instance-family
    karpenter.k8s.aws/instance-local-nvme node.kubernetes.io/instance-type r6id d3 al2023@latest karpenter
    karpenter-crd keep latest 1.2.3 nan inf 1e999 -1 10GB Bottlerocket RAID0 {} [] " {"Statement":[{"Effect":"Allow"}]}
    GDAL_CACHEMAX big 5% 1GB
""")
SCALARS = (
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.sampled_from(TEXTS)
    | st.text(max_size=12)
    | st.just(UNKNOWN)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
PROPS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)
LIMITS = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@LIMITS
@for_all(kind=st.sampled_from(TYPES), props=PROPS, config=PROPS)
@example(kind=TYPES[1], props={"spec": {"userData": "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\n"}}, config={})
@example(kind=TYPES[1], props={"spec": {"userData": "Content-Type: multipart/mixed; boundary=a\n\n--a\n"}}, config={})
@example(kind=TYPES[1], props={"spec": {"userData": "\r\n\x00\ud7ff"}}, config={})
@example(kind=TYPES[0], props={"spec": {"limits": {"cpu": "1e999", "memory": "9" * 400}}}, config={})
def test_no_resource_rule_fails_on_any_properties(
    rules: Any, kind: str, props: dict[str, Any], config: dict[str, Any]
) -> None:
    for policy in POLICIES:
        if not isinstance(policy, StackValidationPolicy):
            for stack in ("dev", "prod"):
                rules.on(policy.name, kind, props, stack=stack, config=config)


@LIMITS
@for_all(
    resources=st.lists(st.tuples(st.sampled_from(TYPES), PROPS), max_size=6),
    config=PROPS,
)
def test_no_stack_rule_fails_on_any_stack(rules: Any, given: Any, resources: Any, config: dict[str, Any]) -> None:
    stack = [given(kind, props, f"r{number}") for number, (kind, props) in enumerate(resources)]
    for policy in POLICIES:
        if isinstance(policy, StackValidationPolicy):
            rules.on_stack(policy.name, stack, config)


@LIMITS
@for_all(boots=st.lists(st.sampled_from(
    [
        "MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="//"', "", "--//", "--//--", "#!/bin/bash",
        "Content-Type: application/node.eks.aws", 'Content-Type: text/x-shellscript; charset="us-ascii"',
        "kind: NodeConfig", "spec: {kubelet: {config: {failSwapOn: false}}}", "swapon /x", "cat > /a/b <<EOF", "EOF",
        "cat >/etc/eks/nodeadm.d/a.yaml <<'E'", "E", "a: &a [*a]", "at: 2026-99-99", "? {", "\t- x", "!!python/none x",
    ]
), max_size=14))  # fmt: skip
def test_no_rule_fails_on_any_boot_text(rules: Any, boots: list[str]) -> None:
    props = {"spec": {"userData": "\n".join(boots), "kubelet": {"systemReserved": {"memory": "1Gi"}}}}
    for policy in POLICIES:
        if not isinstance(policy, StackValidationPolicy):
            rules.on(policy.name, TYPES[1], props, stack="prod")


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_rule_says_what_it_is_about_how_grave_and_what_to_do(policy: Policy) -> None:
    assert policy.description.endswith(".") and policy.remediation_steps and policy.severity
    assert policy.enforcement_level in (EnforcementLevel.MANDATORY, EnforcementLevel.ADVISORY)
    if policy.config_schema is not None:
        assert isinstance(policy.config_schema, PolicyConfigSchema)
        assert all({"type", "default", "description"} <= set(one) for one in policy.config_schema.properties.values())


def test_only_the_rule_with_a_strict_twin_is_advisory() -> None:
    advisory = [policy.name for policy in POLICIES if policy.enforcement_level == EnforcementLevel.ADVISORY]
    assert advisory == ["machine-image-is-pinned"]


def test_names_are_unique_and_readable() -> None:
    names = [policy.name for policy in POLICIES]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)
