"""Proofs: what a worker hands in, and what became of it."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


class Proof(Table):
    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    mailbox_id = peewee.TextField(index=True, constraints=[references("mailbox")])
    task_id = peewee.TextField(index=True, constraints=[references("task")])
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
    # When it was handed in last; of a draft that never was, when it was made.
    submitted_at = peewee.BigIntegerField()
    timeout_at = peewee.BigIntegerField(null=True)
    reviewed_at = peewee.BigIntegerField(null=True)
    rollup_id = peewee.TextField(null=True, index=True, constraints=[references("rollup")])
    paid_out_at = peewee.BigIntegerField(null=True)
    # How the worker himself names the work, where his gig hands out none (U-03).
    task_identifier = peewee.TextField(null=True)
    # What he asks for instead of the price; paid only if it is approved at that.
    asking_price_units = peewee.BigIntegerField(null=True)
    # How many times its mailbox has handed in its work on the task, by this proof or one before it;
    # 0 for a draft that never was.
    times_submitted = peewee.BigIntegerField(default=1, constraints=[peewee.SQL("DEFAULT 1")])
    # When its task went on to others, which makes its rejection final.
    returned_at = peewee.BigIntegerField(null=True)
    reported_at = peewee.BigIntegerField(null=True)
    # The side that reported it: `client` pays and approves, `gigworker` does the work.
    reported_by = peewee.TextField(null=True)
    report_reason = peewee.TextField(null=True)

    @property
    def identifier(self) -> str:
        """What its worker and its reviewer call the work: `task_identifier` of every answer."""
        return str(self.task_id if self.task_identifier is None else self.task_identifier)

    class Meta:
        indexes = ((("gig_id", "submitted_at", "id"), False),)


# Its worker's alone.
DRAFT = in_states(Proof.status, "draft")
PAYABLE = ("approved", "timeout_approved")
UNDECIDED = in_states(Proof.status, "pending")
UNCARRIED = Proof.rollup_id.is_null() & in_states(Proof.status, *PAYABLE)
# What a settlement closes without paying.
UNCLOSED = Proof.rollup_id.is_null() & in_states(Proof.status, "rejected")

# What the clock approved and somebody disputes: not payable, but it may still be approved.
REPORTED = in_states(Proof.status, "reported")

# What may still have to be paid: approved work, what is disputed, and rejections that may still be
# revised. What is undecided is not among it; its task is in its worker's hands.
UNSETTLED = UNCARRIED | REPORTED | (UNCLOSED & ~Proof.returned)


def may_be_revised(proof: Proof) -> bool:
    """Is there a verdict that its reviewer may still change (R-04)?"""
    disputed = proof.reported_at is not None
    decided = proof.status == "rejected" or (proof.status == "approved" and not disputed)
    return decided and proof.rollup_id is None and not proof.returned


def is_released_by_verdict(proof: Proof) -> bool:
    """Has its reviewer, or the clock, approved it, whatever was disputed since (R-06)?"""
    return proof.status in (*PAYABLE, "reported")


# At most one proof of a task is alive, whatever two requests do at once.
LIVE = in_states(Proof.status, "draft", "pending", *PAYABLE, "reported")
Proof.add_index(Proof.index(Proof.task_id, unique=True, name="proof_one_live_per_task", where=LIVE))
# The review timer reads only what is still open.
Proof.add_index(Proof.index(Proof.timeout_at, name="proof_due", where=UNDECIDED))
# Settlement reads only what is owed and not yet carried.
Proof.add_index(Proof.index(Proof.gig_id, name="proof_payable", where=UNCARRIED))
Proof.add_index(Proof.index(Proof.gig_id, name="proof_unclosed", where=UNCLOSED))


class ProofAlias(Table):
    """An account's own name for a proof."""

    account_id = peewee.TextField(constraints=[references("account")])
    proof_id = peewee.TextField(constraints=[references("proof")])
    name = peewee.TextField()

    class Meta:
        primary_key = peewee.CompositeKey("account_id", "proof_id")
        indexes = ((("proof_id",), False),)
