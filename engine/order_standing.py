"""Where an order stands that somebody wants to act on: sent, on its way, or undone (O-09)."""

from __future__ import annotations

from engine.errors import Refused
from engine.models.task import Task

# Its deposit is on its way in, or back.
UNDER_WAY = ("unfunded", "undoing")
# Nobody but its two sides reads it in these states.
PRIVATE = ("draft", "withdrawn", *UNDER_WAY)


def require_steady(task: Task) -> None:
    """409 `in_progress` while a locked order is being funded or undone; of other tasks nothing."""
    if task.client_id is None or task.status not in UNDER_WAY:
        return
    what = "funded" if task.status == "unfunded" else "undone"
    raise Refused(
        "in_progress",
        f"This order is being {what} just now. Read it again in a moment.",
        message_id=task.id,
        status_now=task.status,
        retry_after=1,
    )


def require_standing(task: Task) -> None:
    """The same, and 409 `order_withdrawn` for one that was undone."""
    require_steady(task)
    if task.client_id is not None and task.status == "withdrawn":
        raise Refused(
            "order_withdrawn",
            "This order was undone, so nothing more is done on it. Its buyer may send it again.",
            message_id=task.id,
            status_now=task.status,
        )
