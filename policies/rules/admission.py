"""Do the guardrails bind? A ValidatingAdmissionPolicy without binding is accepted and does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_policy import Policy, PolicyResource, StackValidationArgs

from .kinds import is_kubernetes
from .proxies import Unknowns, get, mapping, shown, text, texts
from .rule import About, resources_of, stack_rule

_GROUP = "admissionregistration.k8s.io"


def _is_policy(resource_type: str) -> bool:
    return is_kubernetes(resource_type, _GROUP, "ValidatingAdmissionPolicy")


def _is_binding(resource_type: str) -> bool:
    return is_kubernetes(resource_type, _GROUP, "ValidatingAdmissionPolicyBinding")


def _bindings(args: StackValidationArgs) -> Iterator[tuple[str, PolicyResource]]:
    """The name of the policy that each binding binds, with the binding; unknown names raise last."""
    unknowns = Unknowns()
    for binding in resources_of(args, _is_binding):
        with unknowns:
            yield text(get(binding.props, "spec", "policyName")) or "", binding
    unknowns.raise_first()


def unbound_policies(args: StackValidationArgs) -> Iterator[tuple[str, str | None]]:
    """Policies that no binding of the stack names, or whose binding lacks the parameters they need."""
    unknowns = Unknowns()
    for policy in resources_of(args, _is_policy):
        with unknowns:
            name = text(get(policy.props, "metadata", "name"))
            bound = False
            needs_parameters = get(policy.props, "spec", "paramKind") is not None
            for bound_name, binding in _bindings(args):
                if name is None or bound_name != name:
                    continue
                bound = True
                if needs_parameters and not mapping(get(binding.props, "spec", "paramRef")):
                    yield f"spec.paramRef: is missing, but {shown(name)} takes parameters; name them", binding.urn
            if not bound:
                wanted = shown(name or policy.name)
                yield f"{wanted} has no binding, so it does nothing; add a binding with policyName {wanted}", policy.urn
    unknowns.raise_first()


def idle_bindings(args: StackValidationArgs) -> Iterator[tuple[str, str | None]]:
    """Bindings that do nothing: no policy of that name in the stack, or no action."""
    unknowns = Unknowns()
    names: set[str] = set()
    with unknowns:
        for policy in resources_of(args, _is_policy):
            with unknowns:
                names.add(text(get(policy.props, "metadata", "name")) or "")
    all_names_known = not unknowns
    for binding in resources_of(args, _is_binding):
        with unknowns:
            name = text(get(binding.props, "spec", "policyName")) or ""
            if name not in names and all_names_known:
                yield f"spec.policyName: {shown(name)} is no policy of this stack; mend the name", binding.urn
        with unknowns:
            if not texts(get(binding.props, "spec", "validationActions")):
                yield "spec.validationActions: is empty, so nothing happens; write Deny, Warn or Audit", binding.urn
    unknowns.raise_first()


POLICIES: list[Policy] = [
    stack_rule(
        About(
            name="admission-policies-are-bound",
            description="Every ValidatingAdmissionPolicy has a binding that acts, and every binding has its policy.",
            remedy="Add the binding; to switch a guardrail off remove both.",
        ),
        unbound_policies,
        idle_bindings,
    ),
]
