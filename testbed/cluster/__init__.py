"""A Kubernetes cluster on loopback: real control plane, nodes by KWOK or by fake kubelets, and the real Karpenter."""
