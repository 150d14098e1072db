"""When a webhook is tried again (W-02)."""

from __future__ import annotations

import random

# Seconds to wait after the first, second … failed try: ten tries over about three days.
WAITS_SECONDS = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
TRIES = len(WAITS_SECONDS) + 1
JITTER = 0.1
LONGEST_RETRY_AFTER_SECONDS = 86_400


def delay_seconds(tries_made: int, retry_after_seconds: int | None = None) -> float | None:
    """How long to wait after `tries_made` failures; None when it is time to give up.

    A receiver's `Retry-After` can only lengthen the wait, up to a day. Jitter only adds, so that
    many failures of one moment do not come back as one.
    """
    if tries_made >= TRIES:
        return None
    wait = float(WAITS_SECONDS[tries_made - 1])
    if retry_after_seconds is not None:
        wait = max(wait, min(retry_after_seconds, LONGEST_RETRY_AFTER_SECONDS))
    return wait * (1 + random.uniform(0, JITTER))  # noqa: S311 - spreading load, not a secret
