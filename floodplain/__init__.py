"""What runs in the cluster, and the arithmetic that every room shares. Never imports Pulumi."""

__version__ = "0.1.0"
