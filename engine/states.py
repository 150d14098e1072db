"""One move table for each kind of row: (state, verb) gives the next state.

`engine/moves.py` is the only writer of these states; `engine/claims_postgres.py` and its twin for
SQLite write `claim` in their own statements. A verb leads to one state only, so that a move is one
UPDATE.
"""

from __future__ import annotations

Moves = dict[tuple[str, str], str]

GIG: Moves = {
    ("active", "close"): "closed",
    ("closed", "reopen"): "active",
    ("active", "cancel"): "cancelled",
    ("closed", "cancel"): "cancelled",
}

ACCOUNT: Moves = {
    ("active", "deactivate"): "inactive",
}

MAILBOX: Moves = {
    ("pending_approval", "activate"): "active",
    ("inactive", "activate"): "active",
    # Its worker had left and asks again, where the owner admits each worker himself.
    ("inactive", "apply_again"): "pending_approval",
    ("pending_approval", "deactivate"): "inactive",
    ("active", "deactivate"): "inactive",
}

TASK: Moves = {
    ("unfunded", "fund"): "queued",
    ("unfunded", "cancel"): "cancelled",
    ("queued", "cancel"): "cancelled",
    ("rejected", "cancel"): "cancelled",
    ("draft", "cancel"): "cancelled",
    ("unassigned", "cancel"): "cancelled",
    # A draft is published; one that is funded by itself waits for its deposit first.
    ("draft", "publish"): "queued",
    ("draft", "publish_unfunded"): "unfunded",
    # It could not be funded, or costs more than may be spent: its owner decides again.
    ("unfunded", "unpublish"): "draft",
    # An order that was undone before, and could not be funded again.
    ("unfunded", "unsend"): "withdrawn",
    # Its deposit is open although nobody publishes it: its depositor has sent it himself.
    ("withdrawn", "redraft"): "draft",
    ("queued", "claim"): "claimed",
    ("claimed", "release"): "queued",
    # Nobody of the gig could ever be given it, unless its owner names somebody.
    ("queued", "drop"): "dropped",
    ("dropped", "assign"): "claimed",
    ("dropped", "cancel"): "cancelled",
    # Each of its workers has a copy of his own by now, and it is nobody's itself.
    ("queued", "forward"): "forwarded",
    # Work that pays nothing, and that nobody reviews.
    ("claimed", "complete"): "completed",
    # The owner gives it to a worker of his choice, from whom he may have taken it.
    ("queued", "assign"): "claimed",
    ("unassigned", "assign"): "claimed",
    ("claimed", "assign"): "claimed",
    # What was assigned goes back to the owner, and to nobody else; also when there is nobody left
    # to be given it once it is funded.
    ("queued", "hand_back"): "unassigned",
    ("claimed", "hand_back"): "unassigned",
    ("submitted", "hand_back"): "unassigned",
    ("approved", "hand_back"): "unassigned",
    ("rejected", "hand_back"): "unassigned",
    # A copy's template goes on without it.
    ("claimed", "discard"): "discarded",
    ("claimed", "submit"): "submitted",
    # Its proof is taken back, to be handed in again.
    ("submitted", "withdraw"): "claimed",
    # Rejected work whose worker hands in another proof of it, where the mode lets him.
    ("rejected", "resume"): "claimed",
    ("submitted", "approve"): "approved",
    ("rejected", "approve"): "approved",
    ("submitted", "return"): "queued",
    ("approved", "return"): "queued",
    # The rejection had kept it with its worker at first.
    ("rejected", "return"): "queued",
    ("submitted", "reject"): "rejected",
    ("approved", "reject"): "rejected",
    # An order that was undone may be sent again, under its own id.
    ("withdrawn", "publish"): "queued",
    ("withdrawn", "publish_unfunded"): "unfunded",
    # One of its two sides undoes an order: first its money goes back, if there is any.
    ("draft", "undo"): "undoing",
    ("unassigned", "undo"): "undoing",
    ("claimed", "undo"): "undoing",
    ("submitted", "undo"): "undoing",
    ("rejected", "undo"): "undoing",
    # Its money left the contract although it was approved.
    ("approved", "undo"): "undoing",
    # A reorg took the refund back.
    ("withdrawn", "undo"): "undoing",
    ("undoing", "end_undo"): "withdrawn",
    # A reorg made the payout that had been signed for it win against what undid it.
    ("undoing", "restore"): "approved",
    ("withdrawn", "restore"): "approved",
}

