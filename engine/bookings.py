"""What each event of the contract means in the books (Y-05).

A log is booked under its block, transaction and place in it. A reorg may take it back, and bring
the same transaction again in another block, or the same block again: each time it is booked anew.
Events that move no money are booked without lines, so that they too can be told as taken back.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from engine import gig_keys, ledger
from engine.chain.treasury_events import (
    Claimed,
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    FeeChanged,
    FeesWithdrawn,
    PaidOut,
    PotDeposited,
    PotRefunded,
    ReclaimRequested,
    TreasuryEvent,
)
from engine.ledger import TAKEN_BACK, Fact, Line
from engine.models.ledger import LedgerTransaction
from engine.models.rollup import Rollup


@dataclass(frozen=True, kw_only=True)
class Gift(TreasuryEvent):
    """USDC that a transaction brought to the contract beyond what was deposited."""

    amount_units: int


_KINDS: dict[str, type[TreasuryEvent]] = {
    kind.__name__: kind
    for kind in (
        PotDeposited,
        PaidOut,
        PotRefunded,
        DepositOpened,
        DepositSettled,
        DepositRefunded,
        DepositReclaimed,
        ReclaimRequested,
        Claimed,
        FeesWithdrawn,
        FeeChanged,
        Gift,
    )
}


_ENDS = (DepositSettled, DepositRefunded, DepositReclaimed)


def book(event: TreasuryEvent) -> bool:
    """Book an event unless it stands booked; only inside `db.write`."""
    fact = Fact(
        reference=_reference(event),
        kind=type(event).__name__,
        block_number=event.block_number,
        tx_hash=event.tx_hash,
        data=dataclasses.asdict(event),
    )
    return ledger.book(fact, _lines(event))


def of_deposit(deposit_key: str) -> list[TreasuryEvent]:
    """What stands booked of one deposit, in the order of the chain.

    For what was booked before anybody here knew of the deposit. Reads every such booking.
    """
    kinds = [kind.__name__ for kind in (DepositOpened, *_ENDS)]
    rows = LedgerTransaction.select().where(LedgerTransaction.kind.in_(kinds))
    found = [
        _event(row)
        for row in rows
        if row.data is not None and row.data["deposit_key"] == deposit_key
    ]
    standing = [event for event in found if ledger.standing(_reference(event)) is not None]
    return sorted(standing, key=lambda event: (event.block_number, event.log_index))


def take_back(event: TreasuryEvent) -> bool:
    """Undo the booking of an event that a reorg took back, once; only inside `db.write`."""
    transaction = ledger.standing(_reference(event))
    return transaction is not None and ledger.take_back(transaction, TAKEN_BACK)


def standing_above(block_number: int) -> list[TreasuryEvent]:
    """The events booked from later blocks and not taken back, the newest first."""
    later = LedgerTransaction.select().where(LedgerTransaction.block_number > block_number)
    undone = {row.reference for row in later if row.kind == TAKEN_BACK}
    found = [
        _event(row)
        for row in later
        if row.kind != TAKEN_BACK and ledger.BACK + row.reference not in undone
    ]
    return sorted(found, key=lambda event: (event.block_number, event.log_index), reverse=True)


def _reference(event: TreasuryEvent) -> str:
    # A gift is no log of its own: it may stand beside the one that has its place.
    what = "gift" if isinstance(event, Gift) else "log"
    return f"{what}:{event.block_hash}:{event.tx_hash}:{event.log_index}"


def _event(row: LedgerTransaction) -> TreasuryEvent:
    if row.data is None:
        raise ValueError(f"{row.id} was booked by an older version and cannot be taken back")
    return _KINDS[row.kind](**row.data)


def _lines(event: TreasuryEvent) -> list[Line]:
    match event:
        case PotDeposited():
            return _move(event.amount_units, event.gig_key, "outside", "pot")
        case PaidOut():
            taken = event.gross_units + event.fee_units
            return [
                *_released(event.payout_key),
                Line("pot", event.gig_key, -taken),
                Line("paid", event.gig_key, event.gross_units),
                Line("fees", event.gig_key, event.fee_units),
            ]
        case PotRefunded():
            return _move(event.amount_units, event.gig_key, "pot", "refunded")
        case DepositOpened():
            return _move(event.amount_units, event.gig_key, "outside", "deposit")
        case DepositSettled():
            held = event.amount_units + event.fee_units + event.residue_units
            return [
                *_released(event.payout_key),
                Line("deposit", event.gig_key, -held),
                Line("paid", event.gig_key, event.amount_units),
                Line("fees", event.gig_key, event.fee_units),
                Line("residue", event.gig_key, event.residue_units),
            ]
        case DepositRefunded() | DepositReclaimed():
            to = "claimable" if event.claimable else "refunded"
            return _move(event.amount_units, event.gig_key, "deposit", to)
        case Claimed():
            return _move(event.amount_units, None, "claimable", "refunded")
        case FeesWithdrawn():
            return [
                *_move(event.fees_units, None, "fees", "withdrawn"),
                *_move(event.residue_units, None, "residue", "withdrawn"),
            ]
        case Gift():
            return _move(event.amount_units, None, "outside", "unsolicited")
        case _:
            return []


def _move(units: int, gig_key: str | None, giver: str, taker: str) -> list[Line]:
    return [Line(giver, gig_key, -units), Line(taker, gig_key, units)]


def _released(payout_key: str) -> list[Line]:
    """What was set aside for a payout goes back to its pot, which then pays what the chain took.

    So the pot bears the difference when the fee has changed in between.
    """
    rollup = Rollup.get_or_none(Rollup.payout_key == payout_key)
    if rollup is None or rollup.status == "paid":
        return []
    units = ledger.reserved_for(rollup.id)
    return _move(units, gig_keys.key(rollup.gig_id), "owed", "pot") if units else []
