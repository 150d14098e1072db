"""Muster without anything that runs by itself: steps, bells and time are given by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine import (
    bells,
    cancellation,
    clock,
    commands,
    escrow_refunds,
    escrow_repair,
    install,
    order_repair,
    order_returns,
    reconcile,
    settlement,
    waiting_delivery,
)
from engine.chain import gas, outbox, sender
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.models.chain import ChainAttempt, ChainTransaction
from engine.models.command import UNFINISHED, Command
from tests.machines.node import Node
from tests.machines.rpc import Gate

# Past the lease of whoever holds a command.
LEASE_SECONDS = commands.LEASE_MS // clock.SECOND + 1
PLAIN, TWICE, OVERTAKEN, LATE = "plain", "twice", "overtaken", "late"
DIES_BEFORE_SENDING, DIES_AFTER_SENDING = "dies before sending", "dies after sending"
DIES_AT_THE_END = "dies at the end"
STEPS = (
    PLAIN,
    TWICE,
    OVERTAKEN,
    LATE,
    DIES_BEFORE_SENDING,
    DIES_AFTER_SENDING,
    DIES_AT_THE_END,
)
DIES_AFTER_BOOKING, REORGANISED = "dies after booking", "reorganised meanwhile"
READS = (PLAIN, OVERTAKEN, DIES_AFTER_BOOKING, REORGANISED)


class Died(BaseException):
    """The process ends here, as by a SIGKILL."""


class Time:
    """A clock that stands still but for a millisecond with each look, and can be moved."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000
        # Whoever else's time goes by, in seconds.
        self.followers: list[Callable[[int], Any]] = []

    def now(self) -> int:
        transaction = db.transaction
        if transaction is not None and transaction.now is not None:
            return transaction.now
        self.ms += 1
        if transaction is not None:
            transaction.now = self.ms
        return self.ms

    def advance(self, seconds: int) -> None:
        self.ms += seconds * clock.SECOND
        for follow in self.followers:
            follow(seconds)


class Driver:
    """Takes steps of what the install has to do, in ways that a crash or a race would."""

    def __init__(self, node: Node, time: Time) -> None:
        self.node, self.time = node, time
        chain = install.current().chain
        assert chain is not None
        self.gate = Gate(chain)

    # -- commands ---------------------------------------------------------------------------

    def unfinished(self) -> list[Command]:
        with db.reading():
            query = Command.select().where(UNFINISHED)
            return list(query.order_by(Command.created_at, Command.id))

    def step(self, command_id: str, how: str = PLAIN) -> None:
        self._make_due(command_id)
        if how == PLAIN:
            commands.run(command_id)
        elif how == TWICE:
            commands.run(command_id)
            self._make_due(command_id)
            commands.run(command_id)
        elif how == OVERTAKEN:
            with self._once(gas, "require", lambda: self._by_another(command_id), before=True):
                commands.run(command_id)
        elif how == LATE:
            with self._handled(command_id, lambda: self._by_another(command_id)):
                commands.run(command_id)
        else:
            self._killed(command_id, how)

    def step_all(self) -> None:
        for command in self.unfinished():
            self.step(command.id)

    def _make_due(self, command_id: str) -> None:
        """As the bell does when what it waits for may have happened; a dead holder's lease ends."""
        db.write(lambda: commands.wake_waiting({command_id}))
        if commands.peek(command_id).status == "running":
            self.time.advance(LEASE_SECONDS)

    def _by_another(self, command_id: str) -> None:
        """The lease runs out under whoever holds it, and another takes the step."""
        self.time.advance(LEASE_SECONDS)
        commands.run(command_id)

    def _killed(self, command_id: str, how: str) -> None:
        def die() -> None:
            raise Died

        if how == DIES_AT_THE_END:
            place: Any = self._handled(command_id, die)
        else:
            early = how == DIES_BEFORE_SENDING
            place = self._once(outbox, "broadcast", die, before=early)
        with place:
            try:
                commands.run(command_id)
            except Died:
                return

    @contextmanager
    def _handled(self, command_id: str, then: Callable[[], None]) -> Iterator[None]:
        """`then` happens after the step and before its outcome is written."""
        kind = commands.peek(command_id).kind
        real = commands._handlers[kind]
        came = itertools.count()

        def handler(command: Command) -> commands.Outcome:
            first = next(came) == 0
            outcome = real(command)
            if first:
                then()
            return outcome

        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(commands._handlers, kind, handler)
            yield

    @contextmanager
    def _once(
        self, module: Any, name: str, then: Callable[[], None], *, before: bool
    ) -> Iterator[None]:
        """`then` happens at the first call of a function, before or after it."""
        real = getattr(module, name)
        came = itertools.count()

        def called(*args: Any, **kwargs: Any) -> Any:
            first = next(came) == 0
            if first and before:
                then()
            answer = real(*args, **kwargs)
            if first and not before:
                then()
            return answer

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(module, name, called)
            yield

    # -- the reader of the chain ------------------------------------------------------------

    def reconcile(self, how: str = PLAIN, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """One look at the chain; was it taken to its end?"""

        def die() -> None:
            raise Died

        places: dict[str, Any] = {
            OVERTAKEN: lambda: self._once(reconcile, "_read", self._read_too, before=False),
            DIES_AFTER_BOOKING: lambda: self._once(sender, "follow", die, before=True),
            REORGANISED: lambda: self._once(reconcile, "_read", meanwhile, before=False),
        }
        try:
            if how == PLAIN:
                reconcile.run()
            else:
                with places[how]():
                    reconcile.run()
        except Died:
            return False
        except ChainUnavailable:
            if self.gate.is_good:
                raise
            return False
        return True

    def _read_too(self) -> None:
        try:
            reconcile.run()
        except ChainUnavailable:
            if self.gate.is_good:
                raise

    def ring(self) -> None:
        """What the scheduler rings for, now and then."""
        settlement.retry_stuck()
        cancellation.sweep()
        escrow_refunds.give_up_stale()
        escrow_repair.sweep()
        order_returns.sweep()
        order_repair.sweep()
        waiting_delivery.sweep()
        bells.ring()

    # -- what was sent ----------------------------------------------------------------------

    def in_pool(self) -> list[tuple[ChainTransaction, ChainAttempt]]:
        """Open transactions that the node has and no block has, with their newest form."""
        with db.reading():
            rows = list(
                ChainTransaction.select()
                .where(ChainTransaction.status == "sent")
                .order_by(ChainTransaction.created_at, ChainTransaction.nonce)
            )
        found = []
        for row in rows:
            if row.nonce < self.node.mined_nonce(row.signer):
                continue
            for attempt in outbox.attempts(row.id):
                if self.node.chain.transaction_known(attempt.tx_hash):
                    found.append((row, attempt))
                    break
        return found

    def raw_of(self, tx_hash: str) -> str | None:
        if tx_hash in self.node.raws:
            return self.node.raws[tx_hash]
        with db.reading():
            attempt = ChainAttempt.get_or_none(ChainAttempt.tx_hash == tx_hash)
        return None if attempt is None else str(attempt.raw_hex)

    def reorg(self, depth: int, *, returned: bool) -> int:
        """What the lost blocks had goes back to the pool, or is forgotten; answers the depth."""
        lost = self.node.reorg(depth)
        if returned:
            for tx_hash in lost:
                raw = self.raw_of(tx_hash)
                if raw is not None:
                    self.node.chain.broadcast(raw)
        return len(lost)
