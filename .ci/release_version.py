"""Refuse a release whose tag is not `v` and the package's own version. Standard library only."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def problem(tag: str, source: str, changelog: str) -> str | None:
    """What is wrong with releasing `tag` from these texts of floodplain/__init__.py and CHANGELOG.md, or None."""
    found = re.search(r'^__version__\s*(?::[^=]+)?=\s*"([^"]+)"', source, re.MULTILINE)
    if not found:
        return "floodplain/__init__.py sets no __version__"
    version = found[1]
    if tag != f"v{version}":
        return f"the tag is {tag} but floodplain.__version__ is {version}; tag v{version}, or set the version first"
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        return f"CHANGELOG.md has no section `## {version}`; say what this release brings"
    return None


def main(tag: str) -> int:
    """Print the problem, if any; 1 then and 0 otherwise."""
    source = (ROOT / "floodplain" / "__init__.py").read_text(encoding="utf-8")
    wrong = problem(tag, source, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if wrong:
        print(wrong, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
