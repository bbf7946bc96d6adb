"""EC2 instance types with instance storage: what they are, what pods may use of them, how to select them.

instance-types.tsv was made from the instance type reference of Karpenter for AWS 1.14.0 (its
documentation, which is made from EC2's DescribeInstanceTypes). `floodplain catalogue refresh` makes it anew
from EC2. It holds no allocatable and no capacity figure: those are computed.
"""

from floodplain.catalogue.allocatable import Allocatable, KubeletReserves, allocatable, eviction_percent
from floodplain.catalogue.instance_type import InstanceType, name_parts
from floodplain.catalogue.requirements import Requirement, matches, select
from floodplain.catalogue.table import TableError, load

__all__ = [
    "Allocatable",
    "InstanceType",
    "KubeletReserves",
    "Requirement",
    "TableError",
    "allocatable",
    "eviction_percent",
    "load",
    "matches",
    "name_parts",
    "select",
]
