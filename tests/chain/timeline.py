"""What happened when: the chain's events in the order in which they were seen, with seconds since its start."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Timeline:
    """Seconds count from its making."""

    began: float = field(default_factory=time.monotonic)
    events: list[tuple[float, str]] = field(default_factory=list)

    def mark(self, event: str) -> None:
        self.events.append((time.monotonic() - self.began, event))

    def text(self) -> str:
        """A line an event: when, how long after the one before, and what."""
        lines, before = ["      at    took"], 0.0
        for at, event in self.events:
            lines.append(f"{at:7.1f}s {at - before:6.1f}s  {event}")
            before = at
        return "\n".join(lines)
