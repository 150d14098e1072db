"""How many more tasks a mailbox may take now (M-05).

Two limits, each of them the mailbox's own or else the gig's: so many takes in so many minutes, and
so many tasks held without a proof. A take is a claim, or a proof of a task that nobody had claimed;
what the owner assigns is no take, but it is held like any other.

The window slides: a take counts until the limit's minutes have passed since it, by the database's
clock. Counts are taken while the mailbox is held (`mailboxes.hold`), by a statement that begins
after that, so what another transaction took for it before is seen and nothing can be added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine import clock
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.rules import times

MINUTE = 60 * clock.SECOND

# By the index of a task's holder and state. What he holds on the gig's behalf has no proof yet.
_OPEN = "SELECT count(*) FROM task WHERE mailbox_id = ? AND status = 'claimed'"
# By the primary key of `take`. Once the take behind the newest `count - 1` leaves, there is room.
_USED = """
SELECT count(*), min(at),
    (SELECT at FROM take WHERE mailbox_id = ? AND at > ? AND kind <> 'assigned'
     ORDER BY at DESC LIMIT 1 OFFSET ?)
FROM take WHERE mailbox_id = ? AND at > ? AND kind <> 'assigned'
"""


class Limited(Protocol):
    """A mailbox, as far as its own limits go."""

    @property
    def rate_limit_count(self) -> int | None: ...

    @property
    def rate_limit_minutes(self) -> int | None: ...

    @property
    def max_open_tasks(self) -> int | None: ...


@dataclass(frozen=True)
class Limits:
    """What limits a mailbox, and where each limit comes from; None without one."""

    count: int | None
    minutes: int
    rate_source: str
    max_open_tasks: int | None
    open_source: str

    @property
    def any(self) -> bool:
        return self.count is not None or self.max_open_tasks is not None

    def since(self, now: int) -> int:
        """Takes after this moment count."""
        return now - self.minutes * MINUTE


@dataclass(frozen=True)
class Rate:
    """Takes in the window. `retry_at` (ms) is when there is room again; None while there is."""

    count: int
    minutes: int
    source: str
    used: int
    # The oldest take that counts, and the one that must leave the window before there is room.
    oldest_at: int | None = None
    last_at: int | None = None

    @property
    def remaining(self) -> int:
        return max(0, self.count - self.used)

    @property
    def retry_at(self) -> int | None:
        if self.remaining > 0 or self.last_at is None:
            return None
        return self.last_at + self.minutes * MINUTE


@dataclass(frozen=True)
class Open:
    """Tasks held without a proof."""

    max_open_tasks: int
    source: str
    open: int

    @property
    def remaining(self) -> int:
        return max(0, self.max_open_tasks - self.open)


@dataclass(frozen=True)
class Allowance:
    """Both limits as they stand; None where there is none."""

    rate: Rate | None = None
    open: Open | None = None

    def most(self, asked: int) -> int:
        """How many of `asked` tasks may be taken."""
        return min([asked, *(limit.remaining for limit in (self.rate, self.open) if limit)])

    def after(self, taken: int, now: int) -> Allowance:
        """The limits once so many more were taken at `now`."""
        rate, held = self.rate, self.open
        if rate is not None and taken:
            oldest = now if rate.oldest_at is None else rate.oldest_at
            rate = replace(rate, used=rate.used + taken, oldest_at=oldest, last_at=oldest)
        if held is not None:
            held = replace(held, open=held.open + taken)
        return Allowance(rate, held)

    def check(self) -> Allowance:
        """429 when not even one more may be taken."""
        if self.rate is not None and self.rate.remaining == 0:
            raise _rate_limit_reached(self.rate)
        if self.open is not None and self.open.remaining == 0:
            raise _open_tasks_reached(self.open)
        return self

    def view(self) -> dict[str, Any]:
        """The two members that every answer about taking shows."""
        return {
            "rate_limit": None if self.rate is None else _rate_view(self.rate),
            "open_tasks": None if self.open is None else _open_view(self.open),
        }


def limits(gig: Gig, mailbox: Limited) -> Limits:
    """The mailbox's own limits come before the gig's."""
    own_rate = mailbox.rate_limit_count is not None and mailbox.rate_limit_minutes is not None
    count, minutes = (
        (mailbox.rate_limit_count, mailbox.rate_limit_minutes)
        if own_rate
        else (gig.default_rate_limit_count, gig.default_rate_limit_minutes)
    )
    own_open = mailbox.max_open_tasks is not None
    return Limits(
        None if minutes is None else count,
        minutes or 0,
        "mailbox" if own_rate else "gig",
        mailbox.max_open_tasks if own_open else gig.default_max_open_tasks,
        "mailbox" if own_open else "gig",
    )


def standing(gig: Gig, mailbox: Mailbox) -> Allowance:
    """Where the mailbox's limits stand now."""
    limit, now = limits(gig, mailbox), clock.now()
    rate = held = None
    with db.reading():
        if limit.count is not None:
            window = (mailbox.id, limit.since(now))
            behind = max(0, limit.count - 1)
            ((used, oldest, last),) = db.rows(_USED, (*window, behind, *window))
            rate = Rate(limit.count, limit.minutes, limit.rate_source, used, oldest, last)
        if limit.max_open_tasks is not None:
            held = Open(
                limit.max_open_tasks, limit.open_source, int(db.scalar(_OPEN, (mailbox.id,)))
            )
    return Allowance(rate, held)


def require(gig: Gig, mailbox: Mailbox) -> Allowance:
    """The same, or 429 `rate_limit_reached` or `open_tasks_reached` when nothing may be taken.

    Who takes something after that holds the mailbox before (`mailboxes.hold`).
    """
    return standing(gig, mailbox).check()


def require_open(gig: Gig, mailbox: Mailbox) -> None:
    """429 `open_tasks_reached` when it may hold no task more; for what is no new take."""
    held = standing(gig, mailbox).open
    if held is not None and held.remaining == 0:
        raise _open_tasks_reached(held)


def _rate_limit_reached(rate: Rate) -> Refused:
    retry_at = rate.retry_at
    if retry_at is None:
        return Refused(
            "rate_limit_reached",
            "You may take no tasks here. Ask the gig's owner.",
            rate_limit=_rate_view(rate),
        )
    wait = max(1, -((clock.now() - retry_at) // clock.SECOND))
    return Refused(
        "rate_limit_reached",
        f"You have taken {rate.used} tasks in {rate.minutes} minutes, of {rate.count} allowed. "
        f"Try again in {wait} s.",
        rate_limit=_rate_view(rate),
        retry_after=wait,
    )


def _open_tasks_reached(held: Open) -> Refused:
    return Refused(
        "open_tasks_reached",
        f"You hold {held.open} tasks without a proof, of {held.max_open_tasks} allowed. "
        "Hand one in or skip it first.",
        open_tasks=_open_view(held),
    )


def _rate_view(rate: Rate) -> dict[str, Any]:
    return {
        "count": rate.count,
        "minutes": rate.minutes,
        "source": rate.source,
        "used": rate.used,
        "remaining": rate.remaining,
        "retry_at": times.iso_ms_or_none(rate.retry_at),
    }


def _open_view(held: Open) -> dict[str, Any]:
    return {
        "max_open_tasks": held.max_open_tasks,
        "source": held.source,
        "open": held.open,
        "remaining": held.remaining,
    }
