"""What is looked at again and again, since a bell may be lost or a process end at any line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import bells, cancellation, due, holds, waiting_delivery

# Of tasks: claims that have run out, what is due, what waits for a worker, bells of modes, and what
# came into a gig while it was cancelled. In this order: each may make work for the next.
OF_TASKS: tuple[Callable[[], Any], ...] = (
    holds.expire,
    due.enqueue,
    waiting_delivery.sweep,
    bells.ring,
    cancellation.sweep,
)
