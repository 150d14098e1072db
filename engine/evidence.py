"""Reading proofs: which, and as whom. A draft is shown to its submitter alone (R-03)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine import gigs, mailboxes, pages, parties
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.proof import DRAFT, Proof
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import OWNER, Caller, permit

# What the reader is to the proof; an order's buyer reviews what its vendor, the owner, hands in.
SUBMITTER, REVIEWER = "submitter", "reviewer"
# Nothing is paid for it, so the approval opens its note, and not the payout.
FREE = "free"
# What is shown of an order with each of its deliveries.
_BOUGHT = (
    Task.id,
    Task.gig_id,
    Task.client_id,
    Task.status,
    Task.order_free,
    Task.deposit_id,
    Task.escrowed_at,
    Task.escrow_units,
    Task.escrow_fee_bps,
    Task.price_units,
    Task.funded_minimum_units,
    Task.claimed_at,
    Task.order_withdrawn_at,
    Task.order_withdrawn_by,
    Task.order_withdrawn_reason,
)


@dataclass(frozen=True)
class Seen:
    """A proof, what its reader is to it, and the order that it delivers, if it does."""

    proof: Proof
    seen_as: frozenset[str]
    order: Task | None


def read(caller: Caller, gig_id: str, proof_id: str) -> Seen:
    """A proof that the caller may see: his own, or one that he reviews; and what he is to it."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("proof.read", caller, gig)
        return find(caller, gig, proof_id)


def find(caller: Caller, gig: Gig, proof_id: str) -> Seen:
    """The same for a caller who may read proofs here; 404 for one that he cannot see."""
    proof = Proof.get_or_none(Proof.id == proof_id, Proof.gig_id == gig.id)
    if proof is None:
        raise not_found("proof")
    (seen,) = as_seen_by(caller.account_id, gig, [proof], mailboxes.ids_of(caller, gig))
    if not seen.seen_as & ({SUBMITTER} if proof.status == "draft" else {SUBMITTER, REVIEWER}):
        raise not_found("proof")
    return seen


def as_seen_by(
    account_id: str, gig: Gig, proofs: Iterable[Proof], own: Iterable[str]
) -> list[Seen]:
    """Proofs of a gig, each with what an account, whose mailboxes `own` are, is to it."""
    found, mine = list(proofs), set(own)
    orders: dict[str, Task] = {}
    if takes_orders(gig):
        of = Task.id.in_({proof.task_id for proof in found})
        orders = {task.id: task for task in Task.select(*_BOUGHT).where(of)}

    def seen(proof: Proof) -> Seen:
        order = orders.get(proof.task_id)
        reviewer = str(gig.owner_id) if order is None else parties.client_of(gig, order)
        is_it = {
            SUBMITTER: proof.mailbox_id in mine,
            REVIEWER: account_id == reviewer,
            FREE: order is not None and order.order_free,
        }
        return Seen(proof, frozenset(name for name, holds in is_it.items() if holds), order)

    return [seen(proof) for proof in found]


def listed(
    caller: Caller,
    gig_id: str,
    limit: int,
    after: pages.Position,
    filters: dict[str, Any],
) -> list[Seen]:
    """The gig's proofs for its owner, a worker's own for a worker, those of his orders for a buyer;
    by (submitted_at, id)."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("proof.read", caller, gig)
        own = mailboxes.ids_of(caller, gig)
        seen = Proof.mailbox_id.in_(own)
        if OWNER in has:
            seen = ~DRAFT | seen
        elif takes_orders(gig):
            orders = Task.select(Task.id).where(
                Task.client_id == caller.account_id, Task.gig_id == gig.id
            )
            seen = (~DRAFT & Proof.task_id.in_(orders)) | seen
        query = Proof.select().where(Proof.gig_id == gig.id, seen)
        if filters.get("status") is not None:
            query = query.where(Proof.status == filters["status"])
        if filters.get("task") is not None:
            named = filters["task"]
            query = query.where((Proof.task_id == named) | (Proof.task_identifier == named))
        found = pages.page(query, (Proof.submitted_at, Proof.id), limit, after)
        return as_seen_by(caller.account_id, gig, found, own)


def seen_by_owner(gig: Gig, proofs: Iterable[Proof]) -> list[Seen]:
    """Proofs of a gig, each with what its owner is to it."""
    own = () if gig.owner_mailbox_id is None else (str(gig.owner_mailbox_id),)
    with db.reading():
        return as_seen_by(str(gig.owner_id), gig, proofs, own)


def reads(caller: Caller, proof: Proof) -> Seen:
    """This proof as a caller sees it, who may."""
    with db.reading():
        gig = gigs.get(proof.gig_id)
        own = mailboxes.ids_of(caller, gig)
        (seen,) = as_seen_by(caller.account_id, gig, [proof], own)
    return seen
