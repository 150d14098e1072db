"""What a gig owes, and the rollups that will carry it (Y-02). All of it only inside `db.write`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import peewee

from engine import clock, events, install, ledger, own_orders, task_escrow, wallets
from engine.chain.deposit_terms import NOBODY
from engine.db import db
from engine.ids import new_id
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import UNCARRIED, UNCLOSED, Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.modes import takes_orders
from engine.moves import move
from engine.rules import money

# So long the scheduler leaves its buyer an order that the clock has just approved, to dispute it:
# it is all that he can do about it. Either side may settle it sooner.
DISPUTE_MS = 60 * 60 * clock.SECOND


@dataclass(frozen=True)
class Group:
    """Proofs of one mailbox that one payout carries; of one task where its own deposit pays.

    `client_id` is whose order that task is.
    """

    mailbox: Mailbox
    proofs: tuple[Proof, ...]
    fee_bps: int
    deposit: Escrow | None = None
    client_id: str | None = None

    @property
    def units(self) -> int:
        """What the worker gets."""
        return sum(proof.locked_price_units or 0 for proof in self.proofs)

    @property
    def fee_units(self) -> int:
        return money.fee_on_top(self.units, self.fee_bps)

    @property
    def pot_units(self) -> int:
        """What it takes from the gig's pot."""
        return 0 if self.deposit is not None else self.units + self.fee_units

    @property
    def payee(self) -> str:
        """The address that gets it: where a deposit's terms name one, no other can (O-11)."""
        if self.deposit is not None and self.deposit.payee != NOBODY:
            return str(self.deposit.payee)
        return str(self.mailbox.wallet_address)


def owed(
    gig: Gig, fee_bps: int, client_id: str | None = None, *, by_clock: bool = False
) -> tuple[list[Group], list[tuple[str, int]]]:
    """Approved work that no rollup carries: what to pay, and (mailbox id, units) below the minimum.

    `fee_bps` is the contract's rate now; a deposit keeps the rate that it was made with. With
    `client_id` only of his own orders. An order is paid from its own deposit or not at all. What is
    settled `by_clock` leaves alone what has just been approved so (`DISPUTE_MS`).
    """
    query = Proof.select().where(Proof.gig_id == gig.id, UNCARRIED, Proof.locked_price_units > 0)
    if client_id is not None:
        query = query.where(Proof.task_id.in_(own_orders.tasks(gig.id, client_id)))
    if by_clock:
        query = query.where(~disputable())
    found = db.lock(query.order_by(Proof.submitted_at, Proof.id))
    ordered = takes_orders(gig)
    clients = _clients(found) if ordered else {}
    deposits = _open_deposits(found)
    by_mailbox: dict[str, list[Proof]] = {}
    for proof in found:
        by_mailbox.setdefault(proof.mailbox_id, []).append(proof)
    mailboxes = payees(list(by_mailbox))
    groups: list[Group] = []
    below: list[tuple[str, int]] = []
    for mailbox_id, proofs in by_mailbox.items():
        units = sum(proof.locked_price_units or 0 for proof in proofs)
        if units < gig.min_payout_units:
            below.append((mailbox_id, units))
            continue
        mailbox = mailboxes[mailbox_id]
        from_pot = tuple(proof for proof in proofs if proof.task_id not in deposits)
        if from_pot and not ordered:
            groups.append(Group(mailbox, from_pot, fee_bps))
        for proof in proofs:
            deposit = deposits.get(proof.task_id)
            if deposit is not None and deposit.status == "open":
                client = clients.get(proof.task_id)
                groups.append(Group(mailbox, (proof,), deposit.fee_bps, deposit, client))
    return groups, below


def disputable() -> Any:
    """Deliveries of orders that the clock approved less than `DISPUTE_MS` ago."""
    orders = Task.select(Task.id).where(Task.client_id.is_null(False), Task.id == Proof.task_id)
    fresh = Proof.reviewed_at > clock.now() - DISPUTE_MS
    return (Proof.status == "timeout_approved") & fresh & peewee.fn.EXISTS(orders)


