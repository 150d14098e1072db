"""Paying approved work from a gig's pot (Y-01 … Y-04, Y-08).

One command settles one gig. Its first step decides, in one transaction, which proofs are paid by
which rollup; from then on the rollups are rows with ids of their own, and each id can be spent on
chain once. Later steps only send what is not sent and wait for the chain's word, which
`engine/reconcile.py` writes into the rollups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import clock, commands, events, gigs, install, ledger, payouts
from engine.chain import sender
from engine.chain.client import address_of
from engine.chain.errors import CallReverted, ChainUnavailable
from engine.chain.treasury import PotPayout, Treasury
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import UNCARRIED, Proof
from engine.models.rollup import UNPAID, Rollup
from engine.moves import move
from engine.operations import Caller, permit
from engine.rules import money

KIND = "gig.settle"
# The contract's ceiling of payouts in one call.
BATCH = 100
LOOK_AGAIN_SECONDS = 1.0


def request(caller: Caller, gig_id: str) -> Command:
    """Record the settlement of a gig; it runs once this is committed."""

    def write() -> Command:
        gig = gigs.get(gig_id)
        permit("gig.settle", caller, gig)
        install.treasury()
        return commands.record(KIND, {}, account_id=caller.account_id, gig_id=gig.id)

    return db.write(write)


def request_all() -> int:
    """Record the settlement of every gig that owes something; the scheduler's call (Y-08)."""
    if install.current().treasury is None:
        return 0
    with db.reading():
        owing = Proof.select(Proof.gig_id).where(UNCARRIED, Proof.locked_price_units > 0)
        stuck = Rollup.select(Rollup.gig_id).where(UNPAID, Rollup.status == "failed")
        gig_ids = sorted({row.gig_id for row in [*owing.distinct(), *stuck.distinct()]})

    def record(gig_id: str) -> None:
        commands.record(KIND, {}, account_id=None, gig_id=gig_id)

    for gig_id in gig_ids:
        db.write(lambda one=gig_id: record(one))  # type: ignore[misc]
    return len(gig_ids)


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step: decide once, send what is not sent, and be done when every rollup has ended."""
    treasury = install.treasury()
    if command.result is None:
        try:
            fee_bps = treasury.fee_bps()
        except ChainUnavailable as error:
            if command.account_id is None:
                # Nobody is there to ask again, and the next bell is a day away: it waits.
                raise
            raise unavailable() from error
        try:
            command.result = db.write(lambda: _decide(command, fee_bps))
        except Refused as refusal:
            if command.account_id is None:
                reason = refusal
                db.write(lambda: _tell_refused(command, reason))
            raise
    _send_pending(treasury, command)
    rollups = _of_command(command.id)
    if any(rollup.status in ("pending", "sent") for rollup in rollups):
        return commands.Wait(LOOK_AGAIN_SECONDS)
    return commands.Done({**command.result, "rollup_ids": [rollup.id for rollup in rollups]})


def _tell_refused(command: Command, refusal: Refused) -> None:
    """Nobody waits for the scheduler's settlement, so the owner learns from the gig's events."""
    gig_id = str(command.gig_id)
    events.append(
        "settlement.refused",
        events.Subject("gig", gig_id),
        actor="scheduler",
        gig_id=gig_id,
        data={"reason": refusal.code, "error": refusal.message},
    )


def unavailable() -> Refused:
    return Refused(
        "chain_unavailable", "The chain does not answer, and nothing was sent. Try again shortly."
    )


@dataclass(frozen=True)
class _Group:
    mailbox: Mailbox
    proofs: list[Proof]

    @property
    def units(self) -> int:
        return sum(proof.locked_price_units or 0 for proof in self.proofs)


def _decide(command: Command, fee_bps: int) -> dict[str, Any]:
    """Make the rollups of this command, or refuse if the pot cannot cover them all and the fee."""
    # The gig's lock makes two settlements of it take turns; the second finds nothing left.
    gig: Gig = db.lock(Gig.select().where(Gig.id == command.gig_id))[0]
    now: Command = db.lock(Command.select().where(Command.id == command.id))[0]
    if now.result is not None:
        result: dict[str, Any] = now.result
        return result
    retried = _adopt_stuck(gig, command)
    groups, skipped = _payable(gig)
    new_units = sum(group.units + money.fee_on_top(group.units, fee_bps) for group in groups)
    available = ledger.pot_units(gig.id) - ledger.reserved_units(gig.id)
    if new_units > available:
        raise Refused(
            "pot_short",
            f"The pot has ${money.to_dollars(available)} free and this needs "
            f"${money.to_dollars(new_units)}, fee included. Deposit the rest and settle again.",
            available_funds=money.to_dollars(available),
            needed=money.to_dollars(new_units),
        )
    for group in groups:
        _make_rollup(gig, command, group, fee_bps)
    decided = {
        "retried_stuck": retried,
        "skipped_below_minimum": [
            {"mailbox_id": group.mailbox.id, "amount": money.to_dollars(group.units)}
            for group in skipped
        ],
    }
    Command.update(result=decided).where(Command.id == command.id).execute()
    return decided


def _adopt_stuck(gig: Gig, command: Command) -> int:
    """Take over what failed before, and what a command that gave up has left behind."""
    ended = Command.select(Command.id).where(
        Command.gig_id == gig.id, Command.kind == KIND, Command.status.in_(commands.FINISHED)
    )
    stuck = Rollup.select().where(
        Rollup.gig_id == gig.id,
        (Rollup.status == "failed") | ((Rollup.status == "pending") & Rollup.command_id.in_(ended)),
    )
    count = 0
    for rollup in db.lock(stuck):
        # A new address of the worker counts for what is not paid yet, if the old one failed.
        mailbox = Mailbox.get(Mailbox.id == rollup.mailbox_id)
        sets = {"command_id": command.id, "wallet_address": mailbox.wallet_address}
        if rollup.status == "failed":
            move(rollup, "retry", chain_transaction_id=None, failure=None, **sets)
        else:
            Rollup.update(**sets).where(Rollup.id == rollup.id).execute()
        count += 1
    return count


def _payable(gig: Gig) -> tuple[list[_Group], list[_Group]]:
    """Approved proofs that no rollup carries, by mailbox: (to be paid, below the minimum)."""
    found = db.lock(
        Proof.select()
        .where(
            Proof.gig_id == gig.id,
            UNCARRIED,
            Proof.locked_price_units > 0,
        )
        .order_by(Proof.submitted_at, Proof.id)
    )
    by_mailbox: dict[str, list[Proof]] = {}
    for proof in found:
        by_mailbox.setdefault(proof.mailbox_id, []).append(proof)
    groups = [
        _Group(Mailbox.get(Mailbox.id == mailbox_id), proofs)
        for mailbox_id, proofs in by_mailbox.items()
    ]
    enough = [group for group in groups if group.units >= gig.min_payout_units]
    return enough, [group for group in groups if group.units < gig.min_payout_units]


def _make_rollup(gig: Gig, command: Command, group: _Group, fee_bps: int) -> None:
    rollup_id = new_id("ROLLUP")
    rollup = Rollup.create(
        id=rollup_id,
        gig_id=gig.id,
        mailbox_id=group.mailbox.id,
        command_id=command.id,
        status="pending",
        wallet_address=group.mailbox.wallet_address,
        gross_units=group.units,
        fee_units=money.fee_on_top(group.units, fee_bps),
        fee_bps=fee_bps,
        payout_key="0x" + install.treasury().payout_key(rollup_id).hex(),
        created_at=clock.now(),
    )
    carried = [proof.id for proof in group.proofs]
    Proof.update(rollup_id=rollup.id).where(Proof.id.in_(carried)).execute()
    events.append(
        "rollup.created",
        events.Subject("rollup", rollup.id),
        actor=command.account_id or "scheduler",
        gig_id=gig.id,
        mailbox_id=group.mailbox.id,
        data={"rollup_id": rollup.id, "proof_ids": carried},
    )


def _of_command(command_id: str) -> list[Rollup]:
    with db.reading():
        return list(
            Rollup.select()
            .where(Rollup.command_id == command_id)
            .order_by(Rollup.created_at, Rollup.id)
        )


def _send_pending(treasury: Treasury, command: Command) -> None:
    pending = [rollup for rollup in _of_command(command.id) if rollup.status == "pending"]
    for first in range(0, len(pending), BATCH):
        _send_batch(treasury, pending[first : first + BATCH])


def _send_batch(treasury: Treasury, rollups: list[Rollup]) -> None:
    """Send one call for all of them; if it would revert, halve it until the bad one stands alone.

    So a recipient who cannot be paid never holds up the others (Y-04).
    """
    try:
        _send_call(treasury, rollups)
    except CallReverted as error:
        if len(rollups) > 1:
            half = len(rollups) // 2
            _send_batch(treasury, rollups[:half])
            _send_batch(treasury, rollups[half:])
        elif treasury.payout_spent(rollups[0].id):
            # Paid by a transaction that we lost sight of; the chain's event will say so.
            return
        else:
            reason = error.reason
            db.write(lambda: payouts.refused(rollups[0].id, reason))


def _send_call(treasury: Treasury, rollups: list[Rollup]) -> None:
    key = operator_key()
    call = treasury.pay_from_pots(
        [
            PotPayout(rollup.id, rollup.gig_id, rollup.wallet_address, rollup.gross_units)
            for rollup in rollups
        ]
    )

    def stored(row: ChainTransaction) -> None:
        for rollup in rollups:
            # Fails, and takes the signed bytes with it, if another process was quicker with one.
            move(rollup, "send", chain_transaction_id=row.id)

    try:
        # A try has an intent of its own; that a rollup is paid once is the contract's to keep.
        sender.send(treasury.chain, key, f"payout:{new_id('TRY')}", call, stored)
    except Refused:
        return


def operator_key() -> sender.Key:
    private_key = install.current().settings.OPERATOR_KEY
    if not private_key:
        raise Refused("no_operator_key", "This install cannot pay out. Set MUSTER_OPERATOR_KEY.")
    return sender.Key(address_of(private_key), private_key)
