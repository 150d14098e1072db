"""Reading the chain's own events into the books (Y-03, Y-05).

A cursor says up to which block everything is booked. Only blocks that are `CONFIRMATIONS` deep are
read; each log is booked once, by its place on chain; and the cursor moves in the same transaction,
by compare-and-set, so any number of processes may read at once.

The block at the cursor is remembered by its hash. When the chain has another one there, it was
reorganised deeper than that: what was booked above the newest block that still stands is taken
back, in one transaction, and reading goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from engine import (
    bookings,
    chain_blocks,
    chain_news,
    commands,
    deposits,
    gifts,
    install,
    listeners,  # noqa: F401
    observers,
)
from engine.chain import sender
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import Treasury
from engine.chain.treasury_events import TreasuryEvent
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import UNFINISHED, Command
from engine.models.meta import Meta

CURSOR_KEY = "reconcile_cursor"
# Nodes bound how many blocks one question may cover.
SPAN_BLOCKS = 2_000
# What one transaction books and tells, but for a single block that holds more.
MOST_EVENTS = 2_000

log = structlog.get_logger()


@dataclass(frozen=True)
class _Span:
    """What was read of the blocks after `at`, up to and including `to`."""

    at: int
    at_hash: str | None
    to: int
    to_hash: str
    events: list[TreasuryEvent]
    hashes: dict[int, str]


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

    ChainUnavailable when the node does not answer (ForeignChain: when it is on another chain); what
    was booked until then stays.
    """
    treasury = install.treasury()
    chain = treasury.chain
    chain_blocks.require_same(chain)
    db.write(lambda: Meta.put_once(CURSOR_KEY, str(_start())))
    head = chain.block_number()
    at = cursor()
    if head < at:
        # It lags behind what we have read from another, or earlier; that is no reorg.
        chain_blocks.require_same(chain, to_the_root=True)
        log.info("reconcile.node_lags", head=head, cursor=at)
        return at
    at = _undo_orphaned(chain, at)
    final = head - install.current().settings.CONFIRMATIONS
    while at < final:
        span = _read(treasury, at, min(final, at + SPAN_BLOCKS))
        if span is None:
            # The chain moved under us; the next run sees how.
            break
        if not db.write(lambda: _book(span)):  # noqa: B023
            log.info("reconcile.overtaken", cursor=at)
        at = cursor()
    else:
        _book_earlier_gifts(treasury, at)
    seen = chain_blocks.hash_at(at)
    ended = sender.follow(chain, at, _failed, lambda: _still_there(at, seen))
    if ended:
        db.write(_wake_deposits)
    return at


def _still_there(at: int, seen: str | None) -> bool:
    """Do the books still stand on this block, and will until this transaction is committed?"""
    (held,) = db.lock(Meta.select().where(Meta.key == CURSOR_KEY))
    return int(held.value) >= at and chain_blocks.hash_at(at) == seen


def _failed(transaction: ChainTransaction) -> None:
    commands.wake_waiting(observers.tell_failure(transaction))


def _wake_deposits() -> None:
    waiting = Command.select(Command.id).where(
        UNFINISHED, Command.kind == deposits.KIND, Command.status == "waiting"
    )
    commands.wake_waiting({row.id for row in waiting})


def _read(treasury: Treasury, at: int, to: int) -> _Span | None:
    """The events of a span; None when they are not all of one and the same chain."""
    chain = treasury.chain
    at_hash = chain_blocks.hash_at(at)
    to_hash = chain.block(to).hash
    found = treasury.events(at + 1, to)
    since = gifts.since()
    if since is not None and since < to:
        found = [*found, *gifts.read(treasury, max(at, since) + 1, to, found)]
    found = sorted(found, key=lambda event: (event.block_number, event.log_index))
    hashes = {event.block_number: event.block_hash for event in found}
    hashes[to] = to_hash
    torn = any(hashes[event.block_number] != event.block_hash for event in found)
    moved = at_hash is not None and chain.block(at).hash != at_hash
    if torn or moved or chain.block(to).hash != to_hash:
        log.info("reconcile.chain_moved", cursor=at)
        return None
    if len(found) > MOST_EVENTS:
        last = found[MOST_EVENTS - 1]
        to, to_hash = last.block_number, last.block_hash
        found = [event for event in found if event.block_number <= to]
        hashes = {number: one for number, one in hashes.items() if number <= to}
    return _Span(at, at_hash, to, to_hash, found, hashes)