def _clients(proofs: list[Proof]) -> dict[str, str]:
    """Whose order each task is."""
    return {
        task.id: str(task.client_id)
        for some in peewee.chunked([proof.task_id for proof in proofs], 500)
        for task in Task.select(Task.id, Task.client_id).where(Task.id.in_(some))
    }


def _open_deposits(proofs: list[Proof]) -> dict[str, Escrow]:
    """The named deposit of each task that has one, whatever its state: no pot pays for those."""
    return {
        escrow.task_id: escrow
        for some in peewee.chunked([proof.task_id for proof in proofs], 500)
        for escrow in Escrow.select()
        .join(Task, on=(Task.deposit_id == Escrow.id))
        .where(Escrow.task_id.in_(some))
    }


def is_fixed(rollup: Rollup) -> bool:
    """Do the terms of the deposit that it is paid from name the payee (O-11)?"""
    if rollup.deposit_id is None:
        return False
    return bool(Escrow.get(Escrow.id == rollup.deposit_id).payee != NOBODY)


def payees(ids: list[str]) -> dict[str, Mailbox]:
    """Mailboxes that are to be paid, with their wallets kept as they are named now.

    A wallet may have been changed for another and deleted while it was waited for.
    """
    before: list[str] = []
    while True:
        found = _mailboxes(ids)
        addresses = sorted(mailbox.wallet_address for mailbox in found.values())
        if addresses == before:
            return found
        wallets.keep(addresses)
        before = addresses


def _mailboxes(ids: list[str]) -> dict[str, Mailbox]:
    return {
        mailbox.id: mailbox
        for some in peewee.chunked(ids, 500)
        for mailbox in Mailbox.select().where(Mailbox.id.in_(some))
    }


def carry(gig: Gig, command: Command, group: Group) -> None:
    """Make the rollup that pays a group, and set the money aside for it."""
    rollup = _make(gig, command, group)
    if group.deposit is None:
        ledger.reserve(rollup.id, gig.id, group.pot_units)


def close_rejected(gig: Gig, command: Command) -> None:
    """Rejected work that no rollup carries gets one that pays nothing, which closes it (R-04).

    Not of orders: there a rejection may be revised until the vendor delivers again (O-07).
    """
    if takes_orders(gig):
        return
    found = db.lock(
        Proof.select().where(Proof.gig_id == gig.id, UNCLOSED).order_by(Proof.mailbox_id, Proof.id)
    )
    by_mailbox: dict[str, list[Proof]] = {}
    for proof in found:
        by_mailbox.setdefault(proof.mailbox_id, []).append(proof)
    mailboxes = payees(list(by_mailbox))
    for mailbox_id, proofs in by_mailbox.items():
        # Nothing is paid, whatever these proofs would have been worth.
        rollup = _make(gig, command, Group(mailboxes[mailbox_id], tuple(proofs), 0), pays=False)
        move(rollup, "settle")
    # Their rejection is final now, so what was put in for them can go back.
    task_escrow.release_rejected(
        [proof.task_id for proof in found], command.account_id or "scheduler"
    )


def _make(gig: Gig, command: Command, group: Group, *, pays: bool = True) -> Rollup:
    rollup_id = new_id("ROLLUP")
    rollup = Rollup.create(
        id=rollup_id,
        gig_id=gig.id,
        mailbox_id=group.mailbox.id,
        command_id=command.id,
        status="pending",
        wallet_address=group.payee,
        gross_units=group.units if pays else 0,
        fee_units=group.fee_units if pays else 0,
        fee_bps=group.fee_bps,
        deposit_id=None if group.deposit is None else group.deposit.id,
        client_id=group.client_id,
        payout_key="0x" + install.treasury().payout_key(rollup_id).hex(),
        created_at=clock.now(),
    )
    carried = [proof.id for proof in group.proofs]
    for some in peewee.chunked(carried, 500):
        Proof.update(rollup_id=rollup.id).where(Proof.id.in_(some)).execute()
    events.append(
        "rollup.created",
        events.Subject("rollup", rollup.id),
        actor=command.account_id or "scheduler",
        gig_id=gig.id,
        mailbox_id=group.mailbox.id,
        data={"rollup_id": rollup.id, "proof_ids": carried},
    )
    return rollup
