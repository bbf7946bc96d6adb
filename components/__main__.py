"""The component package: `pulumi package add <repo>.git/components@vX.Y.Z` starts this file.

The whole repository is cloned, so the repository root goes on the path, where `floodplain` and `nodeconfig` are.
It takes the place of this folder, whose modules must be reachable as `components.*` only.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from pulumi.provider import main  # noqa: E402

from components.package import PackageProvider  # noqa: E402

if __name__ == "__main__":
    main(PackageProvider(), sys.argv[1:])
