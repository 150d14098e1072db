"""Copies: in a solo gig each worker gets a task of his own, made from a template (S-01).

The template stays in the queue for the others; how many copies it may have is for
`engine/copy_slots.py` to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import clock, copy_candidates, copy_slots, entries, gigs, holding, rows
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import CopyHolder, Take, Task
from engine.states import target

if TYPE_CHECKING:
    from engine.facets import Wanted

# What a copy has from its template; the rest is its own.
_FROM_TEMPLATE = (
    "gig_id",
    "subject",
    "payload",
    "content_type",
    "tags",
    "price_units",
    "price_tbd",
    "priority",
    "created_at",
    "availability",
    "reserved_for",
    "mode_fields",
)

_RAISE = """
UPDATE task SET copies = copies + 1 WHERE number IN ({marks}) AND copies < ?
RETURNING number, copies
"""
_COPY_OF = """
number = (SELECT copy_number FROM copy_holder WHERE account_id = ? AND template_number = ?)
"""
_TAKE_AWAY = "DELETE FROM queue_entry WHERE task_number IN ({marks})"


# Each attempt that fails is one in which somebody else got a copy.
MOST_ATTEMPTS = 200


class _MovedOn(Exception):
    """Somebody was quicker with one of the templates. Undone, and to be tried anew."""


def take(gig: Gig, mailbox: Mailbox, order: str, count: int, wanted: Wanted | None) -> list[Task]:
    """Hand up to `count` copies to the mailbox, in order; only inside `db.write`.

    Fewer come only when there is nothing left that this worker may have (S-01).
    """
    # Its maximum stays as it is until the copies are there; who changes or cancels the gig waits.
    now = gigs.held(gig.id)
    gigs.require_open(now)

    def attempt() -> list[Task]:
        found = copy_candidates.find(now, mailbox, order, count, wanted)
        made = _make(now, mailbox, found.numbers)
        copy_candidates.keep_cursor(mailbox, found.cursor)
        return made

    for _ in range(MOST_ATTEMPTS):
        try:
            # Behind a savepoint: what was locked for an attempt that came to nothing is free again,
            # so that the next one can lock in ascending order too.
            return db.write(attempt)
        except _MovedOn:
            continue
    raise Refused("try_again", "Too many poll this gig at this moment. Poll again.")


def take_one(gig: Gig, mailbox: Mailbox, template: Task) -> Task | None:
    """A copy of one template, which is locked and may have no entry; None if there is none for him.

    The gig is `gigs.held`. Only inside `db.write`.
    """
    gigs.require_open(gig)
    if copy_of(mailbox.account_id, template) is not None or copy_slots.is_used_up(gig, template):
        return None
    try:
        return db.write(lambda: _make(gig, mailbox, [template.number], by_name=True))[0]
    except _MovedOn:
        return None


def copy_of(account_id: str, template: Task) -> Task | None:
    """The copy that an account has had of a template, whatever became of it."""
    return rows.one(Task, _COPY_OF, account_id, template.number)


def _make(gig: Gig, mailbox: Mailbox, numbers: list[int], by_name: bool = False) -> list[Task]:
    """A copy of each of these templates, in the order given, held by the mailbox."""
    if not numbers:
        return []
    if gig.max_claims_per_task is not None:
        _raise(numbers, gig.max_claims_per_task, by_name)
    marks = ", ".join("?" for _ in numbers)
    where = f"number IN ({marks}) AND status = 'queued' ORDER BY number"
    shelves = (gig.id, mailbox.id)
    made = [
        values_of(gig, mailbox, template)
        for template in rows.find(Task, where, *numbers)
        if by_name or entries.shelf_of(template) in shelves
    ]
    numbered = dict(rows.insert(Task, *made, tail="RETURNING id, number"))
    copies = {
        values["template_number"]: Task(number=numbered[values["id"]], **values) for values in made
    }
    if len(copies) < len(numbers) or not _remember(mailbox, copies):
        raise _MovedOn
    return [copies[number] for number in numbers]


def values_of(gig: Gig, mailbox: Mailbox, template: Task) -> dict[str, Any]:
    """The columns of the mailbox's copy of a template, which it holds from now on."""
    return {
        **{name: getattr(template, name) for name in _FROM_TEMPLATE},
        "id": new_id("TASK"),
        "status": target("task", "claim"),
        "mailbox_id": mailbox.id,
        "template_number": template.number,
        "source_task_id": template.id,
        **holding.terms(gig, template),
    }


def _raise(numbers: list[int], most: int, by_name: bool) -> None:
    """Count one copy more of each; what is then used up leaves the queue."""
    if not by_name and len(entries.hold(*numbers)) < len(numbers):
        raise _MovedOn
    marks = ", ".join("?" for _ in numbers)
    raised = db.rows(_RAISE.format(marks=marks), (*numbers, most))
    if len(raised) < len(numbers):
        raise _MovedOn
    used_up = [number for number, copies in raised if copies >= most]
    if used_up:
        marks = ", ".join("?" for _ in used_up)
        db.rows(_TAKE_AWAY.format(marks=marks), used_up)


def _remember(mailbox: Mailbox, copies: dict[int, Task]) -> bool:
    """Write down who has had which; False if this worker took one through another mailbox."""
    now = clock.now()
    ascending = sorted(copies.items())
    held = [
        {"account_id": mailbox.account_id, "template_number": number, "copy_number": copy.number}
        for number, copy in ascending
    ]
    written = rows.insert(
        CopyHolder, *held, tail="ON CONFLICT DO NOTHING RETURNING template_number"
    )
    taken = [
        {
            "mailbox_id": mailbox.id,
            "at": now,
            "task_number": copy.number,
            "kind": holding.CLAIM,
        }
        for _, copy in ascending
    ]
    rows.insert(Take, *taken)
    return len(written) == len(held)
