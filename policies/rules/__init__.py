"""Every rule of the pack, as policies that can be called one by one.

`POLICIES` is what the pack serves and what the offline preview runs. To call one:

* a resource rule is a `ResourceValidationPolicy`: `policy.validate(ResourceValidationArgs(...), report)`,
* a stack rule is a `StackValidationPolicy`: `policy.validate(StackValidationArgs([PolicyResource(...)]), report)`.

Properties go through `pulumi_policy.proxy.unknown_checking_proxy`, with pulumi_policy's sentinel for unknown values,
camelCase keys and secrets without their marks. A rule raises UnknownValueError, after it has reported all it could,
if something it looks at is not known; it raises nothing else, and passes resources it is not about. Options may be
`RenderedOptions`, which tell the rules what the engine does not.
"""

from pulumi_policy import Policy

from . import (
    admission,
    charts,
    deletion,
    families,
    iam,
    images,
    interruption,
    node_classes,
    node_pools,
    providers,
    raster_workers,
    secrets,
    swap_boot,
    user_data,
    webhooks,
)
from .rendered import RenderedOptions

POLICIES: list[Policy] = [
    *node_pools.POLICIES,
    *families.POLICIES,
    *node_classes.POLICIES,
    *user_data.POLICIES,
    *swap_boot.POLICIES,
    *interruption.POLICIES,
    *iam.POLICIES,
    *admission.POLICIES,
    *webhooks.POLICIES,
    *raster_workers.POLICIES,
    *secrets.POLICIES,
    *providers.POLICIES,
    *charts.POLICIES,
    *images.POLICIES,
    *deletion.POLICIES,
]

__all__ = ["POLICIES", "RenderedOptions"]
