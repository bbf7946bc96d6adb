"""Fail unless a junit report shows tests that all ran and passed: a skip hides what it was meant to say.

Standard library only. Expected failures count as skips in junit, and here too.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def complaints(report: str) -> list[str]:
    """What keeps the junit `report` from being a clean pass, one line each."""
    suites = list(ET.fromstring(report).iter("testsuite"))
    ran = sum(int(suite.get("tests", "0")) for suite in suites)
    found = [] if ran else ["no test ran"]
    for case in ET.fromstring(report).iter("testcase"):
        for kind in ("skipped", "failure", "error"):
            for outcome in case.findall(kind):
                name = f"{case.get('classname')}.{case.get('name')}"
                found.append(f"{kind}: {name}: {outcome.get('message', '')}".strip())
    return found


def main(path: Path) -> int:
    """Print the complaints; 1 if there are any, or no report."""
    if not path.exists():
        print(f"{path.name} was not written: the tests did not run to their end")
        return 1
    found = complaints(path.read_text(encoding="utf-8"))
    print("\n".join(found) or "every test ran and passed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
