"""Telling a gig's owner what the chain did to his money, where nothing of ours asked for it."""

from __future__ import annotations

from typing import Any

from engine import events, gig_keys
from engine.chain.treasury_events import (
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    PaidOut,
    PotDeposited,
    PotRefunded,
    TreasuryEvent,
)
from engine.models.escrow import Escrow, PotRefund
from engine.models.rollup import Rollup
from engine.rules import money


def tell(event: TreasuryEvent, taken_back: bool) -> None:
    """Append what is news to the gig it concerns, where we know it; only inside `db.write`."""
    news = _news(event)
    gig_key = getattr(event, "gig_key", None)
    if news is None or gig_key is None:
        return
    gig = gig_keys.find(gig_key)
    if gig is None:
        return
    kind, units, account = news
    data: dict[str, Any] = {
        "amount": money.to_dollars(units),
        "account": account,
        "tx_hash": event.tx_hash,
    }
    if taken_back:
        # A reorganisation of the chain undid it; it may come again.
        kind, data = "chain.taken_back", {"what": kind, **data}
    events.append(kind, events.Subject("gig", gig.id), actor="chain", gig_id=gig.id, data=data)


def _news(event: TreasuryEvent) -> tuple[str, int, str] | None:
    """(kind, units, who gave or got them)."""
    match event:
        case PotDeposited():
            return "pot.deposited", event.amount_units, event.funder
        case PotRefunded() if not _known_refund(event.refund_key):
            return "pot.refunded_outside", event.amount_units, event.funder
        case PaidOut() if not _known_rollup(event.payout_key):
            return "payout.unknown", event.gross_units, event.to
        case DepositSettled() if not _known_rollup(event.payout_key):
            return "payout.unknown", event.amount_units, event.to
        case DepositOpened() if not _known_escrow(event.deposit_key):
            return "deposit.unknown", event.amount_units, event.depositor
        case DepositRefunded() if not _known_escrow(event.deposit_key):
            return "deposit.refunded_outside", event.amount_units, event.depositor
        case DepositReclaimed() if not _known_escrow(event.deposit_key):
            return "deposit.reclaimed_outside", event.amount_units, event.depositor
    return None


def _known_refund(key: str) -> bool:
    return bool(PotRefund.select().where(PotRefund.refund_key == key).exists())


def _known_rollup(key: str) -> bool:
    return bool(Rollup.select().where(Rollup.payout_key == key).exists())


def _known_escrow(key: str) -> bool:
    return bool(Escrow.select().where(Escrow.id == key).exists())
