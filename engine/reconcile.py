"""Reading the chain's own events into the books (Y-03, Y-05).

A cursor says up to which block everything is booked. Only blocks that are `CONFIRMATIONS` deep are
read; each log is booked once, by its place on chain; and the cursor moves in the same transaction,
by compare-and-set, so any number of processes may read at once.
"""

from __future__ import annotations

import structlog

from engine import commands, deposits, install, ledger, payouts
from engine.chain import sender
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import (
    FeesWithdrawn,
    PaidOut,
    PotDeposited,
    PotRefunded,
    Treasury,
    TreasuryEvent,
)
from engine.db import db
from engine.ledger import Fact, Line
from engine.models.command import UNFINISHED, Command
from engine.models.meta import Meta
from engine.models.rollup import Rollup

CURSOR_KEY = "reconcile_cursor"
# Nodes bound how many blocks one question may cover.
SPAN_BLOCKS = 2_000

log = structlog.get_logger()


def cursor() -> int:
    """The block up to which, and including which, everything is booked."""
    with db.reading():
        return int(Meta.read(CURSOR_KEY) or _start())


def _start() -> int:
    return install.current().settings.TREASURY_BLOCK - 1


def idle() -> bool:
    """Is there nothing of ours on the chain to look after?"""
    return install.current().treasury is None or not sender.has_open()


def run() -> int:
    """Book what has become final and follow what was sent; answers the cursor's block.

    ChainUnavailable when the node does not answer; what was booked until then stays.
    """
    treasury = install.treasury()
    confirmations = install.current().settings.CONFIRMATIONS
    final = treasury.chain.block_number() - confirmations
    at = cursor()
    while at < final:
        to = min(final, at + SPAN_BLOCKS)
        found = treasury.events(at + 1, to)
        if not db.write(lambda: _book_up_to(treasury, at, to, found)):  # noqa: B023
            # Another process was quicker; go on from where it stands.
            to = cursor()
        at = to
    ended = sender.follow(treasury.chain, at, payouts.reverted)
    if ended:
        db.write(_wake_deposits)
    return at


def _wake_deposits() -> None:
    waiting = Command.select(Command.id).where(
        UNFINISHED, Command.kind == deposits.KIND, Command.status == "waiting"
    )
    commands.wake_waiting({row.id for row in waiting})


def _book_up_to(treasury: Treasury, at: int, to: int, found: list[TreasuryEvent]) -> bool:
    Meta.put_once(CURSOR_KEY, str(_start()))
    if not Meta.swap(CURSOR_KEY, str(at), str(to)):
        return False
    commands.wake_waiting({command_id for event in found for command_id in _book(event)})
    return True


def _book(event: TreasuryEvent) -> list[str]:
    """Book one event; answers the commands that waited for it."""
    fact = Fact(
        reference=f"log:{event.tx_hash}:{event.log_index}",
        kind=type(event).__name__,
        block_number=event.block_number,
        tx_hash=event.tx_hash,
    )
    match event:
        case PotDeposited():
            ledger.book(
                fact,
                [
                    Line("outside", None, -event.amount_units),
                    Line("pot", event.gig_key, event.amount_units),
                ],
            )
        case PaidOut():
            ledger.book(
                fact,
                [
                    Line("pot", event.gig_key, -event.gross_units - event.fee_units),
                    Line("paid", event.gig_key, event.gross_units),
                    Line("fees", event.gig_key, event.fee_units),
                ],
            )
            rollup = Rollup.get_or_none(Rollup.payout_key == event.payout_key)
            if rollup is None:
                log.warning("reconcile.unknown_payout", payout_key=event.payout_key)
            else:
                payouts.paid(rollup, event.tx_hash)
                return [rollup.command_id]
        case PotRefunded():
            ledger.book(
                fact,
                [
                    Line("pot", event.gig_key, -event.amount_units),
                    Line("refunded", event.gig_key, event.amount_units),
                ],
            )
        case FeesWithdrawn():
            ledger.book(
                fact,
                [
                    Line("fees", None, -event.amount_units),
                    Line("withdrawn", None, event.amount_units),
                ],
            )
    return []


def run_quietly() -> None:
    """For the scheduler: a chain that is down is logged and tried again at the next bell."""
    if install.current().treasury is None:
        return
    try:
        run()
    except ChainUnavailable as error:
        log.warning("reconcile.chain_unavailable", error=str(error))
