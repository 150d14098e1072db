"""Commands: an intent is a row first, and is acted on from that row (H-08).

The broker only carries ids. `run` may be called twice, at once, and may die at any line: the first
statement takes the row by compare-and-set, the outcome is fenced by the number of the start, and
each handler is a step that can be taken again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from engine import clock, rows, topics, wake
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused, not_found
from engine.ids import new_id
from engine.models.command import UNFINISHED, Command
from engine.moves import take
from engine.operations import Caller

# A step that takes longer may be taken by another as well, which is safe and only double work.
LEASE_MS = 30_000
FINISHED = ("done", "failed")
# What waits longer, as a letter to a server that is away, is for the sweep to find.
SOON_SECONDS = 10
# An error of ours is tried again, ever later, so that a fault that passes costs no work.
MOST_FAILURES = 20
LONGEST_PAUSE_SECONDS = 300

log = structlog.get_logger()


@dataclass(frozen=True)
class Done:
    """The command took effect; `result` is the answer's body, money as exact dollars."""

    result: dict[str, Any]


@dataclass(frozen=True)
class Wait:
    """Something outside is not ready; take the step again after this long, or when woken."""

    seconds: float


Outcome = Done | Wait
Handler = Callable[[Command], Outcome]
HandlerT = TypeVar("HandlerT", bound=Handler)

_handlers: dict[str, Handler] = {}


def handler(kind: str) -> Callable[[HandlerT], HandlerT]:
    """Register the step function of a kind of command."""

    def register(fn: HandlerT) -> HandlerT:
        _handlers[kind] = fn
        return fn

    return register


def record(
    kind: str,
    arguments: dict[str, Any],
    *,
    account_id: str | None,
    gig_id: str | None,
    command_id: str | None = None,
) -> Command:
    """Write a command that will run once this transaction commits; only inside `db.write`."""
    now = clock.now()
    command = Command.create(
        id=command_id or new_id("CMD"),
        kind=kind,
        status="pending",
        account_id=account_id,
        gig_id=gig_id,
        arguments=arguments,
        attempts=0,
        failures=0,
        run_after=now,
        created_at=now,
    )
    db.after_commit(lambda: wake.ring("command", command.id))
    return command


def record_done(
    command_id: str, kind: str, gig_id: str, arguments: dict[str, Any], result: dict[str, Any]
) -> None:
    """Write a command that took effect in this very transaction."""
    now = clock.now()
    values = {
        "id": command_id,
        "kind": kind,
        "status": "done",
        "gig_id": gig_id,
        "arguments": arguments,
        "result": result,
        "attempts": 1,
        "failures": 0,
        "run_after": now,
        "created_at": now,
        "finished_at": now,
    }
    rows.insert(Command, values)


def id_of_task(task_id: str) -> str:
    """Of the command that a task which was handed out is remembered by."""
    return task_id.replace("TASK_", "CMD_", 1)


def unused_of(task_id: str) -> str | None:
    """That id, while the task has not been handed out yet."""
    known = find(id_of_task(task_id))
    return id_of_task(task_id) if known is None else None


def result_of(command_id: str) -> dict[str, Any]:
    result: dict[str, Any] = peek(command_id).result
    return result


def finished(command_id: str) -> bool:
    return peek(command_id).status in FINISHED


def get(caller: Caller, command_id: str) -> Command:
    """A command of the caller's; 404 for anybody else's."""
    with db.reading():
        command = Command.get_or_none(
            Command.id == command_id, Command.account_id == caller.account_id
        )
    if command is None:
        raise not_found("command")
    return command


def peek(command_id: str) -> Command:
    """How far a command is; for those who have checked whose it is."""
    with db.reading():
        return Command.get(Command.id == command_id)


def find(command_id: str) -> Command | None:
    with db.reading():
        return Command.get_or_none(Command.id == command_id)


