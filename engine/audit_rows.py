"""Rollups, proofs and named deposits against the ledger: they say what it says (Y-05)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import peewee
import simplejson

from engine import gig_keys
from engine.db import db
from engine.models.escrow import Escrow, PotRefund
from engine.models.ledger import LedgerBalance
from engine.models.proof import PAYABLE, Proof
from engine.models.rollup import UNPAID, Rollup

_AT_ONCE = 500

# Bookings that no reorg took back, with the lines of one account.
_BOOKED = """
SELECT booked.id, booked.kind, booked.tx_hash, booked.data, entry.units
FROM ledger_transaction booked
JOIN ledger_entry entry ON entry.transaction_id = booked.id AND entry.account = ?
WHERE booked.kind IN ({kinds}) AND booked.id > ? AND NOT EXISTS (
    SELECT 1 FROM ledger_transaction undone WHERE undone.reference = 'back:' || booked.reference
)
ORDER BY booked.id LIMIT ?
"""
# Deposits of orders that their buyers' ledger does not have. A quote that nobody published, and
# nobody paid by himself, is none.
_UNSOLD = """
SELECT escrow.id FROM escrow JOIN task ON task.id = escrow.task_id
WHERE task.client_id IS NOT NULL AND NOT (
    escrow.status IN ('planned', 'abandoned')
    AND escrow.wallet_id IS NULL AND escrow."authorization" IS NULL
) AND NOT EXISTS (
    SELECT 1 FROM purchase WHERE purchase.deposit_id = escrow.id
)
ORDER BY escrow.id LIMIT 100
"""
# What a deposit is, by the last thing that the chain said of it.
_ENDS = {
    "DepositSettled": "settled",
    "DepositRefunded": "refunded",
    "DepositReclaimed": "reclaimed",
}
_UNOPENED = ("planned", "abandoned")
_OPEN = ("open", "refunding")


def faults() -> list[str]:
    """What the rows and the ledger disagree about, as sentences."""
    found: list[str] = []
    paid = _paid_by_the_books(found)
    for rollups in _in_batches(Rollup):
        _check_rollups(rollups, paid, found)
    _check_owed(found)
    _check_deposits(found)
    found += [f"deposit {row[0]} is in no buyer's ledger" for row in db.rows(_UNSOLD)]
    return found


def open_deposits() -> dict[str, int]:
    """The named deposits that are open by our rows, and what each holds."""
    query = Escrow.select(Escrow.id, Escrow.amount_units).where(Escrow.status.in_(_OPEN))
    return {row.id: row.amount_units for row in query.order_by(Escrow.id)}


def _in_batches(model: Any) -> Iterator[list[Any]]:
    last = ""
    while batch := list(model.select().where(model.id > last).order_by(model.id).limit(_AT_ONCE)):
        yield batch
        last = batch[-1].id


def _bookings(account: str, *kinds: str) -> Iterator[list[tuple[str, str, str, Any, int]]]:
    """(id, kind, transaction hash, event or None, units) of what stands booked, in batches."""
    sql = _BOOKED.format(kinds=", ".join(f"'{kind}'" for kind in kinds))
    last = ""
    while batch := db.rows(sql, (account, last, _AT_ONCE)):
        yield [
            (row[0], row[1], row[2], None if row[3] is None else simplejson.loads(row[3]), row[4])
            for row in batch
        ]
        last = batch[-1][0]


def _paid_by_the_books(found: list[str]) -> set[str]:
    """The rollups that the ledger says are paid, each once and with its amount."""
    paid: set[str] = set()
    for batch in _bookings("paid", "PaidOut", "DepositSettled"):
        keys = [data["payout_key"] for _, _, _, data, _ in batch if data is not None]
        by_key = {row.payout_key: row for row in Rollup.select().where(Rollup.payout_key.in_(keys))}
        for booking, kind, tx_hash, data, units in batch:
            if data is None:
                rollup = _of_old(tx_hash, units, paid)
            else:
                rollup = by_key.get(data["payout_key"])
            if rollup is None:
                # Of another copy of us; its gig was told.
                continue
            if rollup.id in paid:
                found.append(f"{rollup.id} is booked as paid twice, again by {booking}")
            if rollup.status != "paid":
                found.append(f"{rollup.id} is {rollup.status}, but {booking} says it was paid")
            if rollup.gross_units != units:
                found.append(f"{rollup.id} pays {rollup.gross_units}, but {booking} paid {units}")
            if data is not None and data.get("deposit_key") != rollup.deposit_id:
                found.append(f"{rollup.id} and {booking} ({kind}) disagree about what it paid from")
            paid.add(rollup.id)
    return paid


def _of_old(tx_hash: str, units: int, taken: set[str]) -> Rollup | None:
    """The rollup of a booking that does not name it, made by an older version."""
    alike = Rollup.select().where(
        Rollup.tx_hash == tx_hash, Rollup.gross_units == units, Rollup.status == "paid"
    )
    return next((row for row in alike if row.id not in taken), None)


def _check_rollups(rollups: list[Rollup], paid: set[str], found: list[str]) -> None:
    """A rollup is the sum of its proofs, and is paid exactly if the ledger says so."""
    carried: dict[str, list[Proof]] = defaultdict(list)
    for proof in Proof.select().where(Proof.rollup_id.in_([rollup.id for rollup in rollups])):
        carried[str(proof.rollup_id)].append(proof)
    for rollup in rollups:
        if rollup.status == "paid" and rollup.id not in paid:
            found.append(f"{rollup.id} is paid, but no booking says so")
        if rollup.status == "settled":
            # It closes what was rejected, and pays nothing.
            if rollup.gross_units or rollup.fee_units:
                found.append(f"{rollup.id} is settled, but pays {rollup.gross_units}")
            found += [
                f"{proof.id} is {proof.status} and closed by {rollup.id}"
                for proof in carried[rollup.id]
                if proof.status != "rejected"
            ]
            continue
        total = sum(proof.locked_price_units or 0 for proof in carried[rollup.id])
        if total != rollup.gross_units:
            found.append(f"{rollup.id} pays {rollup.gross_units} for proofs worth {total}")
        for proof in carried[rollup.id]:
            if proof.status not in PAYABLE and not _was_undone(rollup, proof):
                found.append(f"{proof.id} is {proof.status} and carried by {rollup.id}")
            if (proof.paid_out_at is not None) != (rollup.status == "paid"):
                found.append(f"{proof.id} and {rollup.id} disagree about being paid")


def _was_undone(rollup: Rollup, proof: Proof) -> bool:
    """Was its order undone and sent again, before a reorg had this delivery paid after all?"""
    return bool(rollup.status == "paid" and rollup.client_id is not None and proof.returned)


def _check_owed(found: list[str]) -> None:
    """What is set aside is what unpaid rollups and refunds will take from their pots."""
    summed = peewee.fn.SUM(Rollup.gross_units + Rollup.fee_units)
    query = Rollup.select(Rollup.gig_id, summed).where(UNPAID, Rollup.deposit_id.is_null())
    due = {
        gig_keys.key(gig_id): int(units)
        for gig_id, units in query.group_by(Rollup.gig_id).tuples().iterator()
    }
    for refund in PotRefund.select().where(PotRefund.status != "paid"):
        key = gig_keys.key(refund.gig_id)
        due[key] = due.get(key, 0) + refund.amount_units
    owed = LedgerBalance.select().where(LedgerBalance.account == "owed", LedgerBalance.units != 0)
    kept = {row.gig_key: row.units for row in owed}
    for key in sorted(due.keys() | kept.keys()):
        if due.get(key, 0) != kept.get(key, 0):
            found.append(
                f"pot {key} has set aside {kept.get(key, 0)} for payouts of {due.get(key, 0)}"
            )


def _check_deposits(found: list[str]) -> None:
    """A deposit of ours is what the chain has last said of it, with the amount of its terms."""
    said: dict[str, tuple[str, int]] = {}
    for batch in _bookings("deposit", "DepositOpened"):
        for _, _, _, data, units in batch:
            said[data["deposit_key"]] = ("open", units)
    for batch in _bookings("deposit", *_ENDS):
        for booking, kind, _, data, units in batch:
            state, amount = said.get(data["deposit_key"], ("never opened", 0))
            if (state, amount) != ("open", -units):
                found.append(f"{booking} ends a deposit that is {state} with {amount}")
            said[data["deposit_key"]] = (_ENDS[kind], amount)
    for escrows in _in_batches(Escrow):
        for escrow in escrows:
            state, amount = said.get(escrow.id, ("planned", escrow.amount_units))
            status = escrow.status
            here = "open" if status in _OPEN else "planned" if status in _UNOPENED else status
            if here != state:
                found.append(f"deposit {escrow.id} is {escrow.status}, the books say {state}")
            if amount != escrow.amount_units:
                found.append(
                    f"deposit {escrow.id} is over {escrow.amount_units}, the books say {amount}"
                )
