"""Handing in a proof (R-01 … R-03), by whoever holds the task or takes it with his proof.

Each proof begins as a draft, which nobody but its worker sees; handing it in is one move more, made
in the same transaction unless he keeps it back. What he does with a draft: `proof_drafts.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import (
    clock,
    events,
    gigs,
    holding,
    in_hand,
    mailboxes,
    order_news,
    own_work,
    pot_cover,
    taking_by_proof,
    upload_uses,
)
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, invalid
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import DRAFT, Proof
from engine.models.task import Task
from engine.modes import ask
from engine.moves import move
from engine.operations import Caller, permit

MAX_NOTE_CHARACTERS = 8000
REFUSED = "proof.refused"

_TOLD = """
SELECT 1 FROM event WHERE subject_id = ? AND type = ? AND mailbox_id = ? LIMIT 1
"""
_HANDED_IN = """
SELECT max(times_submitted) FROM proof WHERE task_id = ? AND mailbox_id = ? AND id <> ?
"""


@dataclass(frozen=True)
class HandIn:
    """What a worker hands in. `evidence` is a list of texts or links, as he gave them.

    `task_id` is the task's, or his own name of the work where the gig hands out none (U-03).
    """

    task_id: str
    mailbox_id: str | None
    evidence: list[str]
    tags: list[str]
    private_note: str
    asking_price_units: int | None = None
    draft: bool = False


@dataclass(frozen=True)
class HandedIn:
    """The proof, and a sentence where the gig's pot does not cover it yet."""

    proof: Proof
    warning: str | None = None


def submit(caller: Caller, gig_id: str, given: HandIn) -> HandedIn:
    """Hand in a proof of a task that the worker holds, or that still waits unclaimed (R-01).

    With `draft` it is kept back (R-03). 410 `claim_lost` if the task was his and is no more, which
    the log then tells (F03); 409 `draft_exists` where he has a draft of it already.
    """

    def write() -> tuple[Gig, Task, Proof]:
        gig = gigs.get(gig_id)
        permit("proof.submit", caller, gig)
        if given.draft:
            permit("proof.draft", caller, gig)
        proving = ask(gig.distribution).proving(gigs.facts(gig))
        if proving.own_names or proving.again:
            # What is taken up here waited in no queue: whoever cancels the gig must not miss it.
            gig = gigs.held(gig_id)
        if given.asking_price_units is not None:
            require_offers(gig)
        mailbox = _mailbox(caller, gig, given, proving.own_names)
        mailboxes.hold(mailbox)
        find = own_work.held if proving.own_names else taking_by_proof.held
        task = find(gig, mailbox, given.task_id)
        proof = _draft(gig, mailbox, task, given)
        if not given.draft:
            hand_over(caller, gig, task, proof)
        return gig, task, proof

    try:
        gig, task, proof = db.write(write)
    except Refused as refusal:
        reason = refusal
        if refusal.code == in_hand.CLAIM_LOST:
            db.write(lambda: _tell_refused(caller, gig_id, given, reason))
        raise
    return handed_in(gig, task, proof)


def by_plan(gig: Gig, mailbox: Mailbox, task: Task, evidence: list[str]) -> Proof:
    """A proof that a mode's plan hands in, of a task in this mailbox's hands; in `db.write`."""
    given = HandIn(task.id, mailbox.id, evidence, tags=[], private_note="")
    proof = _draft(gig, mailbox, task, given)
    hand_over(Caller(mailbox.account_id), gig, task, proof)
    return proof


def handed_in(gig: Gig, task: Task, proof: Proof) -> HandedIn:
    """The answer for a proof; after its transaction, since it may ask the chain."""
    # An order is paid by its own deposit, or for nothing.
    from_pot = task.deposit_id is None and task.client_id is None
    lacking = proof.status == "pending" and from_pot
    return HandedIn(proof, pot_cover.warning(gig, proof) if lacking else None)


def _mailbox(caller: Caller, gig: Gig, given: HandIn, own_names: bool) -> Mailbox:
    if own_names:
        return mailboxes.active_of(caller, gig, given.mailbox_id)
    return in_hand.mailbox_of(caller, gig, given.task_id, given.mailbox_id)


