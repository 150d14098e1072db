"""`muster audit`: do the books balance, and do they equal the contract's own (Y-05)?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from engine import audit_books, audit_rows, chain_blocks, gifts, install, ledger, reconcile
from engine.audit_books import Sums
from engine.chain.errors import NodeRefused
from engine.chain.treasury import Treasury
from engine.db import db


@dataclass
class Report:
    """What was compared. `faults` is empty when all is well; amounts are base units.

    `deposits = paid + fees + refunded + held`, and what has left or was left over of fees. A
    warning is no fault of the books: they are right, and somebody should act.
    """

    block_number: int | None = None
    deposits_units: int = 0
    paid_units: int = 0
    fees_units: int = 0
    refunded_units: int = 0
    held_units: int = 0
    # Of what is held: free in pots, set aside for payouts, in named deposits, waiting for a claim.
    pot_units: int = 0
    owed_units: int = 0
    deposit_units: int = 0
    claimable_units: int = 0
    residue_units: int = 0
    withdrawn_units: int = 0
    contract_units: int | None = None
    unsolicited_units: int | None = None
    gigs: int = 0
    open_deposits: int = 0
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults


@dataclass
class _Held:
    """What the books say that the contract holds, to be compared at one block."""

    block_number: int
    block_hash: str | None
    accounts: dict[str, int]
    pots: dict[str, int]
    deposits: dict[str, int]
    knows_gifts: bool


class _Moved(NodeRefused):
    """The chain was reorganised while it was read."""

    def __init__(self) -> None:
        super().__init__(0, "the chain was reorganised during the audit")


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
        sums = audit_books.sums()
        report.faults += audit_books.faults(sums)
        report.faults += audit_rows.faults()
        report.warnings += audit_books.warnings(sums)
        held = _held(sums)
    _fill(report, held)
    if treasury is not None:
        report.block_number = held.block_number
        _compare(report, treasury, held)
        if held.block_hash not in (None, treasury.chain.block(held.block_number).hash):
            raise _Moved()
    return report


def _held(sums: Sums) -> _Held:
    block = reconcile.cursor()
    return _Held(
        block_number=block,
        block_hash=chain_blocks.hash_at(block),
        accounts=audit_books.by_account(sums),
        pots=ledger.pots(),
        deposits=audit_rows.open_deposits(),
        knows_gifts=gifts.since() is not None,
    )


def _fill(report: Report, held: _Held) -> None:
    units = held.accounts
    report.deposits_units = -units["outside"] - units["unsolicited"]
    report.paid_units = units["paid"]
    report.fees_units = units["fees"]
    report.refunded_units = units["refunded"]
    report.pot_units, report.owed_units = units["pot"], units["owed"]
    report.deposit_units, report.claimable_units = units["deposit"], units["claimable"]
    report.held_units = sum(units[name] for name in ("pot", "owed", "deposit", "claimable"))
    report.residue_units, report.withdrawn_units = units["residue"], units["withdrawn"]
    report.gigs, report.open_deposits = len(held.pots), len(held.deposits)
    went = (
        report.paid_units
        + report.fees_units
        + report.residue_units
        + report.withdrawn_units
        + report.refunded_units
        + report.held_units
    )
    if report.deposits_units != went:
        report.faults.append(f"deposits {report.deposits_units}, accounted for {went}")


def _compare(report: Report, treasury: Treasury, held: _Held) -> None:
    block, units = held.block_number, held.accounts
    for key, booked in held.pots.items():
        _same(report, f"pot {key}", booked, treasury.pot_units_of_key(key, block))
    _same(report, "pots", units["pot"] + units["owed"], treasury.pots_total_units(block))
    _same(report, "deposits held", units["deposit"], treasury.deposits_total_units(block))
    _same(report, "fees", units["fees"], treasury.fees_due_units(block))
    _same(report, "residue", units["residue"], treasury.residue_due_units(block))
    _same(report, "claimable", units["claimable"], treasury.claimable_total_units(block))
    for deposit_id, amount in held.deposits.items():
        found = treasury.deposit_on_chain(deposit_id, block)
        if (found.state, found.units) != ("open", amount):
            report.faults.append(
                f"deposit {deposit_id}: open with {amount} here, "
                f"on chain {found.state} with {found.units}"
            )
    report.contract_units = treasury.accounted_units(block)
    booked = sum(units[name] for name in ledger.ACCOUNTED)
    _same(report, "all that the contract holds", booked, report.contract_units)
    report.unsolicited_units = treasury.held_units(block) - report.contract_units
    if report.unsolicited_units < 0:
        report.faults.append(f"the contract is short of {-report.unsolicited_units}")
    elif held.knows_gifts:
        _same(report, "unsolicited", units["unsolicited"], report.unsolicited_units)


def _same(report: Report, what: str, booked: int, on_chain: int) -> None:
    if booked != on_chain:
        report.faults.append(f"{what}: the books say {booked}, the contract {on_chain}")
