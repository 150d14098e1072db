"""`muster audit`: do the books balance, and do they equal the contract's own (Y-05)?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import peewee

from engine import install, ledger, reconcile
from engine.chain.errors import NodeRefused
from engine.db import db
from engine.models.ledger import LedgerEntry, LedgerTransaction
from engine.models.proof import PAYABLE, Proof
from engine.models.rollup import Rollup


@dataclass
class Report:
    """What was compared. `faults` is empty when all is well; amounts are base units."""

    block_number: int | None = None
    deposits_units: int = 0
    paid_units: int = 0
    fees_units: int = 0
    refunded_units: int = 0
    held_units: int = 0
    contract_units: int | None = None
    unsolicited_units: int | None = None
    gigs: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults


def run(patience_seconds: float = 15) -> Report:
    """Bring the books up to the last final block, then compare. ChainUnavailable if it is away.

    A node may no longer know, or not know again, what the contract held at that very block; newer
    blocks come, so this is tried again for a while.
    """
    until = time.monotonic() + patience_seconds
    while True:
        try:
            return _run()
        except NodeRefused:
            if time.monotonic() > until:
                raise
            time.sleep(1)


def _run() -> Report:
    report = Report()
    treasury = install.current().treasury
    if treasury is not None:
        reconcile.run()
    with db.snapshot():
        report.block_number = reconcile.cursor() if treasury is not None else None
        _check_books(report)
        _check_rollups(report)
        held = {key: ledger.balance_units("pot", key) for key in ledger.gig_keys()}
    report.gigs = len(held)
    if treasury is None or report.block_number is None:
        return report
    block = report.block_number
    for key, units in held.items():
        on_chain = treasury.pot_units_of_key(key, block)
        if on_chain != units:
            report.faults.append(f"pot {key}: the books say {units}, the contract {on_chain}")
    report.contract_units = treasury.accounted_units(block)
    owed = report.held_units + report.fees_units
    if report.contract_units != owed:
        report.faults.append(
            f"the books say that the contract holds {owed}, the contract {report.contract_units}"
        )
    report.unsolicited_units = treasury.usdc_units(treasury.address, block) - report.contract_units
    if report.unsolicited_units < 0:
        report.faults.append(f"the contract is short of {-report.unsolicited_units}")
    return report


def _check_books(report: Report) -> None:
    summed = peewee.fn.SUM(LedgerEntry.units)
    unbalanced = (
        LedgerEntry.select(LedgerEntry.transaction_id)
        .group_by(LedgerEntry.transaction_id)
        .having(summed != 0)
    )
    report.faults += [f"ledger {row.transaction_id} does not balance" for row in unbalanced]
    report.deposits_units = -ledger.balance_units("outside")
    report.paid_units = ledger.balance_units("paid")
    report.fees_units = ledger.balance_units("fees")
    report.refunded_units = ledger.balance_units("refunded")
    report.held_units = ledger.balance_units("pot")
    went = (
        report.paid_units
        + report.fees_units
        + ledger.balance_units("withdrawn")
        + report.refunded_units
        + report.held_units
    )
    if report.deposits_units != went:
        report.faults.append(f"deposits {report.deposits_units}, accounted for {went}")


def _check_rollups(report: Report) -> None:
    """A rollup is the sum of its proofs, and is paid exactly if the chain says so."""
    for rollup in Rollup.select():
        proofs = list(Proof.select().where(Proof.rollup_id == rollup.id))
        total = sum(proof.locked_price_units or 0 for proof in proofs)
        if total != rollup.gross_units:
            report.faults.append(f"{rollup.id} pays {rollup.gross_units} for proofs worth {total}")
        for proof in proofs:
            if proof.status not in PAYABLE:
                report.faults.append(f"{proof.id} is {proof.status} and carried by {rollup.id}")
            if (proof.paid_out_at is not None) != (rollup.status == "paid"):
                report.faults.append(f"{proof.id} and {rollup.id} disagree about being paid")
    booked = LedgerTransaction.select().where(LedgerTransaction.kind == "PaidOut").count()
    paid = Rollup.select().where(Rollup.status == "paid").count()
    if booked < paid:
        report.faults.append(f"{paid} rollups are paid, but the chain knows {booked} payouts")
