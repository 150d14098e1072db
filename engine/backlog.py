"""What waits: counts for the operator's graphs. Each rests on a partial or small index."""

from __future__ import annotations

from collections.abc import Iterator

from engine import clock, signers
from engine.db import db

Labels = tuple[str, ...]
# Name, help, labels, and the labels' values with each number.
Numbers = tuple[str, str, Labels, list[tuple[Labels, float]]]

_OLDEST = "SELECT min(created_at) FROM command WHERE status IN ('pending', 'running', 'waiting')"
# Numbers are in the order of arrival, and the unique index on them begins with the oldest.
_OLDEST_QUEUED = """
SELECT created_at FROM task WHERE number = (SELECT min(task_number) FROM queue_entry)
"""
_UNDERWAY = """
SELECT signer, count(*), min(created_at) FROM chain_transaction WHERE status IN ('sent')
GROUP BY signer
"""
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
    """Each family of numbers."""
    with db.reading():
        for name, help_text, statement in _COUNTS:
            found: list[tuple[Labels, float]] = [
                ((str(status),), float(count)) for status, count in db.rows(statement)
            ]
            yield name, help_text, ("status",), found
        waiting = db.scalar("SELECT count(*) FROM queue_entry")
        help_text = "Tasks that wait for a worker."
        yield "queued_tasks", help_text, ("shelf",), [(("queue",), float(waiting))]
        found_oldest = db.rows(_OLDEST_QUEUED)
        age = _age(found_oldest[0][0] if found_oldest else None)
        help_text = "Age of the task that has waited longest for a worker."
        yield "oldest_queued_task_seconds", help_text, ("shelf",), [(("queue",), age)]
        oldest = db.scalar(_OLDEST)
        help_text = "Age of the oldest unfinished command."
        yield "oldest_command_seconds", help_text, ("kind",), [(("any",), _age(oldest))]
        yield from _signers()


def _signers() -> Iterator[Numbers]:
    """The operator's keys one by one; all hot wallets together, since there may be many."""
    roles = signers.roles()
    balances: list[tuple[Labels, float]] = [
        ((address, roles[address]), float(balance))
        for address, balance in db.rows("SELECT address, balance_wei FROM signer")
        if balance is not None and address in roles
    ]
    underway: dict[Labels, list[tuple[int, int]]] = {one: [] for one in roles.items()}
    for address, count, oldest in db.rows(_UNDERWAY):
        who: Labels = (address, roles[address]) if address in roles else ("any", "wallet")
        underway.setdefault(who, []).append((int(count), int(oldest)))
    counts: list[tuple[Labels, float]] = []
    ages: list[tuple[Labels, float]] = []
    for who, found in underway.items():
        counts.append((who, float(sum(count for count, _ in found))))
        ages.append((who, _age(min((oldest for _, oldest in found), default=None))))
    labels = ("signer", "role")
    yield "signer_balance_wei", "Ether of the operator's keys, as last seen.", labels, balances
    yield "signer_open_transactions", "Transactions sent and not final.", labels, counts
    help_text = "Age of the oldest transaction that is sent and not final."
    yield "signer_oldest_transaction_seconds", help_text, labels, ages


def _age(since: int | None) -> float:
    return 0.0 if since is None else (clock.now() - int(since)) / clock.SECOND
