"""Double entry (Y-05). Every movement is a transaction whose lines sum to zero.

Only what is final on chain is booked, from the chain's own events, so the books never hope. The
accounts, each zero or more but for `outside`, which mirrors what came in and went out:

    outside   the world beyond the contract (negative: what it gave us)
    pot       what a gig still holds
    paid      what workers got
    fees      what the platform earned and has not withdrawn
    refunded  what went back to those who funded a pot
    withdrawn fees that left the contract
"""

from __future__ import annotations

from dataclasses import dataclass

import peewee

from engine import clock, install, rows
from engine.db import db
from engine.ids import new_id
from engine.models.ledger import LedgerEntry, LedgerTransaction
from engine.models.rollup import UNPAID, Rollup


@dataclass(frozen=True)
class Line:
    account: str
    gig_key: str | None
    units: int


@dataclass(frozen=True)
class Fact:
    """What is booked: a log of the chain, by block, transaction and place in it."""

    reference: str
    kind: str
    block_number: int
    tx_hash: str


def book(fact: Fact, lines: list[Line]) -> bool:
    """Write a transaction unless this fact is booked already; only inside `db.write`."""
    if sum(line.units for line in lines) != 0:
        raise ValueError(f"unbalanced ledger transaction for {fact.reference}: {lines}")
    transaction_id = new_id("LEDGER")
    values = {
        "id": transaction_id,
        "reference": fact.reference,
        "kind": fact.kind,
        "block_number": fact.block_number,
        "tx_hash": fact.tx_hash,
        "booked_at": clock.now(),
    }
    if not rows.insert(LedgerTransaction, values, tail="ON CONFLICT DO NOTHING RETURNING id"):
        return False
    entries = [
        {
            "transaction_id": transaction_id,
            "line": number,
            "account": line.account,
            "gig_key": line.gig_key,
            "units": line.units,
        }
        for number, line in enumerate(lines)
    ]
    rows.insert(LedgerEntry, *entries)
    return True


def balance_units(account: str, gig_key: str | None = None) -> int:
    """The sum of an account's lines, of one gig or of all."""
    query = LedgerEntry.select(peewee.fn.SUM(LedgerEntry.units)).where(
        LedgerEntry.account == account
    )
    if gig_key is not None:
        query = query.where(LedgerEntry.gig_key == gig_key)
    with db.reading():
        # PostgreSQL sums bigint as numeric.
        return int(query.scalar() or 0)


def gig_keys() -> list[str]:
    """Every pot that was ever booked."""
    with db.reading():
        query = LedgerEntry.select(LedgerEntry.gig_key).where(LedgerEntry.account == "pot")
        return sorted({row.gig_key for row in query.distinct() if row.gig_key is not None})


def pot_units(gig_id: str) -> int:
    """What a gig's pot holds by the books; 0 where this install has no chain."""
    treasury = install.current().treasury
    if treasury is None:
        return 0
    return balance_units("pot", "0x" + treasury.gig_key(gig_id).hex())


def reserved_units(gig_id: str) -> int:
    """What payouts that are made but not final will take from the pot, fee included."""
    total = Rollup.select(peewee.fn.SUM(Rollup.gross_units + Rollup.fee_units)).where(
        Rollup.gig_id == gig_id, UNPAID
    )
    with db.reading():
        return int(total.scalar() or 0)
