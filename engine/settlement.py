"""Paying approved work (Y-01 … Y-04, Y-08).

One command settles one gig. Its first step decides, in one transaction, which proofs are paid by
which rollup; from then on the rollups are rows with ids of their own, and each id can be spent on
chain once. Later steps only send what is not sent and wait for the chain's word, which
`engine/payouts.py` hears.
"""

from __future__ import annotations

from typing import Any

from engine import (
    clock,
    commands,
    events,
    gigs,
    install,
    ledger,
    own_orders,
    payable,
    payout_batches,
    payouts,
)
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.proof import UNCARRIED, UNCLOSED, Proof
from engine.models.rollup import FAILED, UNPAID, Rollup
from engine.models.task import Task
from engine.moves import move
from engine.operations import OWNER, Caller, permit
from engine.rules import money

KIND = "gig.settle"
LOOK_AGAIN_SECONDS = 1.0
# Rollups of which the chain has not said how they end.
GOING_ON = ("pending", "sent")
# What a command's decision calls those of other commands, where somebody waits for its answer.
UNDER_WAY = "under_way"


def request(caller: Caller, gig_id: str) -> Command:
    """Record the settlement of a gig; it runs once this is committed.

    Whoever does not own it settles his own orders and nothing else. 409 `free_order` where orders
    cost nothing, `in_progress` for a buyer while all that he could settle is being undone (O-09).
    """

    def write() -> Command:
        gig = gigs.get(gig_id)
        has = permit("gig.settle", caller, gig)
        if gig.list_price_units == 0:
            raise Refused(
                "free_order",
                "This shop takes no money, so there is nothing to settle: an approval is the end "
                "of an order here.",
            )
        client_id = None if OWNER in has else caller.account_id
        if client_id is not None:
            _refuse_undoing(gig, client_id)
        install.treasury()
        return record(gig.id, caller.account_id, client_id=client_id)

    return db.write(write)


def _refuse_undoing(gig: Gig, client_id: str) -> None:
    """Being undone is what a buyer's order is doing, and there is nothing else of his to pay."""
    own = own_orders.tasks(gig.id, client_id)
    payable_now = Proof.select().where(UNCARRIED, Proof.task_id.in_(own))
    unpaid = Rollup.select().where(UNPAID, Rollup.gig_id == gig.id, Rollup.client_id == client_id)
    undoing = own.where(Task.status == "undoing")
    if undoing.exists() and not payable_now.exists() and not unpaid.exists():
        raise Refused(
            "in_progress",
            "This order is being undone just now. Read it again in a moment.",
            retry_after=1,
        )


def record(
    gig_id: str,
    account_id: str | None = None,
    *,
    only_stuck: bool = False,
    client_id: str | None = None,
) -> Command:
    """Record a settlement; only inside `db.write`. `only_stuck` makes no new rollups, `client_id`
    leaves alone what is not for an order of his."""
    arguments: dict[str, Any] = {"only_stuck": only_stuck}
    if client_id is not None:
        arguments["client_id"] = client_id
    return commands.record(KIND, arguments, account_id=account_id, gig_id=gig_id)


def request_all() -> int:
    """Record the settlement of every gig that owes something; the scheduler's call (Y-08)."""
    if install.current().treasury is None:
        return 0
    with db.reading():
        owing = Proof.select(Proof.gig_id).where(
            UNCARRIED, Proof.locked_price_units > 0, ~payable.disputable()
        )
        # What is rejected in a shop stays open.
        shops = Gig.select(Gig.id).where(Gig.list_price_units.is_null(False))
        closing = Proof.select(Proof.gig_id).where(UNCLOSED, Proof.gig_id.not_in(shops))
        stuck = Rollup.select(Rollup.gig_id).where(FAILED)
        gig_ids = {row.gig_id for query in (owing, closing, stuck) for row in query.distinct()}
    for gig_id in sorted(gig_ids):
        db.write(lambda one=gig_id: record(one))  # type: ignore[misc]
    return len(gig_ids)


def retry_stuck() -> int:
    """Record another try for payouts that failed a while ago or lost their command (Y-08)."""
    if install.current().treasury is None:
        return 0
    with db.reading():
        due = Rollup.select(Rollup.gig_id).where(FAILED, Rollup.retry_at <= clock.now())
        left = Rollup.select(Rollup.gig_id).where(UNPAID, _left_behind())
        gig_ids = {row.gig_id for query in (due, left) for row in query.distinct()}

    def write(gig_id: str) -> bool:
        # One try at a time: until it ends, nothing is due that it does not know of.
        running = Command.select().where(
            Command.gig_id == gig_id,
            Command.kind == KIND,
            Command.status.not_in(commands.FINISHED),
        )
        if running.exists():
            return False
        record(gig_id, only_stuck=True)
        return True

    return sum(db.write(lambda one=gig_id: write(one)) for gig_id in sorted(gig_ids))  # type: ignore[misc]


