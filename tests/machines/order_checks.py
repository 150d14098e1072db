"""What must hold of orders after every step, and in the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine import gig_keys, ledger
from engine.chain.treasury_events import (
    DepositOpened,
    DepositReclaimed,
    DepositRefunded,
    DepositSettled,
    PaidOut,
    PotDeposited,
    PotRefunded,
)
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.rules import order_money
from tests.machines import checks
from tests.machines.order_model import PAYABLE, Order
from tests.machines.order_scene import NOTE, OrderScene

# What may become of sending or undoing an order, as the API documents it. `state_mismatch` and
# `ledger_missing` need a human, and none is here.
OUTCOMES = {
    *("insufficient_funds", "balance_unreadable", "chain_unreadable", "fee_rate_unreadable"),
    *("residue_too_large", "authorization_cancelled", "deposit_id_squatted", "deposit_failed"),
    *("deposit_unreconciled", "ledger_write_failed", "fee_moved", "already_settled"),
}
# What stands in the way wherever it does; the last is the mode's own name.
GENERAL = {"invalid", "not_permitted", "inbound_order"}
BACK = ("refunded", "reclaimed")
HELD = ("open", "refunding")
OPEN = ("claimed", "submitted", "rejected")


def always(scene: OrderScene) -> None:
    checks.always(scene)
    with db.reading():
        failed = Command.select().where(Command.status == "failed")
        told = {(row.kind, (row.error or {}).get("code")) for row in failed}
        tasks = {row.id: row for row in Task.select()}
        escrows = list(Escrow.select().order_by(Escrow.task_id, Escrow.attempt))
        proofs = list(Proof.select())
        rollups = {row.id: row for row in Rollup.select()}
    strange = {one for one in told if one[0].startswith("order.") and one[1] not in OUTCOMES}
    assert not strange, strange
    for task in tasks.values():
        mine = [one for one in escrows if one.task_id == task.id]
        _one_deposit(scene, task, mine)
        _is_backed(scene, task, mine)
    for proof in proofs:
        carried = rollups.get(str(proof.rollup_id))
        paid = carried is not None and carried.status == "paid"
        assert (proof.paid_out_at is not None) == paid, proof.id


def _one_deposit(scene: OrderScene, task: Task, mine: list[Escrow]) -> None:
    """Never is more than one of an order's deposits there to stay, or paid out."""
    there = [one for one in mine if one.status == "open" and one.id == task.deposit_id]
    settled = [one for one in mine if one.status == "settled"]
    if not scene.reorganised:
        assert len(there) + len(settled) <= 1, (task.id, [one.status for one in mine])


def _is_backed(scene: OrderScene, task: Task, mine: list[Escrow]) -> None:
    """What an order says, its deposit says too."""
    found = [one.status for one in mine if one.id == task.deposit_id]
    assert len(found) <= 1
    status = found[0] if found else None
    if task.status == "withdrawn":
        # On its way back is one that came although it had been given up.
        assert status != "open", (task.id, status)
        assert task.order_withdrawn_at is not None and task.order_withdrawn_by is not None
    elif task.status == "undoing":
        # Its money is on its way: back, or in first if a reorg took that back.
        assert status in ("open", "refunding", "planned"), (task.id, status)
    elif task.status in (*OPEN, "approved"):
        assert task.order_withdrawn_at is None
        assert status in ("open", "settled") or scene.reorganised, (task.id, task.status, status)
    elif task.status == "draft":
        assert (task.escrowed_at is not None) == (status == "open"), (task.id, status)


def notes(scene: OrderScene) -> None:
    """The withheld note is open to the buyer exactly where its delivery is paid for."""
    for order in scene.sold.orders:
        for delivery in order.deliveries:
            path = f"{order.shop.path}/proofs/{delivery.proof_id}"
            read = order.buyer.person.get(path)["proof"]
            paid = read["paid_out_at"] is not None
            assert (read["private_note"] == NOTE) == paid, delivery.proof_id
            assert paid or (read["private_note"], read["private_note_locked"]) == (None, True)


