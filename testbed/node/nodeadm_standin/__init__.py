"""A stand-in for nodeadm and cloud-init: a test double that runs inside the node, not the real programs.

It does what those do with user data, in their order (awslabs/amazon-eks-ami, nodeadm/cmd/nodeadm/init and
templates/al2023), as far as a node's swap, disks and kubelet depend on it. Only Python's standard library and PyYAML.
"""
