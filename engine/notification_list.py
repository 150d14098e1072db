"""What an account was told: the list, whether there is anything new, and having seen it (T-09)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine import clock, pages, positions
from engine.db import db
from engine.errors import not_found
from engine.models.account import Account
from engine.models.notification import SEEN, UNSEEN, Notification
from engine.operations import Caller

# What its holder has seen is kept so long afterwards.
KEPT_MS = 90 * clock.DAY_SECONDS * clock.SECOND
# And what nobody has looked at so long: the event that it told of is in the log of events for ever.
KEPT_UNSEEN_MS = 365 * clock.DAY_SECONDS * clock.SECOND
# Rows that one transaction marks or deletes.
CHUNK = 1000

_ID = re.compile(r"NTF_([0-7][0-9A-F]{15})")

# By the index on account and number, and the one of what is unseen.
_SUMMARY = """
SELECT newest.at, newest.title, account.notifications_seen_at, EXISTS (
    SELECT 1 FROM notification AS unseen
    WHERE unseen.account_id = account.id AND unseen.seen_at IS NULL{unseen_settled}
)
FROM account LEFT JOIN notification AS newest ON newest.number = (
    SELECT max(number) FROM notification WHERE account_id = account.id{settled}
)
WHERE account.id = ?
"""


@dataclass(frozen=True)
class Summary:
    """Is anything new, the newest that there is, and when its holder last said he had seen it."""

    dot: bool
    latest_at: int | None
    latest_title: str | None
    seen_at: int | None


def public_id(notification: Notification) -> str:
    """What callers name it by."""
    return f"NTF_{notification.number:016X}"


def listed(caller: Caller, limit: int, before: pages.Position) -> list[Notification]:
    """What the caller was told by (number), newest first."""
    with db.reading():
        place = (Notification.number,)
        return pages.page(_shown(caller), place, limit, before, newest_first=True)


def _shown(caller: Caller) -> Any:
    """All of the caller's that readers may see: nothing is ever added before any of them."""
    query = Notification.select().where(Notification.account_id == caller.account_id)
    return query.where(Notification.number < positions.settled()) if db.is_postgres else query


def summary(caller: Caller) -> Summary:
    with db.reading():
        ((at, title, seen_at, dot),) = db.rows(_summary_sql(), (caller.account_id,))
    return Summary(bool(dot), at, title, seen_at)


def _summary_sql() -> str:
    settled = f" AND number < {positions.SETTLED}" if db.is_postgres else ""
    return _SUMMARY.format(settled=settled, unseen_settled=settled)


def see(caller: Caller, up_to: str | None) -> Summary:
    """Mark as seen all that the caller can see now; with `up_to`, that one and all before it.

    What is told meanwhile stays unseen, for it has a higher number. 404 where `up_to` is not the
    caller's. May stop after any chunk, and be said again.
    """
    with db.reading():
        last = _last(caller, up_to)
    while db.write(lambda: _mark(caller, last)) == CHUNK:
        pass
    return summary(caller)


def _last(caller: Caller, up_to: str | None) -> int:
    """The number of the newest one to be marked; 0 if there is none."""
    if up_to is None:
        newest = _shown(caller).order_by(Notification.number.desc()).first()
        return 0 if newest is None else int(newest.number)
    named = _ID.fullmatch(up_to)
    number = 0 if named is None else int(named[1], 16)
    if not _shown(caller).where(Notification.number == number).exists():
        raise not_found("notification")
    return number


def _mark(caller: Caller, last: int) -> int:
    now = clock.now()
    mine = Notification.account_id == caller.account_id
    # Of two at once one waits here, so they never lock the same rows in two orders.
    Account.update(notifications_seen_at=now).where(Account.id == caller.account_id).execute()
    some = Notification.select(Notification.number).where(mine, UNSEEN, Notification.number <= last)
    marked = Notification.update(seen_at=now).where(Notification.number.in_(some.limit(CHUNK)))
    return int(marked.execute())


def forget_old() -> None:
    """Delete what was seen long ago, and what was told much longer ago; rung by the scheduler."""
    old = Notification.select(Notification.number).where(
        SEEN, Notification.seen_at <= clock.now() - KEPT_MS
    )
    # The first by number are the oldest, so there is one look at the front of the table.
    first = Notification.select(Notification.number, Notification.at).order_by(Notification.number)

    def seen() -> int:
        return _delete([row.number for row in old.limit(CHUNK)])

    def oldest() -> int:
        until = clock.now() - KEPT_UNSEEN_MS
        return _delete([row.number for row in first.limit(CHUNK) if row.at <= until])

    for delete in (seen, oldest):
        while db.write(delete) == CHUNK:
            pass


def _delete(numbers: list[int]) -> int:
    return int(Notification.delete().where(Notification.number.in_(numbers)).execute())
