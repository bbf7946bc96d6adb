"""One line over the tests of all tiers, in pytest's words, from their junit reports. Standard library only."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def closing_line(reports: list[str]) -> str:
    """Such as "1 failed, 41 passed, 2 skipped in 12.30s"; what pytest calls an error counts as failed."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    for report in reports:
        for suite in ET.fromstring(report).iter("testsuite"):
            seconds += float(suite.get("time", "0"))
            for case in suite.iter("testcase"):
                kinds = {child.tag for child in case}
                bad = kinds & {"failure", "error"}
                counts["failed" if bad else "skipped" if "skipped" in kinds else "passed"] += 1
    told = [f"{counts[kind]} {kind}" for kind in ("failed", "passed", "skipped") if counts[kind]]
    return f"{', '.join(told) or 'no tests ran'} in {seconds:.2f}s"


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    print(closing_line([file.read_text(encoding="utf-8") for file in files if file.exists()]))
