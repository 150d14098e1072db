"""What waits: counts for the operator's graphs. Each rests on a partial or small index."""

from __future__ import annotations

from collections.abc import Iterator

from engine import clock
from engine.db import db

Numbers = tuple[str, str, str, list[tuple[str, float]]]

_OLDEST = "SELECT min(created_at) FROM command WHERE status IN ('pending', 'running', 'waiting')"
_COUNTS = (
    (
        "commands",
        "Commands that are not finished.",
        "SELECT status, count(*) FROM command "
        "WHERE status IN ('pending', 'running', 'waiting') GROUP BY status",
    ),
    (
        "deliveries",
        "Webhooks that are not delivered yet.",
        "SELECT status, count(*) FROM delivery "
        "WHERE status IN ('pending', 'delivering') GROUP BY status",
    ),
    (
        "rollups",
        "Payouts that are made and not paid.",
        "SELECT status, count(*) FROM rollup "
        "WHERE status IN ('pending', 'sent', 'failed') GROUP BY status",
    ),
    (
        "chain_transactions",
        "Transactions that are sent and not final.",
        "SELECT status, count(*) FROM chain_transaction WHERE status IN ('sent') GROUP BY status",
    ),
)


def numbers() -> Iterator[Numbers]:
    """(name, help, label, [(label's value, count)]) of each family."""
    with db.reading():
        for name, help_text, statement in _COUNTS:
            found = [(str(status), float(count)) for status, count in db.rows(statement)]
            yield name, help_text, "status", found
        waiting = db.scalar("SELECT count(*) FROM queue_entry")
        yield "queued_tasks", "Tasks that wait for a worker.", "shelf", [("queue", float(waiting))]
        oldest = db.scalar(_OLDEST)
        age = 0.0 if oldest is None else (clock.now() - int(oldest)) / clock.SECOND
        help_text = "Age of the oldest unfinished command."
        yield "oldest_command_seconds", help_text, "kind", [("any", age)]
