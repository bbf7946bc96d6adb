"""What Karpenter 1.14.1 takes as a NodePool and an EC2NodeClass, and what an edit of one does to the fleet.

Pure: no Pulumi, no cluster. Every rule of the two CRDs (as shipped for AWS) is here, and the checks behind them
that fail late or in silence. Not floodplain's own demands on a pool.
"""

from .disruption import Budget, Disruption, Rolling, nodes_at_most
from .drift import DriftedField, drift_fields
from .kubelet import KubeletSpec
from .names import label_value, qualified_name
from .nodeclass import EC2NodeClassSpec, is_tag_of_karpenter
from .nodepool import NodePoolSpec
from .objects import changed_immutably, violations
from .requirement import Requirement
from .taint import Taint
from .violation import Violation

KARPENTER_VERSION = "1.14.1"
"""The version whose CRDs these rules are."""

__all__ = [
    "KARPENTER_VERSION",
    "Budget",
    "Disruption",
    "DriftedField",
    "EC2NodeClassSpec",
    "KubeletSpec",
    "NodePoolSpec",
    "Requirement",
    "Rolling",
    "Taint",
    "Violation",
    "changed_immutably",
    "drift_fields",
    "is_tag_of_karpenter",
    "label_value",
    "nodes_at_most",
    "qualified_name",
    "violations",
]
