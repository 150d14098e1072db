"""A task's place in its queue, as one whole number of 64 bits: the smallest is taken first (Q-01).

The number never changes while the task waits, so it can be the key of an index:

* A lower priority goes first, and of equals the one that arrived first.
* `lifo` is the exact reverse, so its numbers are negative.
* Ageing (Q-08) raises a task by one step of priority in every `aging_seconds`. Two tasks age alike,
  so who is ahead of whom is settled by `priority × aging_seconds + time of arrival`, for ever.
* `random` has no order; its numbers are those of `fifo`, for lists.
"""

from __future__ import annotations

DEFAULT_PRIORITY = 1000
MAX_PRIORITY = 9_999_999_999
# The priority above, the number of arrival below. Past 2**29 tasks the arrival grows into the
# priority's bits: older tasks still come first.
ARRIVAL_BITS = 29
# So that the largest priority, times this, stays within 64 bits.
MAX_AGING_SECONDS = 604_800
# Times of arrival are counted from here: 2020-01-01 in UTC, in milliseconds.
EPOCH_MS = 1_577_836_800_000


def sort_key(
    order: str, aging_seconds: int | None, priority: int, number: int, arrived_at: int
) -> int:
    """The key; `number` is the task's number of arrival, `arrived_at` in milliseconds."""
    if aging_seconds:
        key = priority * aging_seconds * 1000 + arrived_at - EPOCH_MS
    else:
        key = (priority << ARRIVAL_BITS) + number
    return -key if order == "lifo" else key
