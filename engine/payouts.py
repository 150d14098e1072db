"""Rollups: what became of their payouts, and who may read of it (Y-02, Y-03)."""

from __future__ import annotations

from typing import Any

from engine import clock, events, gigs, order_news, pages
from engine.chain.treasury_events import DepositSettled, PaidOut
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.moves import take
from engine.observers import on_event, on_failure
from engine.operations import OWNER, Caller, permit
from engine.rules import money

# A payout that failed is tried again by itself, ever later, until the reason is gone.
FIRST_RETRY_MS = 60 * clock.SECOND
LAST_RETRY_MS = 6 * 60 * 60 * clock.SECOND


def refused(rollup_id: str, reason: str) -> None:
    """The chain would not take this payout, and nothing was sent; only inside `db.write`.

    Not if another process has sent it since it was tried here: then its transaction decides.
    """
    _fail(rollup_id, reason, Rollup.status == "pending")


def _fail(rollup_id: str, reason: str, *conditions: Any) -> None:
    """The worker is still owed; `settlement.retry_stuck` and the next settlement try again."""
    before = Rollup.get(Rollup.id == rollup_id)
    pause = min(FIRST_RETRY_MS << min(before.failures, 20), LAST_RETRY_MS)
    sets = {
        "failure": reason,
        "failures": Rollup.failures + 1,
        "retry_at": clock.now() + pause,
    }
    if not take(Rollup, rollup_id, "fail", *conditions, **sets):
        return
    if before.failures:
        # Its owner and worker know; only how it ends is news.
        return
    events.append(
        "payout.failed",
        events.Subject("rollup", rollup_id),
        actor="chain",
        gig_id=before.gig_id,
        mailbox_id=before.mailbox_id,
        data={"rollup_id": rollup_id, "failure": reason},
    )


@on_failure
def _not_done(transaction: ChainTransaction) -> set[str]:
    """A transaction of ours did not pay: mined but reverted, or its nonce went to another."""
    transaction = ChainTransaction.get_by_id(transaction.id)
    carried = Rollup.select().where(
        Rollup.chain_transaction_id == transaction.id, Rollup.status == "sent"
    )
    waiting = set()
    for rollup in list(carried):
        mine = Rollup.chain_transaction_id == transaction.id
        if transaction.status == "reverted":
            _fail(rollup.id, transaction.failure or "The contract refused it.", mine)
        else:
            # It may have been paid by the very transaction that took the nonce; then the contract
            # refuses a second payment, and its event says that the first was made.
            take(Rollup, rollup.id, "resend", mine, chain_transaction_id=None)
        waiting.add(rollup.command_id)
    return waiting


@on_event(PaidOut, DepositSettled)
def _heard(event: PaidOut | DepositSettled, taken_back: bool) -> set[str]:
    rollup = Rollup.get_or_none(Rollup.payout_key == event.payout_key)
    if rollup is None:
        return set()
    if taken_back:
        _unpaid(rollup)
    else:
        _paid(rollup, event)
    return {rollup.command_id}


def _paid(rollup: Rollup, event: PaidOut | DepositSettled) -> None:
    """The chain says, finally, that this rollup was paid."""
    now = clock.now()
    told: dict[str, Any] = {
        "tx_hash": event.tx_hash,
        "wallet_address": event.to,
        # What the contract took: its rate may have changed since this was decided.
        "fee_units": event.fee_units,
        "paid_at": now,
        "failure": None,
        "retry_at": None,
        # By a transaction that we had given up or never knew to have left.
        "settled_by_reconciliation": rollup.status != "sent",
    }
    units = event.gross_units if isinstance(event, PaidOut) else event.amount_units
    if rollup.status == "settled":
        # It was to pay nothing any more, since its order had been undone.
        told["gross_units"] = units
    if isinstance(event, DepositSettled):
        # Its order may have been funded anew since, with another deposit.
        told["deposit_id"] = event.deposit_key
    if not take(Rollup, rollup.id, "pay", **told):
        return
    Proof.update(paid_out_at=now).where(Proof.rollup_id == rollup.id).execute()
    paid = Rollup.get(Rollup.id == rollup.id)
    _tell(paid, "payout.paid", tx_hash=event.tx_hash)
    order_news.paid_out(paid)


def _unpaid(rollup: Rollup) -> None:
    """A reorg took the payment back. The sender sends the same bytes again, or it is owed anew."""
    reserved = money.fee_on_top(rollup.gross_units, rollup.fee_bps)
    if not take(Rollup, rollup.id, "unpay", paid_at=None, tx_hash=None, fee_units=reserved):
        return
    Proof.update(paid_out_at=None).where(Proof.rollup_id == rollup.id).execute()
    _tell(rollup, "payout.taken_back", tx_hash=rollup.tx_hash)


def _tell(rollup: Rollup, kind: str, **fields: Any) -> None:
    carried = Proof.select(Proof.id).where(Proof.rollup_id == rollup.id).order_by(Proof.id)
    events.append(
        kind,
        events.Subject("rollup", rollup.id),
        actor="chain",
        gig_id=rollup.gig_id,
        mailbox_id=rollup.mailbox_id,
        data={
            "mailbox_id": rollup.mailbox_id,
            "rollup_id": rollup.id,
            "wallet_address": rollup.wallet_address,
            "proof_ids": [proof.id for proof in carried],
            "gross_amount": money.to_dollars(shown_gross_units(rollup)),
            "net_amount": money.to_dollars(rollup.gross_units),
            **fields,
        },
    )


def shown_gross_units(rollup: Rollup) -> int:
    """What an answer calls the gross: of an order the fee is in it, else it comes on top (Y-02)."""
    units: int = rollup.gross_units
    return units if rollup.client_id is None else units + int(rollup.fee_units)


def listed(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Rollup]:
    """The gig's rollups for its owner, a worker's own for a worker, those of his orders for a
    buyer; by (created_at, id)."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("rollup.read", caller, gig)
        query = Rollup.select().where(Rollup.gig_id == gig.id)
        if OWNER not in has:
            own = Mailbox.select(Mailbox.id).where(Mailbox.account_id == caller.account_id)
            ordered = Rollup.client_id == caller.account_id
            query = query.where(Rollup.mailbox_id.in_(own) | ordered)
        return pages.page(query, (Rollup.created_at, Rollup.id), limit, after)


def mine(caller: Caller, limit: int, after: pages.Position) -> list[Rollup]:
    """What the caller is paid in every gig; by (created_at, id)."""
    with db.reading():
        own = Mailbox.select(Mailbox.id).where(Mailbox.account_id == caller.account_id)
        query = Rollup.select().where(Rollup.mailbox_id.in_(own))
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
