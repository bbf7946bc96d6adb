"""The program: one for all environments. What differs stands in stacks/Pulumi.<stack>.yaml."""

import pulumi

from components import Platform
from stacks import read_config
from stacks.config import kubeconfig

config = read_config(pulumi.get_stack())
args = config.platform_args()
if secret := kubeconfig():
    args["kubeconfig"] = secret
platform = Platform("platform", args)

pulumi.export("nodeRoleName", platform.node_role_name)
pulumi.export("queueName", platform.queue_name)
pulumi.export("poolNames", platform.pool_names)
pulumi.export("runtimeClassNames", platform.runtime_class_names)
pulumi.export("pools", platform.pools)
pulumi.export("policyNames", platform.policy_names)
pulumi.export("sizingAddress", platform.sizing_address)
pulumi.export("workerPools", platform.worker_pools)
