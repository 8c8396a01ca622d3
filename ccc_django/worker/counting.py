"""Counting: what a worker has done for each group."""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

WINDOW = 10.0  # seconds over which a rate is taken


@dataclass(slots=True)
class Count:
    """What was done for one group."""

    handled: int = 0
    failed: int = 0
    lost: int = 0
    _lately: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, handled: int) -> None:
        """So many messages are done."""
        self.handled += handled
        now = time.monotonic()
        if not self._lately or now - self._lately[-1][0] > WINDOW / 20:
            self._lately.append((now, self.handled))
        while now - self._lately[0][0] > WINDOW:
            self._lately.popleft()

    @property
    def rate(self) -> float:
        """Messages a second, lately."""
        if not self._lately:
            return 0.0
        since, before = self._lately[0]
        passed = time.monotonic() - since
        return 0.0 if passed > 2 * WINDOW else (self.handled - before) / max(passed, WINDOW / 20)

    def as_json(self) -> dict[str, Any]:
        """What others are told."""
        return {"handled": self.handled, "failed": self.failed, "lost": self.lost, "rate": round(self.rate, 1)}
