"""A node as a virtual machine: a Debian image with a real systemd, mdadm, XFS, containerd and kubelet, booted with the
bytes of a launch template. Amazon Linux and nodeadm are not in it: `nodeadm_standin` plays nodeadm's part.
"""
