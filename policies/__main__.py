"""The policy pack: `pulumi preview --policy-pack policies` starts this file. Import `policies.rules` instead.

The engine starts it with this folder as the working directory and as `sys.path[0]`; the repository root takes
that place, so that `floodplain` and `nodeconfig` are found and `rules` is only ever `policies.rules`.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pulumi_policy import EnforcementLevel, PolicyPack  # noqa: E402

from policies.rules import POLICIES  # noqa: E402

if __name__ == "__main__":
    PolicyPack("floodplain", POLICIES, enforcement_level=EnforcementLevel.MANDATORY)