def _left_behind() -> Any:
    """Nothing works on these: pending after their command ended, or sent by nothing alive."""
    ended = Command.select(Command.id).where(Command.status.in_(commands.FINISHED))
    dead = ChainTransaction.select(ChainTransaction.id).where(
        ChainTransaction.status.in_(["reverted", "replaced"])
    )
    unsent = Rollup.chain_transaction_id.is_null() | Rollup.chain_transaction_id.in_(dead)
    return ((Rollup.status == "pending") & Rollup.command_id.in_(ended)) | (
        (Rollup.status == "sent") & unsent
    )


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step: decide once, send what is not sent, and be done when every rollup has ended.

    Those that another command is at are waited for as well, so that nobody is told that nothing is
    left to pay while it is being paid (Y-03).
    """
    treasury = install.treasury()
    decided = dict(command.result or _decided(command))
    under_way = decided.pop(UNDER_WAY, [])
    rollups = _of_command(command.id)
    payout_batches.send(treasury, [one for one in rollups if one.status == "pending"])
    rollups = _of_command(command.id) + payouts.by_ids(under_way)
    if any(rollup.status in GOING_ON for rollup in rollups):
        return commands.Wait(LOOK_AGAIN_SECONDS)
    # One that failed may have become this command's own.
    ids = list(dict.fromkeys(rollup.id for rollup in rollups))
    return commands.Done({**decided, "rollup_ids": ids})


def _decided(command: Command) -> dict[str, Any]:
    try:
        fee_bps = install.treasury().fee_bps()
    except ChainUnavailable as error:
        if command.account_id is None:
            # Nobody is there to ask again, and the next bell is a day away: it waits.
            raise
        raise unavailable() from error
    try:
        return db.write(lambda: _decide(command, fee_bps))
    except Refused as refusal:
        if command.account_id is None:
            reason = refusal
            db.write(lambda: _tell_refused(command, reason))
        raise


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


def _decide(command: Command, fee_bps: int) -> dict[str, Any]:
    """Make the rollups of this command, or refuse if the pot cannot cover them all and the fee."""
    # The gig's lock makes two settlements of it take turns; the second finds nothing left.
    gig = gigs.locked(command.gig_id)
    now: Command = db.lock(Command.select().where(Command.id == command.id))[0]
    if now.result is not None:
        result: dict[str, Any] = now.result
        return result
    client_id = command.arguments.get("client_id")
    mine = () if client_id is None else (Rollup.client_id == client_id,)
    decided: dict[str, Any] = {
        "retried_stuck": _adopt_stuck(gig, command, *mine),
        "skipped_below_minimum": [],
    }
    if not command.arguments.get("only_stuck"):
        by_clock = command.account_id is None
        groups, below = payable.owed(gig, fee_bps, client_id, by_clock=by_clock)
        _require_cover(gig, sum(group.pot_units for group in groups))
        for group in groups:
            payable.carry(gig, command, group)
        payable.close_rejected(gig, command)
        decided["skipped_below_minimum"] = [
            {"mailbox_id": mailbox_id, "amount": money.to_dollars(units)}
            for mailbox_id, units in below
        ]
    if command.account_id is not None:
        others = Rollup.select(Rollup.id).where(
            UNPAID,
            Rollup.gig_id == gig.id,
            Rollup.status.in_(GOING_ON),
            Rollup.command_id != command.id,
            *mine,
        )
        decided[UNDER_WAY] = [rollup.id for rollup in others.order_by(Rollup.id)]
    Command.update(result=decided).where(Command.id == command.id).execute()
    return decided


def _require_cover(gig: Gig, units: int) -> None:
    """400 `pot_short`. What takes nothing from the pot is not held up by what that owes already."""
    free = ledger.free_units(gig.id)
    if units and units > free:
        # A pot that a reorg has left with less than it owes lacks that as well.
        has, needed = max(0, free), units - min(0, free)
        raise Refused(
            "pot_short",
            f"The pot has ${money.to_dollars(has)} free and this needs "
            f"${money.to_dollars(needed)}, fee included. Deposit the rest and settle again.",
            available_funds=money.to_dollars(has),
            needed=money.to_dollars(needed),
        )


def _adopt_stuck(gig: Gig, command: Command, *mine: Any) -> int:
    """Take over what failed before, and what a command that gave up has left behind."""
    query = Rollup.select().where(
        Rollup.gig_id == gig.id, UNPAID, (Rollup.status == "failed") | _left_behind(), *mine
    )
    count = 0
    for rollup in db.lock(query):
        sets: dict[str, Any] = {"command_id": command.id}
        if not payable.is_fixed(rollup):
            # A new address of the worker counts for what is not paid yet, if the old one failed.
            mailbox = payable.payees([rollup.mailbox_id])[rollup.mailbox_id]
            sets["wallet_address"] = mailbox.wallet_address
        if rollup.status == "pending":
            Rollup.update(**sets).where(Rollup.id == rollup.id).execute()
        else:
            verb = "retry" if rollup.status == "failed" else "resend"
            move(rollup, verb, chain_transaction_id=None, failure=None, retry_at=None, **sets)
        count += 1
    return count


def _of_command(command_id: str) -> list[Rollup]:
    with db.reading():
        return list(
            Rollup.select()
            .where(Rollup.command_id == command_id)
            .order_by(Rollup.created_at, Rollup.id)
        )
