"""What must hold after every step, after every look at the chain, and in the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine import audit, audit_books, audit_rows, gig_keys, ledger, reconcile
from engine.chain.treasury_events import (
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    FeesWithdrawn,
    PaidOut,
    PotDeposited,
    PotRefunded,
)
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.ledger import LedgerTransaction
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from tests.machines.model import Place, address_of
from tests.machines.scene import Scene


def always(scene: Scene) -> None:
    """The books by themselves, and no error of ours."""
    with db.snapshot():
        found = audit_books.faults(audit_books.sums()) + audit_rows.faults()
    assert found == [], found
    with db.reading():
        broken = [
            (row.kind, row.failures, row.error)
            for row in Command.select()
            if row.failures or (row.error or {}).get("code") == "internal"
        ]
    assert broken == [], broken


def at_cursor(scene: Scene) -> None:
    """With a node that answers: the books equal the contract, and wallets the paid rollups."""
    report = audit.run(patience_seconds=0)
    assert report.faults == [], report.faults
    block = reconcile.cursor()
    treasury = scene.node.treasury
    with db.reading():
        paid: Counter[str] = Counter()
        for rollup in Rollup.select().where(Rollup.status == "paid"):
            paid[rollup.wallet_address] += rollup.gross_units
    for address in scene.worker_addresses():
        assert treasury.usdc_units(address, block) == paid[address], address


def in_the_end(scene: Scene) -> None:
    """All that is owed is paid once, to the unit, and every unit is where it belongs."""
    always(scene)
    at_cursor(scene)
    skipped = _skipped(scene)
    _rollups_are_paid(scene, skipped)
    treasury = scene.node.treasury
    earned = scene.model.earned(skipped)
    has = {one: treasury.usdc_units(one) for one in earned}
    assert has == earned, (has, earned)
    events = treasury.events(0, scene.node.head())
    keys = [event.payout_key for event in events if isinstance(event, PaidOut | DepositSettled)]
    assert len(set(keys)) == len(keys), "a payout was made twice"
    for place in scene.model.places:
        _gig_adds_up(place, events, treasury.pot_units(place.gig.id))
        _deposits_came_once(scene, place, events)
    _all_adds_up(scene, events)


def _skipped(scene: Scene) -> set[str]:
    """Approved proofs that no rollup carries, which only a minimum excuses."""
    approved = scene.model.approved()
    with db.reading():
        rows = {row.id: row for row in Proof.select()}
    loose = {proof_id for proof_id in approved if rows[proof_id].rollup_id is None}
    units: Counter[tuple[str, str]] = Counter()
    for proof_id in loose:
        work = approved[proof_id]
        units[work.place.gig.id, address_of(work.worker)] += work.units
    for proof_id in loose:
        work = approved[proof_id]
        least = work.place.min_payout_units
        assert units[work.place.gig.id, address_of(work.worker)] < least, (
            f"{proof_id} is approved and no rollup carries it"
        )
    return loose


def _rollups_are_paid(scene: Scene, skipped: set[str]) -> None:
    with db.reading():
        rollups = {row.id: row for row in Rollup.select()}
        proofs = list(Proof.select())
    states = {row.id: row.status for row in rollups.values()}
    ended = {row.status for row in rollups.values()}
    approved = scene.model.approved()
    assert ended <= {"paid", "settled"}, states
    for proof in proofs:
        verdict = scene.model.works[proof.id].verdict
        assert proof.status == verdict
        carried = proof.rollup_id is not None and states[proof.rollup_id] == "paid"
        assert carried == (proof.id in approved and proof.id not in skipped), proof.id


def _gig_adds_up(place: Place, events: list[Any], pot_units: int) -> None:
    """By the chain's own events, and by the books account for account."""
    key = gig_keys.key(place.gig.id)
    mine = [event for event in events if getattr(event, "gig_key", None) == key]
    came = _sum(mine, PotDeposited) + _sum(mine, DepositOpened)
    paid = sum(one.gross_units for one in mine if isinstance(one, PaidOut))
    paid += _sum(mine, DepositSettled)
    fees = sum(one.fee_units for one in mine if isinstance(one, PaidOut | DepositSettled))
    residue = sum(one.residue_units for one in mine if isinstance(one, DepositSettled))
    ended = [one for one in mine if isinstance(one, DepositRefunded | DepositReclaimed)]
    back = sum(one.amount_units for one in ended if not one.claimable) + _sum(mine, PotRefunded)
    kept = sum(one.amount_units for one in ended if one.claimable)
    open_ids = {one.deposit_key for one in mine if isinstance(one, DepositOpened)}
    open_ids -= {one.deposit_key for one in mine if isinstance(one, DepositSettled)}
    open_ids -= {one.deposit_key for one in ended}
    held = sum(
        one.amount_units
        for one in mine
        if isinstance(one, DepositOpened) and one.deposit_key in open_ids
    )
    assert came == paid + fees + residue + back + kept + held + pot_units
    booked = {
        name: ledger.balance_units(name, key)
        for name in ("paid", "fees", "residue", "refunded", "claimable", "deposit")
    }
    assert booked == {
        "paid": paid,
        "fees": fees,
        "residue": residue,
        "refunded": back,
        "claimable": kept,
        "deposit": held,
    }
    assert ledger.free_units(place.gig.id) + ledger.owed_units(place.gig.id) == pot_units


def _deposits_came_once(scene: Scene, place: Place, events: list[Any]) -> None:
    """Each deposit that was asked for came once or not at all, as its command and row say."""
    key = gig_keys.key(place.gig.id)
    came = Counter(
        event.amount_units
        for event in events
        if isinstance(event, PotDeposited) and event.gig_key == key
    )
    wanted: Counter[int] = Counter()
    for command_id, units in place.deposits.items():
        with db.reading():
            command = Command.get(Command.id == command_id)
            sent = [
                row.status
                for row in ChainTransaction.select().where(
                    ChainTransaction.intent.startswith(f"deposit:{command_id}")
                )
            ]
        done = sent.count("succeeded")
        assert done <= 1, sent
        if not scene.reorganised:
            assert command.status == ("done" if done else "failed"), (command.error, sent)
        wanted[units] += done
    assert came == +wanted, (came, wanted)


def _all_adds_up(scene: Scene, events: list[Any]) -> None:
    treasury = scene.node.treasury
    taken = [event for event in events if isinstance(event, FeesWithdrawn)]
    withdrawn = sum(event.fees_units + event.residue_units for event in taken)
    assert ledger.balance_units("withdrawn") == withdrawn
    assert treasury.held_units() == treasury.accounted_units() + ledger.balance_units("unsolicited")


def taken_back() -> int:
    """How many bookings a reorg has undone, that had been final."""
    with db.reading():
        query = LedgerTransaction.select().where(LedgerTransaction.kind == ledger.TAKEN_BACK)
        return int(query.count())


def _sum(events: list[Any], kind: type[Any]) -> int:
    return sum(event.amount_units for event in events if isinstance(event, kind))
