"""Proofs: what a worker hands in, and what became of it."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


class Proof(Table):
    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    mailbox_id = peewee.TextField(index=True, constraints=[references("mailbox")])
    task_id = peewee.TextField(constraints=[references("task")])
    status = peewee.TextField()
    evidence = JsonField()
    tags = JsonField()
    private_note = peewee.TextField()
    # What it pays. NULL while the price is to be decided.
    locked_price_units = peewee.BigIntegerField(null=True)
    price_source = peewee.TextField()
    feedback = peewee.TextField()
    rejection_tag = peewee.TextField(null=True)
    # True once the rejected task went back to the others: that verdict is final.
    returned = peewee.BooleanField()
    submitted_at = peewee.BigIntegerField()
    timeout_at = peewee.BigIntegerField(null=True)
    reviewed_at = peewee.BigIntegerField(null=True)
    rollup_id = peewee.TextField(null=True, index=True, constraints=[references("rollup")])
    paid_out_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("gig_id", "submitted_at", "id"), False),)


PAYABLE = ("approved", "timeout_approved")
UNDECIDED = in_states(Proof.status, "pending")
UNCARRIED = Proof.rollup_id.is_null() & in_states(Proof.status, *PAYABLE)
# What a settlement closes without paying.
UNCLOSED = Proof.rollup_id.is_null() & in_states(Proof.status, "rejected")

# What may still have to be paid: approved work, and rejections that may still be revised.
# What is undecided is not among it; its task is in its worker's hands.
UNSETTLED = UNCARRIED | (UNCLOSED & ~Proof.returned)

# At most one proof of a task is alive, whatever two requests do at once.
Proof.add_index(
    Proof.index(
        Proof.task_id,
        unique=True,
        name="proof_one_live_per_task",
        where=in_states(Proof.status, "pending", *PAYABLE),
    )
)
# The review timer reads only what is still open.
Proof.add_index(Proof.index(Proof.timeout_at, name="proof_due", where=UNDECIDED))
# Settlement reads only what is owed and not yet carried.
Proof.add_index(Proof.index(Proof.gig_id, name="proof_payable", where=UNCARRIED))
Proof.add_index(Proof.index(Proof.gig_id, name="proof_unclosed", where=UNCLOSED))