# A task in these is there for nobody any more.
DELETED = ("cancelled", "discarded")
# It was nobody's, or each worker has a copy of it: nothing follows but what its owner decides.
PASSED_ON = ("dropped", "forwarded")
# In these nothing happens to a task by itself.
ENDED = (*DELETED, *PASSED_ON, "completed", "approved", "undoing", "withdrawn")

PROOF: Moves = {
    ("pending", "approve"): "approved",
    ("rejected", "approve"): "approved",
    ("pending", "reject"): "rejected",
    ("approved", "reject"): "rejected",
    ("pending", "time_out"): "timeout_approved",
    # Only its worker sees a draft.
    ("draft", "submit"): "pending",
    ("pending", "withdraw"): "draft",
    # What the clock approved may be disputed until a payout carries it, and approved after all.
    ("timeout_approved", "report"): "reported",
    ("reported", "approve"): "approved",
    # Its order was undone, so nobody will decide on it or pay it.
    ("pending", "undo"): "rejected",
    ("approved", "undo"): "rejected",
    ("timeout_approved", "undo"): "rejected",
    ("reported", "undo"): "rejected",
}

ROLLUP: Moves = {
    ("pending", "send"): "sent",
    ("pending", "fail"): "failed",
    ("sent", "fail"): "failed",
    ("failed", "retry"): "pending",
    # Its transaction can never be mined any more: another one has the nonce.
    ("sent", "resend"): "pending",
    # The chain says that it was paid, whatever we believed.
    ("pending", "pay"): "paid",
    ("sent", "pay"): "paid",
    ("failed", "pay"): "paid",
    # It pays nothing, so the chain has no say.
    ("pending", "settle"): "settled",
    # What was signed for it before it was to pay nothing has been mined after all.
    ("settled", "pay"): "paid",
    # The chain took the payment back in a reorg.
    ("paid", "unpay"): "sent",
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
    # Another transaction of the same signer has its nonce, for good.
    ("sent", "replace"): "replaced",
    # Sent again, in another place: what it is to do is one row, whatever place it has.
    ("replaced", "renew"): "sent",
    # The chain took its block back in a reorg.
    ("succeeded", "unmine"): "sent",
    ("reverted", "unmine"): "sent",
    ("replaced", "unmine"): "sent",
}

ESCROW: Moves = {
    ("planned", "open"): "open",
    ("planned", "abandon"): "abandoned",
    # Given up too early: what opens after all is given back.
    ("abandoned", "open"): "open",
    ("open", "refund_asked"): "refunding",
    ("refunding", "refund_refused"): "open",
    ("open", "settle"): "settled",
    ("refunding", "settle"): "settled",
    ("open", "refund"): "refunded",
    ("refunding", "refund"): "refunded",
    ("open", "reclaim"): "reclaimed",
    ("refunding", "reclaim"): "reclaimed",
    # The chain took it back in a reorg.
    ("open", "unopen"): "planned",
    ("refunding", "unopen"): "planned",
    ("settled", "reopen"): "open",
    ("refunded", "reopen"): "open",
    ("reclaimed", "reopen"): "open",
}

POT_REFUND: Moves = {
    ("pending", "send"): "sent",
    ("pending", "fail"): "failed",
    ("sent", "fail"): "failed",
    ("failed", "retry"): "pending",
    ("sent", "resend"): "pending",
    ("pending", "pay"): "paid",
    ("sent", "pay"): "paid",
    ("failed", "pay"): "paid",
    ("paid", "unpay"): "sent",
}

UPLOAD: Moves = {
    ("waiting", "store"): "stored",
    # Nobody has put its bytes in time, or no row has named it for long.
    ("waiting", "remove"): "removing",
    ("stored", "remove"): "removing",
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
    "escrow": ESCROW,
    "pot_refund": POT_REFUND,
    "upload": UPLOAD,
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