def _draft(gig: Gig, mailbox: Mailbox, task: Task, given: HandIn) -> Proof:
    known = Proof.get_or_none(Proof.task_id == task.id, DRAFT)
    if known is not None:
        raise Refused(
            "draft_exists",
            "You have a draft of a proof of this task. Change that and hand it in, or delete it.",
            proof_id=known.id,
        )
    proof = Proof.create(
        id=new_id("PROOF"),
        gig_id=gig.id,
        mailbox_id=mailbox.id,
        task_id=task.id,
        task_identifier=task.named_as,
        status="draft",
        evidence=given.evidence,
        tags=given.tags,
        private_note=given.private_note,
        asking_price_units=given.asking_price_units,
        # Locked when it is handed in.
        locked_price_units=None,
        price_source=_source(task),
        feedback="",
        returned=False,
        times_submitted=0,
        submitted_at=clock.now(),
    )
    upload_uses.of_proof(proof, mailbox.account_id)
    return proof


def require_offers(gig: Gig) -> None:
    """400 where nobody may ask for another price than the task's (R-02)."""
    if not gig.allow_price_offers:
        raise invalid("asking_price", "this gig takes no price offers; leave it out, or set null")


def hand_over(caller: Caller, gig: Gig, task: Task, proof: Proof) -> None:
    """Hand in a draft of a task that its worker holds; only inside `db.write`.

    Now its price is locked, which is what the task is held at (R-02), and its review begins.
    """
    if task.client_id is not None and not proof.evidence and not proof.private_note:
        what = "hand in something: proofs that the buyer reads, a private_note that he pays for"
        raise Refused("invalid", f"{what}.", errors={"proofs": what, "private_note": what})
    now = clock.now()
    if task.accept_by is not None:
        # Whoever hands in has accepted (U-04).
        holding.accept(task, caller.account_id)
    move(task, "submit", Task.mailbox_id == proof.mailbox_id)
    move(
        proof,
        "submit",
        locked_price_units=task.held_price_units,
        price_source=_source(task),
        submitted_at=now,
        timeout_at=_deadline(gig, now),
        times_submitted=_times_before(task, proof) + 1,
    )
    events.append(
        "proof.submitted",
        events.Subject("proof", proof.id),
        actor=caller.account_id,
        gig_id=gig.id,
        mailbox_id=proof.mailbox_id,
        data={
            "mailbox_id": proof.mailbox_id,
            "proof_id": proof.id,
            "task_identifier": proof.identifier,
            "locked_price": money_field(proof.locked_price_units),
            "private_note_locked": bool(proof.private_note),
            "resubmitted": proof.times_submitted > 1,
        },
    )
    order_news.delivered(gig, task, proof)


def _source(task: Task) -> str:
    """Where the price comes from that the task is held at; one to be decided, from its review."""
    if task.held_price_units is None:
        return "review"
    return "gig" if task.price_units is None else "task"


def _times_before(task: Task, proof: Proof) -> int:
    """How often this mailbox has handed in its work on the task, by this proof or another one."""
    if proof.times_submitted:
        return proof.times_submitted
    others: int | None = db.scalar(_HANDED_IN, (task.id, proof.mailbox_id, proof.id))
    if not others and db.rows(_TOLD, (task.id, holding.DROPPED, proof.mailbox_id)):
        return 1
    return others or 0


def _deadline(gig: Gig, now: int) -> int | None:
    if gig.review_timeout_seconds == gigs.MANUAL_REVIEW:
        return None
    return now + gig.review_timeout_seconds * clock.SECOND


def _tell_refused(caller: Caller, gig_id: str, given: HandIn, refusal: Refused) -> None:
    gig = gigs.get(gig_id)
    mailbox = in_hand.mailbox_of(caller, gig, given.task_id, given.mailbox_id)
    tell_refused(caller, mailbox, given.task_id, refusal)


def tell_refused(caller: Caller, mailbox: Mailbox, task_id: str, refusal: Refused) -> None:
    """Whoever lost a task has handed in all the same; told once for each mailbox."""
    if db.rows(_TOLD, (task_id, REFUSED, mailbox.id)):
        return
    events.append(
        REFUSED,
        events.Subject("task", task_id),
        actor=caller.account_id,
        gig_id=mailbox.gig_id,
        mailbox_id=mailbox.id,
        data={
            "mailbox_id": mailbox.id,
            "task_identifier": task_id,
            "reason": refusal.code,
            "error": refusal.message,
        },
    )