def sweep(resend_after_seconds: int, limit: int = 500) -> int:
    """Ring again for what is due and in nobody's hands; answers how many commands that was.

    A command that was just recorded has its own bell, so it is rung for only once it is older than
    the ordinary latency of the broker. None is rung for again before that time has passed once
    more: while every worker is busy the broker does not fill up with what it holds already.
    """

    def write() -> list[str]:
        now = clock.now()
        old = now - resend_after_seconds * clock.SECOND
        # A waiting row keeps in `lease_until` when it was last rung for.
        unheard = Command.lease_until.is_null() | (Command.lease_until <= old)
        ready = (
            ((Command.status == "pending") & (Command.run_after <= old))
            | ((Command.status == "waiting") & (Command.run_after <= now) & unheard)
            | ((Command.status == "running") & (Command.lease_until < now))
        )
        query = Command.select(Command.id).where(UNFINISHED, Command.run_after <= now, ready)
        found = [row.id for row in query.order_by(Command.run_after, Command.id).limit(limit)]
        Command.update(run_after=now).where(
            Command.id.in_(found), Command.status == "pending"
        ).execute()
        # Only while it is still due: somebody who was quicker may have run it, and it waits anew.
        Command.update(lease_until=now).where(
            Command.id.in_(found), Command.status == "waiting", Command.run_after <= now
        ).execute()
        return found

    found = db.write(write)
    for command_id in found:
        wake.ring("command", command_id)
    return len(found)


def has_waiting() -> bool:
    """Does any command wait for something outside, to be looked at soon?"""
    soon = clock.now() + SOON_SECONDS * clock.SECOND
    waiting = (Command.status == "waiting", Command.run_after <= soon)
    with db.reading():
        return bool(Command.select().where(UNFINISHED, *waiting).exists())


def wake_waiting(command_ids: set[str]) -> None:
    """What these commands wait for has happened; only inside `db.write`."""
    if not command_ids:
        return
    Command.update(run_after=clock.now()).where(
        Command.id.in_(sorted(command_ids)), Command.status == "waiting"
    ).execute()
    for command_id in command_ids:
        db.after_commit(lambda row_id=command_id: wake.ring("command", row_id))  # type: ignore[misc]


def run(command_id: str) -> None:
    """Take one step of a command, unless somebody else is at it or it is not its time."""
    command = db.write(lambda: _start(command_id))
    if command is None:
        return
    try:
        outcome = _handlers[command.kind](command)
    except Refused as refusal:
        kept = refusal.as_dict()
        if refusal.code == "database_unavailable":
            # No verdict on the command: what it has sent may be under way.
            db.write(lambda: _failed(command, str(kept["code"])))
        else:
            db.write(lambda: _finish(command, "fail", error=kept))
    except ChainUnavailable as error:
        log.warning("command.chain_unavailable", command_id=command.id, error=str(error))
        met = _unavailable(error)
        db.write(lambda: _wait(command, 2, met))
    except Exception as error:
        log.exception("command.failed", command_id=command.id, kind=command.kind)
        # Its class alone: what else it says may be anything.
        what = type(error).__name__
        db.write(lambda: _failed(command, what))
    else:
        if isinstance(outcome, Done):
            result = outcome.result
            db.write(lambda: _finish(command, "finish", result=result))
        else:
            seconds = outcome.seconds
            db.write(lambda: _wait(command, seconds))


def _start(command_id: str) -> Command | None:
    now = clock.now()
    held = {"lease_until": now + LEASE_MS, "attempts": Command.attempts + 1}
    if not (
        take(Command, command_id, "start", Command.run_after <= now, **held)
        or take(Command, command_id, "retake", Command.lease_until < now, **held)
    ):
        return None
    return Command.get(Command.id == command_id)


def _finish(command: Command, verb: str, error: dict[str, Any] | None = None, **sets: Any) -> None:
    mine = Command.attempts == command.attempts
    sets |= {"error": error, "lease_until": None, "finished_at": clock.now()}
    take(Command, command.id, verb, mine, **sets)
    topics.tell(topics.command(command.id))


def _wait(command: Command, seconds: float, refusal: Refused | None = None, **sets: Any) -> None:
    """`refusal` is what the step met, for whoever asks why it takes so long."""
    mine = Command.attempts == command.attempts
    sets |= {
        "error": None if refusal is None else refusal.as_dict(),
        "lease_until": None,
        "run_after": clock.now() + int(seconds * clock.SECOND),
    }
    take(Command, command.id, "wait", mine, **sets)


def _unavailable(error: ChainUnavailable) -> Refused:
    told = f"The chain cannot be used now: {type(error).__name__}. This goes on once it can."
    return Refused("chain_unavailable", told)


def _failed(command: Command, what: str) -> None:
    failures = command.failures + 1
    if failures >= MOST_FAILURES:
        told = f"This could not be done: {what}. The operator's log says more."
        _finish(command, "fail", Refused("internal", told).as_dict(), failures=failures)
        return
    pause = min(2**failures, LONGEST_PAUSE_SECONDS)
    told = f"A step failed here: {what}. It is tried again by itself; the operator's log says more."
    _wait(command, pause, Refused("internal", told), failures=failures)
