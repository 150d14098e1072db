"""How long a claim lasts: its clock, its end, and the owner's hand in both (Q-07, A-02, F04)."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from engine import (
    cancellation,
    clock,
    events,
    gigs,
    holding,
    in_hand,
    mailboxes,
    offers,
    planning,
    shelf,
    tasks,
)
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller, permit
from engine.rules import times

ACTOR = "scheduler"
# A claim may be held for so many times the gig's `task_timeout`, unless the gig says otherwise.
DEFAULT_HOLD_FACTOR = 10
# So far ahead an owner may set a claim's end.
MAX_AHEAD_SECONDS = clock.MAX_ADVANCE_SECONDS
BATCH = 200

# By the index of claims that end (`task_expiring`).
_RUN_OUT = """
SELECT id, gig_id, mailbox_id, expires_at, number FROM task
WHERE status IN ('claimed') AND expires_at <= ? AND (expires_at, number) > (?, ?)
ORDER BY expires_at, number LIMIT ?
"""
_HOLDER = "SELECT mailbox_id FROM task WHERE id = ? AND gig_id = ?"

log = structlog.get_logger()


@dataclass(frozen=True)
class Claim:
    """A claim as it was found, before it is locked and looked at again."""

    task_id: str
    gig_id: str
    mailbox_id: str
    expires_at: int
    number: int


def expire() -> int:
    """Take back every claim whose time has run out; answers how many this call took back.

    Rung by the sweep, in any number of processes at once: of those who find a claim one takes it.
    """
    taken, after = 0, (0, 0)
    while found := _run_out(after):
        for claim in found:
            try:
                taken += db.write(lambda one=claim: _expire(one))  # type: ignore[misc]
            except Exception:
                # One that cannot be taken back must not keep the others.
                log.exception("claim.not_expired", task_id=claim.task_id)
        after = (found[-1].expires_at, found[-1].number)
    return taken


def _run_out(after: tuple[int, int]) -> list[Claim]:
    with db.reading():
        return [Claim(*row) for row in db.rows(_RUN_OUT, (clock.now(), *after, BATCH))]


def _expire(claim: Claim) -> bool:
    gig = cancellation.hold(claim.gig_id)
    in_hand.hold_mailbox(claim.mailbox_id)
    task = tasks.locked(gig, claim.task_id)
    # Handed in, given back, extended or in other hands by now.
    if task.status != "claimed" or task.mailbox_id != claim.mailbox_id:
        return False
    if not in_hand.has_run_out(task):
        return False
    told = {
        "mailbox_id": claim.mailbox_id,
        "expires_at": times.iso_ms_or_none(task.expires_at),
    }
    _take_back(gig, task, claim.mailbox_id, holding.EXPIRED, ACTOR)
    events.append(
        "task.expired",
        events.Subject("task", task.id),
        actor=ACTOR,
        gig_id=gig.id,
        mailbox_id=claim.mailbox_id,
        data=told,
    )
    return True


def _take_back(gig: Gig, task: Task, holder: str, reason: str, actor: str) -> None:
    holding.exclude(holder, task, reason)
    planning.release(gig, task)
    cancellation.catch(gig, task, actor)


def heartbeat(
    caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None
) -> int | None:
    """The holder is still at it: his time begins anew; answers when it ends now.

    By the gig's times as they were when he claimed it (F28). Never past the claim's longest time,
    and never sooner than it would have: what the owner granted beyond it stays. None: no end.
    409 `not_accepted` while the task waits for his word (U-04).
    """

    def write() -> int | None:
        gig = gigs.get(gig_id)
        permit("task.heartbeat", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        task = tasks.locked(gig, task_id)
        if not in_hand.holds(mailbox, task):
            in_hand.require_not_lost(mailbox, task)
            if not shelf.is_shown(gig, task, {mailbox.id}):
                raise not_found("task")
            raise Refused("not_held", "You do not hold this task, so there is no clock to set.")
        offers.require_accepted(task)
        return _set_clock(task, _beat(task))

    return db.write(write)


def _beat(task: Task) -> int | None:
    timeout = task.held_timeout_seconds
    if timeout is None or task.expires_at is None:
        return task.expires_at
    longest = task.held_most_seconds or timeout * DEFAULT_HOLD_FACTOR
    last = (task.claimed_at or 0) + longest * clock.SECOND
    return max(task.expires_at, min(clock.now() + timeout * clock.SECOND, last))


def _set_clock(task: Task, expires_at: int | None) -> int | None:
    if expires_at != task.expires_at:
        # An offer ends when its claim does.
        accept_by = None if task.accept_by is None else expires_at
        Task.update(expires_at=expires_at, accept_by=accept_by).where(
            Task.number == task.number
        ).execute()
        task.expires_at, task.accept_by = expires_at, accept_by
    return expires_at


def extend(caller: Caller, gig_id: str, task_id: str, seconds: int | None = None) -> int | None:
    """The owner gives the holder more time, by default `task_timeout`; answers when it ends now.

    Before the holder has accepted it is more time to accept, by default `accept_timeout` (U-04).
    A claim that has run out is brought back while the sweep has not taken it: nobody else has been
    offered the task, and its owner says who shall do it. Then the time counts from now. A claim
    without an end stays so.
    """

    def write() -> int | None:
        gig = gigs.get(gig_id)
        permit("task.extend", caller, gig)
        task = tasks.locked(gig, task_id)
        if task.status != "claimed":
            raise _not_held(task)
        if task.expires_at is not None:
            _set_clock(task, _later(gig, task, seconds))
        events.append(
            "task.extended",
            events.Subject("task", task.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=task.mailbox_id,
            data={
                "mailbox_id": task.mailbox_id,
                "expires_at": times.iso_ms_or_none(task.expires_at),
            },
        )
        return task.expires_at

    return db.write(write)


def _later(gig: Gig, task: Task, seconds: int | None) -> int:
    offered = task.accept_by is not None
    usual = gig.accept_timeout_seconds if offered else gig.task_timeout_seconds
    more = usual if seconds is None else seconds
    if more is None:
        name = "accept_timeout" if offered else "task_timeout"
        raise invalid("seconds", f"this gig has no {name}, so say how many seconds")
    now = clock.now()
    until = max(task.expires_at or now, now) + more * clock.SECOND
    if until > now + MAX_AHEAD_SECONDS * clock.SECOND:
        raise invalid("seconds", f"a claim may end at most {MAX_AHEAD_SECONDS} s from now")
    return until


@dataclass(frozen=True)
class Recycled:
    """Does the task wait for a worker again, and if not, to whom was it given at once?"""

    requeued: bool
    given_to: Mailbox | None = None


def recycle(caller: Caller, gig_id: str, task_id: str) -> Recycled:
    """The owner takes a task from its holder, who is not to blame (M-06).

    He is not offered it any more, but may be assigned it. It does not wait again if it was
    assigned, or a copy, or if the mode has given it to another worker.
    """

    def write() -> Recycled:
        gig = cancellation.hold(gig_id)
        permit("task.recycle", caller, gig)
        holder = db.scalar(_HOLDER, (task_id, gig.id))
        if holder is not None:
            in_hand.hold_mailbox(holder)
        task = tasks.locked(gig, task_id)
        if task.status != "claimed":
            raise _not_held(task)
        if task.mailbox_id != holder:
            raise Refused("holder_changed", "This task has just changed hands. Read it again.")
        holding.excuse(task)
        _take_back(gig, task, holder, holding.RECYCLED, caller.account_id)
        requeued = bool(task.status == "queued")
        events.append(
            "task.recycled",
            events.Subject("task", task.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=holder,
            data={"mailbox_id": holder, "requeued": requeued},
        )
        given = task.mailbox_id if task.status == "claimed" else None
        return Recycled(requeued, None if given is None else mailboxes.get(gig.id, given))

    return db.write(write)


def _not_held(task: Task) -> Refused:
    if task.status in in_hand.HANDED_IN:
        return Refused("already_proven", "A proof of this task was handed in. Review that.")
    if task.status == "unassigned":
        return Refused(
            "not_held", "Nobody holds this task: it is back in your hands. Assign it to somebody."
        )
    return Refused("not_held", f"Nobody holds this task, which is {task.status}.")