def in_the_end(scene: OrderScene) -> None:
    """Each order is in one honest state, and every unit is where that says."""
    always(scene)
    checks.at_cursor(scene)
    notes(scene)
    # By now it is known whether a reorg has taken back what had been final.
    scene.reorganised = checks.taken_back() > 0
    documented = scene.documented()
    unknown = {one for one in scene.refusals if f"`{one}`" not in documented} - GENERAL
    assert not unknown, unknown
    treasury = scene.node.treasury
    events = treasury.events(0, scene.node.head())
    with db.reading():
        escrows = {row.id: row for row in Escrow.select()}
        tasks = {row.id: row for row in Task.select()}
    keys = [event.payout_key for event in events if isinstance(event, DepositSettled)]
    assert len(set(keys)) == len(keys), "a payout was made twice"
    assert not [one for one in events if isinstance(one, PaidOut | PotDeposited | PotRefunded)]
    for event in events:
        if isinstance(event, DepositSettled):
            row = escrows[event.deposit_key]
            split = order_money.split(row.amount_units, row.fee_bps)
            told = (event.amount_units, event.fee_units, event.residue_units)
            assert told == (split.net_units, split.fee_units, split.residue_units), row.id
            assert event.to == row.payee
    for order in scene.sold.orders:
        mine = [row for row in escrows.values() if row.task_id == order.task_id]
        _ends_well(scene, order, tasks[order.task_id], mine)
    _addresses(scene, events)
    _contract(scene, events)


def _ends_well(scene: OrderScene, order: Order, task: Task, mine: list[Escrow]) -> None:
    found = [one.status for one in mine if one.id == task.deposit_id]
    status = found[0] if found else None
    others = {one.status for one in mine if one.id != task.deposit_id}
    about = (task.id, task.status, status, others)
    gone = {*BACK, "abandoned", "planned"} | ({"settled"} if scene.reorganised else set())
    assert others <= gone, about
    with db.reading():
        standing = Proof.status.in_((*PAYABLE, "reported"))
        live = Proof.get_or_none(Proof.task_id == task.id, standing)
    if task.status == "draft":
        assert (status == "open") == (task.escrowed_at is not None), about
        assert status in (None, "open", "planned", "abandoned", *BACK), about
    elif task.status == "withdrawn":
        assert live is None and status in (None, "abandoned", "settled", *BACK), about
        assert status != "settled" or scene.reorganised, about
    elif task.status in OPEN:
        assert status == "open" and (live is None or live.status == "reported"), about
    else:
        assert task.status in ("approved", "submitted") and live is not None, about
        ended = "open" if live.status == "reported" else "settled"
        assert status == ended and (live.paid_out_at is not None) == (ended == "settled"), about
    _as_it_was_asked(scene, order, task, live)


def _as_it_was_asked(scene: OrderScene, order: Order, task: Task, live: Proof | None) -> None:
    if scene.reorganised or order.left:
        return
    if order.undone:
        assert task.status == "withdrawn", (task.id, task.status)
    elif order.approved:
        assert live is not None and live.paid_out_at is not None, (task.id, task.status)


def _addresses(scene: OrderScene, events: list[Any]) -> None:
    """Every address has what it had, less what it put in, and what came to it."""
    expected: Counter[str] = Counter(scene.sold.began_with)
    expected.update(dict.fromkeys(scene.payees, 0))
    by_id = {one.deposit_key: one for one in events if isinstance(one, DepositOpened)}
    for one in by_id.values():
        expected[one.depositor] -= one.amount_units
    for event in events:
        if isinstance(event, DepositSettled):
            expected[event.to] += event.amount_units
        elif isinstance(event, DepositRefunded | DepositReclaimed) and not event.claimable:
            expected[by_id[event.deposit_key].depositor] += event.amount_units
    treasury = scene.node.treasury
    has = {one: treasury.usdc_units(one) for one in expected}
    assert has == dict(expected), (has, expected)


def _contract(scene: OrderScene, events: list[Any]) -> None:
    treasury = scene.node.treasury
    booked = sum(
        ledger.balance_units("deposit", gig_keys.key(place.gig.id)) for place in scene.sold.shops
    )
    assert treasury.deposits_total_units() == booked
    with db.reading():
        held = sum(row.amount_units for row in Escrow.select().where(Escrow.status.in_(HELD)))
        sent = ChainTransaction.select().where(ChainTransaction.status == "sent").count()
    strays = scene.stray_units()
    assert held + strays == booked, (held, strays, booked)
    assert sent == 0
    assert treasury.held_units() == treasury.accounted_units() + ledger.balance_units("unsolicited")