def _hold_cursor(at: int, at_hash: str | None) -> bool:
    """Does it still stand at this very block? Nobody else moves it until we are done."""
    (held,) = db.lock(Meta.select().where(Meta.key == CURSOR_KEY))
    return int(held.value) == at and chain_blocks.hash_at(at) == at_hash


def _book(span: _Span) -> bool:
    if not _hold_cursor(span.at, span.at_hash):
        return False
    woken: set[str] = set()
    for event in span.events:
        if bookings.book(event):
            woken |= _tell(event, taken_back=False)
    chain_blocks.remember(span.hashes)
    Meta.put(CURSOR_KEY, str(span.to))
    commands.wake_waiting(woken)
    return True


def _tell(event: TreasuryEvent, taken_back: bool) -> set[str]:
    # Before anybody marks what the event names as known to us.
    chain_news.tell(event, taken_back)
    return observers.tell_event(event, taken_back)


def _undo_orphaned(chain: Chain, at: int) -> int:
    """Take back what a reorg has undone, if one did; answers where the cursor stands then."""
    known = chain_blocks.hash_at(at)
    if known is None:
        # Nothing was read yet, or by a version that did not remember blocks: it is what it is now.
        first = max(at, 0)
        first_hash = chain.block(first).hash

        def write() -> None:
            if _hold_cursor(at, None):
                chain_blocks.remember({first: first_hash})

        db.write(write)
        return cursor()
    if chain.block(at).hash == known:
        return at
    chain_blocks.require_same(chain, to_the_root=True)
    back = chain_blocks.newest_standing(chain)
    if back < at:
        undone = db.write(lambda: _take_back(at, known, back))
        log.warning("reconcile.reorg", cursor=at, back_to=back, taken_back=undone)
    return cursor()


def _take_back(at: int, at_hash: str, back: int) -> int:
    """Undo every booking above `back`; answers how many those were."""
    if not _hold_cursor(at, at_hash):
        return 0
    woken: set[str] = set()
    orphaned = bookings.standing_above(back)
    for event in orphaned:
        bookings.take_back(event)
        woken |= _tell(event, taken_back=True)
    sender.unmine(back + 1)
    chain_blocks.forget_above(back)
    gifts.forget_above(back)
    Meta.put(CURSOR_KEY, str(back))
    commands.wake_waiting(woken)
    return len(orphaned)


def _book_earlier_gifts(treasury: Treasury, at: int) -> None:
    """Once: what the contract held unasked before we began to read the token's logs."""
    if gifts.since() is not None or at < 0:
        return
    at_hash = chain_blocks.hash_at(at)
    try:
        if at_hash is None or treasury.chain.block(at).hash != at_hash:
            return
        gift = gifts.before(treasury, at, at_hash)
    except ChainUnavailable as error:
        # No contract there yet, or a node that no longer knows; blocks go on, and so do runs.
        log.info("reconcile.gifts_unknown", block=at, error=str(error))
        return

    def write() -> None:
        if gifts.since() is None and _hold_cursor(at, at_hash):
            if gift.amount_units > 0:
                bookings.book(gift)
            gifts.remember(at)

    db.write(write)


def run_quietly() -> None:
    """For the scheduler: a chain that is down is logged and tried again at the next bell."""
    if install.current().treasury is None:
        return
    try:
        run()
    except chain_blocks.ForeignChain as error:
        log.error("reconcile.foreign_chain", error=str(error))
    except ChainUnavailable as error:
        log.warning("reconcile.chain_unavailable", error=str(error))
