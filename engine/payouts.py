"""Rollups: what became of their payouts, and who may read of it (Y-02, Y-03)."""

from __future__ import annotations

from typing import Any

from engine import clock, commands, events, gigs, pages
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.moves import take
from engine.operations import OWNER, Caller, permit
from engine.rules import money


def refused(rollup_id: str, reason: str) -> None:
    """The chain would not take this payout, and nothing was sent; only inside `db.write`.

    Not if another process has sent it since it was tried here: then its transaction decides.
    """
    _fail(rollup_id, reason, Rollup.status == "pending")


def _fail(rollup_id: str, reason: str, *conditions: Any) -> None:
    """The worker is still owed, and the next settlement tries again."""
    if not take(Rollup, rollup_id, "fail", *conditions, failure=reason):
        return
    rollup = Rollup.get(Rollup.id == rollup_id)
    events.append(
        "payout.failed",
        events.Subject("rollup", rollup.id),
        actor="chain",
        gig_id=rollup.gig_id,
        mailbox_id=rollup.mailbox_id,
        data={"rollup_id": rollup.id, "failure": reason},
    )


def reverted(row: ChainTransaction) -> None:
    """A transaction of ours was mined and reverted: its payouts failed and are owed."""
    carried = Rollup.select().where(Rollup.chain_transaction_id == row.id, Rollup.status == "sent")
    for rollup in list(carried):
        reason = "The transaction was mined but the contract refused it."
        _fail(rollup.id, reason, Rollup.chain_transaction_id == row.id)
        commands.wake_waiting({rollup.command_id})


def paid(rollup: Rollup, tx_hash: str) -> None:
    """The chain says, finally, that this rollup was paid; only inside `db.write`.

    The caller wakes the rollup's command, once for all that he was told.
    """
    now = clock.now()
    told = {
        "tx_hash": tx_hash,
        "paid_at": now,
        "failure": None,
        # By a transaction that we had given up or never knew to have left.
        "settled_by_reconciliation": rollup.status != "sent",
    }
    if not take(Rollup, rollup.id, "pay", **told):
        return
    Proof.update(paid_out_at=now).where(Proof.rollup_id == rollup.id).execute()
    carried = Proof.select(Proof.id).where(Proof.rollup_id == rollup.id).order_by(Proof.id)
    events.append(
        "payout.paid",
        events.Subject("rollup", rollup.id),
        actor="chain",
        gig_id=rollup.gig_id,
        mailbox_id=rollup.mailbox_id,
        data={
            "mailbox_id": rollup.mailbox_id,
            "rollup_id": rollup.id,
            "gross_amount": money.to_dollars(rollup.gross_units),
            "net_amount": money.to_dollars(rollup.gross_units),
            "wallet_address": rollup.wallet_address,
            "tx_hash": tx_hash,
            "proof_ids": [proof.id for proof in carried],
        },
    )


def listed(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Rollup]:
    """The gig's rollups for its owner, a worker's own for a worker; by (created_at, id)."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("rollup.read", caller, gig)
        query = Rollup.select().where(Rollup.gig_id == gig.id)
        if OWNER not in has:
            own = Mailbox.select(Mailbox.id).where(Mailbox.account_id == caller.account_id)
            query = query.where(Rollup.mailbox_id.in_(own))
        return pages.page(query, (Rollup.created_at, Rollup.id), limit, after)


def by_ids(rollup_ids: list[str]) -> list[Rollup]:
    with db.reading():
        query = Rollup.select().where(Rollup.id.in_(rollup_ids))
        return list(query.order_by(Rollup.created_at, Rollup.id))


def proof_ids(rollups: list[Rollup]) -> dict[str, list[str]]:
    """The proofs that each rollup carries."""
    carried: dict[str, list[str]] = {rollup.id: [] for rollup in rollups}
    with db.reading():
        query = Proof.select(Proof.id, Proof.rollup_id).where(Proof.rollup_id.in_(list(carried)))
        for proof in query.order_by(Proof.id):
            carried[str(proof.rollup_id)].append(proof.id)
    return carried
