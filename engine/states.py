"""One move table for each kind of row: (state, verb) gives the next state.

`engine/moves.py` is the only writer of these states; `engine/claims.py` writes `claim` in its own
statement. A verb leads to one state only, so that a move is one UPDATE.
"""

from __future__ import annotations

Moves = dict[tuple[str, str], str]

GIG: Moves = {
    ("active", "close"): "closed",
    ("closed", "reopen"): "active",
}

ACCOUNT: Moves = {
    ("active", "deactivate"): "inactive",
}

MAILBOX: Moves = {
    ("pending_approval", "activate"): "active",
    ("inactive", "activate"): "active",
    ("pending_approval", "deactivate"): "inactive",
    ("active", "deactivate"): "inactive",
}

TASK: Moves = {
    ("queued", "claim"): "claimed",
    ("claimed", "release"): "queued",
    ("claimed", "submit"): "submitted",
    ("submitted", "approve"): "approved",
    ("rejected", "approve"): "approved",
    ("submitted", "return"): "queued",
    ("approved", "return"): "queued",
    ("submitted", "reject"): "rejected",
    ("approved", "reject"): "rejected",
}

PROOF: Moves = {
    ("pending", "approve"): "approved",
    ("rejected", "approve"): "approved",
    ("pending", "reject"): "rejected",
    ("approved", "reject"): "rejected",
    ("pending", "time_out"): "timeout_approved",
}

ROLLUP: Moves = {
    ("pending", "send"): "sent",
    ("pending", "fail"): "failed",
    ("sent", "fail"): "failed",
    ("failed", "retry"): "pending",
    # The chain says that it was paid, whatever we believed.
    ("pending", "pay"): "paid",
    ("sent", "pay"): "paid",
    ("failed", "pay"): "paid",
}

COMMAND: Moves = {
    ("pending", "start"): "running",
    ("waiting", "start"): "running",
    # Whoever held it died; the expired lease is the condition.
    ("running", "retake"): "running",
    ("running", "wait"): "waiting",
    ("running", "finish"): "done",
    ("running", "fail"): "failed",
}

DELIVERY: Moves = {
    ("pending", "start"): "delivering",
    ("delivering", "retake"): "delivering",
    ("delivering", "succeed"): "delivered",
    ("delivering", "retry"): "pending",
    ("delivering", "give_up"): "failed",
    ("delivering", "pause"): "paused",
    ("pending", "pause"): "paused",
    ("paused", "resume"): "pending",
    ("failed", "redeliver"): "pending",
    ("delivered", "redeliver"): "pending",
    ("paused", "redeliver"): "pending",
    # At once, instead of when its turn comes.
    ("pending", "redeliver"): "pending",
    # To be sent again once the endpoint is enabled.
    ("failed", "set_aside"): "paused",
    ("delivered", "set_aside"): "paused",
    ("paused", "set_aside"): "paused",
    ("pending", "set_aside"): "paused",
}

ENDPOINT: Moves = {
    ("active", "disable"): "disabled",
    ("disabled", "enable"): "active",
}

CHAIN_TRANSACTION: Moves = {
    ("sent", "succeed"): "succeeded",
    ("sent", "revert"): "reverted",
}

TABLES: dict[str, Moves] = {
    "account": ACCOUNT,
    "gig": GIG,
    "mailbox": MAILBOX,
    "task": TASK,
    "proof": PROOF,
    "rollup": ROLLUP,
    "command": COMMAND,
    "delivery": DELIVERY,
    "endpoint": ENDPOINT,
    "chain_transaction": CHAIN_TRANSACTION,
}


def sources(table: str, verb: str) -> list[str]:
    """The states from which `verb` is allowed."""
    return [state for state, known in TABLES[table] if known == verb]


def target(table: str, verb: str) -> str:
    """The one state that `verb` leads to."""
    targets = {after for (_, known), after in TABLES[table].items() if known == verb}
    if len(targets) != 1:
        raise KeyError(f"{table} has no move {verb!r}")
    return targets.pop()
