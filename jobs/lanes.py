"""A lane: one endpoint's tries in this process, and when there are to be none (W-05)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from engine import clock
from engine.deliveries import Outcome

# Failures in a row that open an endpoint's circuit, and how long nothing is sent to it then.
CIRCUIT_FAILURES = 5
CIRCUIT_MS = 30_000
REMEMBER_FAILURES_MS = 3_600_000


@dataclass
class Lane:
    """Times in `_at` are the engine's, so that a clock moved forward moves these.

    `leased_until` is this process's own clock, in seconds: how long the endpoint is surely ours.
    """

    endpoint_id: str
    waiting: deque[str] = field(default_factory=deque)
    running: set[str] = field(default_factory=set)
    failures: int = 0
    failed_at: int = 0
    # The receiver asked to be left alone until then.
    shielded_until_at: int = 0
    leased_until: float = 0.0

    def is_shut(self, now: int) -> bool:
        """Its circuit is open, or its receiver asked to wait."""
        circuit_is_open = self.failures >= CIRCUIT_FAILURES and now < self.failed_at + CIRCUIT_MS
        return circuit_is_open or now < self.shielded_until_at

    def is_busy(self, now: int) -> bool:
        """It has ids in hand, or may have none."""
        return bool(self.waiting) or self.is_shut(now)

    def is_forgettable(self, now: int) -> bool:
        failing = self.failures > 0 and now < self.failed_at + REMEMBER_FAILURES_MS
        return not (self.waiting or self.running or failing or self.is_shut(now))

    def allowance(self, per_endpoint: int) -> int:
        # One that has just failed is likely to hold whatever is sent to it until the time is up.
        return per_endpoint if self.failures == 0 else 1

    def note(self, outcome: Outcome, now: int) -> None:
        if outcome.delivered:
            self.failures = 0
            return
        self.failures += 1
        self.failed_at = now
        asked = now + outcome.asks_to_wait_seconds * clock.SECOND
        self.shielded_until_at = max(self.shielded_until_at, asked)
        if self.is_shut(now):
            self.waiting.clear()

    def reopen(self) -> None:
        """Forget what was wrong: somebody has mended the receiver, or set another one."""
        self.failures = 0
        self.shielded_until_at = 0
