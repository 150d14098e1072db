"""What accounts are told, written with what it tells of (T-09). Reading: `notification_list.py`.

On PostgreSQL a notification's number is a position, so that what has a lower number than one that
was shown had been shown as well; on SQLite, with its one writer, every count is that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine import clock, positions, rows
from engine.db import db
from engine.models.event import Event
from engine.models.notification import Notification

if TYPE_CHECKING:
    from engine.events import Subject

MOST_CHARACTERS = 120

OWNER = "owner"
# The worker whose mailbox the event concerns; the gig's owner where it concerns none.
HOLDER = "holder"
# Whose order it is; nobody, where the owner pays.
CLIENT = "client"
# Who has registered the webhook.
REGISTRANT = "registrant"


@dataclass(frozen=True)
class News:
    """Who hears of an event, and the title; nothing in it but the gig's name is anybody's own."""

    to: tuple[str, ...]
    title: str


NEWS: Mapping[str, News] = {
    "proof.submitted": News((OWNER,), "A proof was handed in: {gig}"),
    "proof.withdrawn": News((OWNER,), "A proof was withdrawn: {gig}"),
    "proof.approved": News((HOLDER,), "Your proof was approved: {gig}"),
    "proof.rejected": News((HOLDER,), "Your proof was rejected: {gig}"),
    "proof.reported": News((OWNER, HOLDER, CLIENT), "A proof was reported: {gig}"),
    "proof.resolved": News((HOLDER, CLIENT), "A dispute was decided: {gig}"),
    "payout.paid": News((HOLDER,), "You were paid: {gig}"),
    "payout.failed": News(
        (OWNER, HOLDER, CLIENT), "A payout was refused, and is still owed: {gig}"
    ),
    "payout.taken_back": News((HOLDER,), "The chain took a payout back, it is owed again: {gig}"),
    "escrow.reclaim_requested": News(
        (OWNER, HOLDER, CLIENT), "A deposit will be taken back by who put it in: {gig}"
    ),
    "task.escrow_left": News((HOLDER,), "The deposit of a task you hold is gone: {gig}"),
    "mailbox.joined": News((OWNER,), "Somebody joined: {gig}"),
    "task.assigned": News((HOLDER,), "A task was given to you: {gig}"),
    "task.pushed": News((HOLDER,), "A task was pushed to you: {gig}"),
    "task.held_back": News((OWNER,), "A task waits for you as a draft: {gig}"),
    "task.copies_held_back": News(
        (OWNER,), "Not all workers got their copy, for the day's limit was reached: {gig}"
    ),
    "task.copies_failed": News(
        (OWNER,), "A task could not be given to all workers, for it failed: {gig}"
    ),
    "task.stranded": News((OWNER,), "A task came back, and no worker is left for it: {gig}"),
    "task.violation": News((OWNER,), "A worker reported a task: {gig}"),
    "endpoint.disabled": News((REGISTRANT,), "A webhook of yours was disabled: {gig}"),
    "order.delivered": News((CLIENT,), "Your order was delivered: {gig}"),
    "order.auto_approved": News(
        (CLIENT,), "Your review time ran out, which approved your order: {gig}"
    ),
    "order.paid_out": News((CLIENT,), "The vendor was paid for your order: {gig}"),
    "order.withdrawn": News((CLIENT, HOLDER), "An order was undone: {gig}"),
}

# What a join is where the gig's owner has to agree to it.
_ASKS_TO_JOIN = "Somebody asks to join: {gig}"

# Accounts that an event's subject leads to, by its kind.
_BY_SUBJECT: Mapping[str, tuple[tuple[str, str], ...]] = {
    CLIENT: (
        ("task", "SELECT client_id FROM task WHERE id = ?"),
        (
            "proof",
            "SELECT client_id FROM task JOIN proof ON proof.task_id = task.id WHERE proof.id = ?",
        ),
        ("rollup", "SELECT client_id FROM rollup WHERE id = ?"),
    ),
    REGISTRANT: (("endpoint", "SELECT account_id FROM endpoint WHERE id = ?"),),
}

_PARTIES = """
SELECT gig.title, gig.owner_id, mailbox.account_id
FROM gig LEFT JOIN mailbox ON mailbox.id = ? WHERE gig.id = ?
"""


def tell(
    account_ids: Iterable[str], kind: str, title: str, subject: Subject, gig_id: str | None
) -> None:
    """Write a notification for each account; only inside `db.write`, with what it tells of."""
    told = {"kind": kind, "title": title, "at": clock.now(), "gig_id": gig_id}
    about = {"subject_kind": subject.kind, "subject_id": subject.id}
    _insert([{"account_id": one, **told, **about} for one in sorted(set(account_ids))])


def title_of(template: str, gig_title: str) -> str:
    """The template with the gig's name for `{gig}`, on one line of at most 120 characters."""
    name = " ".join(gig_title.split())
    room = MOST_CHARACTERS - len(template.format(gig=""))
    return template.format(gig=name if len(name) <= room else f"{name[: room - 1]}…")


def follow_from(events: Sequence[Event]) -> None:
    """Tell of the events of one `append` whom they concern, but nobody of what he did himself."""
    if not events or events[0].type not in NEWS:
        return
    event = events[0]
    parties = db.rows(_PARTIES, (event.mailbox_id, event.gig_id))
    if not parties:
        return
    ((gig_title, owner_id, worker_id),) = parties
    news = NEWS[event.type]
    accounts = {OWNER: owner_id, HOLDER: worker_id or owner_id}
    asks = event.data.get("status") == "pending_approval"
    told = {
        "kind": event.type,
        "title": title_of(_ASKS_TO_JOIN if asks else news.title, gig_title),
        "at": event.at,
        "gig_id": event.gig_id,
    }
    _insert(
        [
            {
                "account_id": to,
                **told,
                "subject_kind": one.subject_kind,
                "subject_id": one.subject_id,
            }
            for one in events
            for to in sorted(_hearing(one, news, accounts) - {event.actor})
        ]
    )


def _hearing(event: Event, news: News, accounts: Mapping[str, str]) -> set[str]:
    found = {accounts[name] for name in news.to if name in accounts}
    for name in news.to:
        for kind, sql in _BY_SUBJECT.get(name, ()):
            if kind == event.subject_kind:
                found |= {to for (to,) in db.rows(sql, (event.subject_id,)) if to is not None}
    return found


def _insert(made: list[dict[str, Any]]) -> None:
    if db.is_postgres:
        made = [{"number": positions.new(), **one} for one in made]
    rows.insert(Notification, *made)
