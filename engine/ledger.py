"""Double entry (Y-05). Every movement is a transaction whose lines sum to zero.

Money moves in the books by what is final on chain, from the chain's own events, so the books never
hope; only what is set aside for a payout is ours to say. The accounts, each zero or more but for
`outside`:

    outside      the world beyond the contract (negative: what it gave us)
    pot          what a gig holds and has not promised to anybody
    owed         what it set aside for rollups that exist, fee included
    deposit      what named deposits hold
    paid         what workers got
    fees         what the platform earned and has not withdrawn
    residue      what settled deposits left over and nobody has withdrawn
    refunded     what went back to those who put it in
    claimable    what the token refused to give back to them, until they fetch it
    withdrawn    fees and residue that left the contract
    unsolicited  what was sent to the contract unasked, and stays there

What the contract accounts for is pot + owed + deposit + fees + residue + claimable. Lines carry
the key of their gig, `outside` too, so the lines of each gig sum to zero as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import peewee

from engine import clock, gig_keys, rows
from engine.db import db
from engine.ids import new_id
from engine.models.ledger import LedgerBalance, LedgerEntry, LedgerTransaction
from engine.models.rollup import Rollup

# What the contract answers for as its own debt.
ACCOUNTED = ("pot", "owed", "deposit", "fees", "residue", "claimable")
# What undoes another transaction: of a log that a reorg took back, of a reservation.
TAKEN_BACK = "TakenBack"
RELEASED = "Released"
RESERVED = "Reserved"
# A booking's opposite has its reference behind this.
BACK = "back:"

_ADD = """ON CONFLICT ("account", "gig_key")
DO UPDATE SET "units" = "ledger_balance"."units" + excluded."units"
"""


@dataclass(frozen=True)
class Line:
    account: str
    gig_key: str | None
    units: int


@dataclass(frozen=True)
class Fact:
    """What is booked. `reference` names it; `data` is what is needed to tell it again."""

    reference: str
    kind: str
    block_number: int
    tx_hash: str
    data: dict[str, Any] | None = None


def book(fact: Fact, lines: Sequence[Line]) -> bool:
    """Write a transaction unless this fact stands booked already; only inside `db.write`.

    A fact that was taken back may be booked again, any number of times.
    """
    reference, again = fact.reference, 1
    while _exists(BACK + reference):
        again += 1
        reference = f"{fact.reference}#{again}"
    return _write(reference, fact, lines)


def take_back(transaction: LedgerTransaction, kind: str) -> bool:
    """Book the opposite of a transaction, once; only inside `db.write`."""
    entries = LedgerEntry.select().where(LedgerEntry.transaction_id == transaction.id)
    fact = Fact("", kind, transaction.block_number, transaction.tx_hash)
    opposite = [Line(row.account, row.gig_key, -row.units) for row in entries]
    return _write(BACK + transaction.reference, fact, opposite)


def standing(reference: str) -> LedgerTransaction | None:
    """The booking of a fact that was not taken back."""
    with db.reading():
        found, again = reference, 1
        while True:
            transaction = LedgerTransaction.get_or_none(LedgerTransaction.reference == found)
            if transaction is None or not _exists(BACK + found):
                return transaction
            again += 1
            found = f"{reference}#{again}"


def _exists(reference: str) -> bool:
    return bool(db.rows("SELECT 1 FROM ledger_transaction WHERE reference = ?", (reference,)))


def _write(reference: str, fact: Fact, lines: Sequence[Line]) -> bool:
    if sum(line.units for line in lines) != 0:
        raise ValueError(f"unbalanced ledger transaction for {reference}: {lines}")
    transaction_id = new_id("LEDGER")
    values = {
        "id": transaction_id,
        "reference": reference,
        "kind": fact.kind,
        "block_number": fact.block_number,
        "tx_hash": fact.tx_hash,
        "booked_at": clock.now(),
        "data": fact.data,
    }
    if not rows.insert(LedgerTransaction, values, tail="ON CONFLICT DO NOTHING RETURNING id"):
        return False
    merged: dict[tuple[str, str], int] = {}
    for line in lines:
        place = (line.account, line.gig_key or "")
        merged[place] = merged.get(place, 0) + line.units
    # In one order everywhere, so that two who book at once rarely wait for each other crosswise.
    totals = [(account, key, units) for (account, key), units in sorted(merged.items()) if units]
    rows.insert(
        LedgerEntry,
        *(
            {
                "transaction_id": transaction_id,
                "line": number,
                "account": account,
                "gig_key": key or None,
                "units": units,
            }
            for number, (account, key, units) in enumerate(totals)
        ),
    )
    rows.insert(
        LedgerBalance,
        *({"account": account, "gig_key": key, "units": units} for account, key, units in totals),
        tail=_ADD,
    )
    return True


def reserve(rollup_id: str, gig_id: str, units: int) -> bool:
    """Set money aside in a gig's pot for a rollup, fee included; only inside `db.write`.

    The caller holds the gig's lock and has looked at `free_units`. Does nothing the second time.
    """
    if units == 0:
        return False
    key = gig_keys.key(gig_id)
    fact = Fact(_reservation(rollup_id), RESERVED, 0, "")
    return book(fact, [Line("pot", key, -units), Line("owed", key, units)])


def release(rollup_id: str) -> bool:
    """Give back what was set aside for a rollup that will not be paid; only inside `db.write`.

    Does nothing when there is nothing, or when the payout has taken it.
    """
    if Rollup.select().where(Rollup.id == rollup_id, Rollup.status == "paid").exists():
        return False
    transaction = standing(_reservation(rollup_id))
    return transaction is not None and take_back(transaction, RELEASED)


def reserved_for(rollup_id: str) -> int:
    """What was set aside for a rollup and not released, whether or not it is paid since."""
    with db.reading():
        transaction = standing(_reservation(rollup_id))
        if transaction is None:
            return 0
        entry = LedgerEntry.get(
            LedgerEntry.transaction_id == transaction.id, LedgerEntry.account == "owed"
        )
        return int(entry.units)


def _reservation(rollup_id: str) -> str:
    return f"reserve:{rollup_id}"


def balance_units(account: str, gig_key: str | None = None) -> int:
    """What an account holds, of one gig or of all; kept with every line."""
    query = LedgerBalance.select(peewee.fn.SUM(LedgerBalance.units)).where(
        LedgerBalance.account == account
    )
    if gig_key is not None:
        query = query.where(LedgerBalance.gig_key == gig_key)
    with db.reading():
        # PostgreSQL sums bigint as numeric.
        return int(query.scalar() or 0)


def pots() -> dict[str, int]:
    """What every pot that was ever booked holds on chain, by key: free and owed."""
    found = db.rows(
        "SELECT gig_key, SUM(units) FROM ledger_balance "
        "WHERE account IN ('pot', 'owed') AND gig_key <> '' GROUP BY gig_key ORDER BY gig_key"
    )
    return {key: int(units) for key, units in found}


def free_units(gig_id: str) -> int:
    """What a gig's pot holds and has promised to nobody."""
    return balance_units("pot", gig_keys.key(gig_id))


def owed_units(gig_id: str) -> int:
    """What a gig's pot has set aside for rollups that are not paid, fee included."""
    return balance_units("owed", gig_keys.key(gig_id))
