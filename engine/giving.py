"""Putting a task that is pushed into one worker's hands, and telling him (U-02)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import clock, entries, given_news, holding, push_candidates, tasks
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import move
from engine.push_candidates import Candidate

ACTOR = "engine"
# It counts against the rate limit as a claim does, since it is none that the owner assigned (M-05).
PUSHED = "pushed"
TOLD = "task.pushed"


def terms(gig: Gig, task: Task) -> dict[str, Any]:
    """What a pushed task is held on: as any other, once its worker has accepted it (U-04)."""
    given = holding.terms(gig, task)
    if gig.accept_timeout_seconds is not None:
        accept_by = given["claimed_at"] + gig.accept_timeout_seconds * clock.SECOND
        given |= {"accept_by": accept_by, "expires_at": accept_by}
    return given


def to_one(
    gig: Gig, task: Task, candidates: Sequence[Candidate], pick: str, turn: int
) -> Mailbox | None:
    """Give a queued task to the first of the candidates, by the pick, who can be given it now.

    The gig's turns are held. Where the task may be on a shelf its owner may have it at this moment,
    so it is locked and looked at again, after the mailbox. None when nobody was given it.
    """
    for one in push_candidates.able(gig, push_candidates.in_order(candidates, pick)):
        for mailbox in push_candidates.hold(gig, task, [one.id]):
            if not _still_waits(task):
                return None
            Mailbox.update(turn=turn).where(Mailbox.id == mailbox.id).execute()
            give(gig, mailbox, task)
            return mailbox
    return None


def _still_waits(task: Task) -> bool:
    held = tasks.hold(task.number)
    return bool(held) and held[0].status == "queued" and _told(held[0]) == _told(task)


def _told(task: Task) -> tuple[Any, ...]:
    """What filters look at."""
    return (tuple(task.tags), task.price_units, task.price_tbd)


def give(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """Give a waiting task, which is locked, to a worker whose mailbox is; only in `db.write`."""
    entries.withdraw(task)
    move(task, "claim", mailbox_id=mailbox.id, **terms(gig, task))
    tell(gig, mailbox, task)


def tell(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """Count a task that was pushed, and let its worker hear of it."""
    holding.remember(mailbox, task, PUSHED)
    given_news.tell(gig, mailbox.id, task, ACTOR, TOLD)
