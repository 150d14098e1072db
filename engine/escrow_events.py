"""What the chain says of named deposits: the only writer of how one opens and ends (Y-07, O-05)."""

from __future__ import annotations

from typing import Any

from engine import bookings, clock, commands, escrow_refunds, escrows, events, settlement
from engine.chain.treasury_events import (
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    ReclaimRequested,
)
from engine.models.chain import ChainTransaction
from engine.models.escrow import Escrow
from engine.models.task import Task
from engine.moves import take
from engine.observers import on_event, on_failure
from engine.rules import money, times

# What is noted of a deposit that has ended and could not be delivered to its depositor.
KEPT = "The token refused the transfer; the contract keeps it to be claimed."
Ended = DepositSettled | DepositRefunded | DepositReclaimed

# The move that each event is, and who took the money when we did not send it anywhere.
_ENDS: dict[type, str] = {
    DepositSettled: "settle",
    DepositRefunded: "refund",
    DepositReclaimed: "reclaim",
}


def _found(deposit_key: str) -> Escrow | None:
    return Escrow.get_or_none(Escrow.id == deposit_key)


@on_event(DepositOpened)
def opened(event: DepositOpened, taken_back: bool) -> set[str]:
    escrow = _found(event.deposit_key)
    if escrow is None:
        return set()
    command_id = escrow.command_id
    if taken_back:
        if take(Escrow, escrow.id, "unopen", opened_at=None, tx_hash=None):
            _changed(escrow, "unopened", "escrow.taken_back")
        return {command_id}
    given_up = escrow.status == "abandoned"
    sets = {"opened_at": clock.now(), "ended_at": None, "tx_hash": event.tx_hash}
    if not take(Escrow, escrow.id, "open", **sets):
        return set()
    if given_up:
        # Another deposit may pay for the task by now.
        _tell(escrow, "escrow.opened_late")
        escrows.tell(_again(escrow), "opened_late")
        escrow_refunds.request(_again(escrow), "chain")
    else:
        _changed(escrow, "open", "escrow.opened")
    return {command_id}


@on_event(DepositSettled, DepositRefunded, DepositReclaimed)
def ended(event: Ended, taken_back: bool) -> set[str]:
    escrow = _found(event.deposit_key)
    if escrow is None:
        return set()
    if taken_back:
        if take(Escrow, escrow.id, "reopen", ended_at=None, tx_hash=None):
            _changed(escrow, "reopened", "escrow.reopened")
        return {escrow.command_id}
    verb = _ENDS[type(event)]
    unasked = escrow.status == "open"
    sets = {"ended_at": clock.now(), "tx_hash": event.tx_hash}
    kept = isinstance(event, DepositRefunded | DepositReclaimed) and event.claimable
    if kept:
        sets["failure"] = KEPT
    if not take(Escrow, escrow.id, verb, **sets):
        return set()
    if verb == "settle":
        _changed(escrow, "settled", "escrow.settled")
    elif verb == "reclaim" or unasked:
        reason = "reclaimed" if verb == "reclaim" else "refunded"
        _changed(escrow, reason, "escrow.left", reason=reason, claimable=kept)
    else:
        _changed(escrow, "refunded", "escrow.refunded", claimable=kept)
    return {escrow.command_id}


def catch_ended(escrow: Escrow) -> bool:
    """Give up planned terms whose deposit has ended on chain, though nobody here knew of it.

    Where the books had it already, they are brought to that end, and nobody is told. False while
    the books have yet to hear how it ended. Only inside `db.write`.
    """
    booked = bookings.of_deposit(escrow.id)
    if not booked:
        # Both will come, and what was given up by then goes back.
        return take(Escrow, escrow.id, "abandon", ended_at=clock.now())
    first, last = booked[0], booked[-1]
    if not isinstance(first, DepositOpened) or not isinstance(last, Ended):
        return False
    if take(Escrow, escrow.id, "abandon"):
        take(Escrow, escrow.id, "open", opened_at=clock.now(), tx_hash=first.tx_hash)
        take(Escrow, escrow.id, _ENDS[type(last)], ended_at=clock.now(), tx_hash=last.tx_hash)
    return True


def catch_open(escrow: Escrow) -> None:
    """Tell of an opening that was booked when these terms were not known here; in `db.write`."""
    booked = bookings.of_deposit(escrow.id)
    if len(booked) == 1 and isinstance(booked[0], DepositOpened):
        opened(booked[0], taken_back=False)


@on_event(ReclaimRequested)
def announced(event: ReclaimRequested, taken_back: bool) -> set[str]:
    """Thirty days are left: who pays and who works are told, and what is approved is paid."""
    escrow = _found(event.deposit_key)
    if escrow is None or taken_back:
        return set()
    at = times.iso_ms(event.reclaim_at_seconds * clock.SECOND)
    holder = Task.get(Task.id == escrow.task_id).mailbox_id
    _tell(escrow, "escrow.reclaim_requested", mailbox_id=holder, reclaim_at=at)
    commands.record(settlement.KIND, {}, account_id=None, gig_id=escrow.gig_id)
    escrows.tell(escrow, "reclaim_requested")
    return set()


@on_failure
def failed(transaction: ChainTransaction) -> set[str]:
    """Whoever waits for it looks at what became of it, and decides."""
    about = Escrow.select(Escrow.command_id).where(Escrow.chain_transaction_id == transaction.id)
    return {row.command_id for row in about}


def _again(escrow: Escrow) -> Escrow:
    return Escrow.get(Escrow.id == escrow.id)


def _changed(escrow: Escrow, what: str, event: str, **more: Any) -> None:
    now = _again(escrow)
    _tell(now, event, **more)
    escrows.tell(now, what)


def _tell(escrow: Escrow, kind: str, mailbox_id: str | None = None, **more: object) -> None:
    events.append(
        kind,
        events.Subject("task", escrow.task_id),
        actor="chain",
        gig_id=escrow.gig_id,
        mailbox_id=mailbox_id,
        data={
            "deposit_id": escrow.id,
            "amount": money.to_dollars(escrow.amount_units),
            **more,
        },
    )
