"""Sending tasks: through a gig's webhook, or by its owner (T-01 … T-04, G-04)."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from engine import (
    arrivals,
    clock,
    commands,
    drafts,
    forms,
    gigs,
    order_drafts,
    rows,
    spending,
    task_escrow,
    upload_uses,
)
from engine.arrivals import WEBHOOK, Taken
from engine.db import db
from engine.errors import Refused, invalid
from engine.forms import Form
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask, takes_orders
from engine.operations import Caller, permit
from engine.spending import BY_OWNER, Counted

# Nothing comes back when the external id was taken by a transaction that has committed since it
# was looked for.
_INSERT = "ON CONFLICT DO NOTHING RETURNING number"


def _nobody() -> None:
    return None


def submit(
    gig_id: str,
    token: str,
    sent: Form,
    draft_id: str | None = None,
    who: Callable[[], Caller | None] = _nobody,
) -> Taken:
    """Take in a task through the gig's webhook; answers what its mode replies (T-02).

    The token stands for the gig's owner. Where members order it only opens the door, and `who`
    says whose order it is: nowhere else is that asked.

    With `draft_id` that draft is replaced by this one (T-05). What the token may not spend is kept
    as a draft, and its owner told (G-04).
    """

    def write() -> Taken:
        gig = gigs.get(gig_id)
        if not hmac.compare_digest(gig.token.encode(), token.encode()):
            raise Refused("wrong_token", "This is not the gig's token. Ask its owner.")
        if takes_orders(gig):
            return order_drafts.take_in(who(), gig, sent, draft_id)
        permit("task.send", Caller(gig.owner_id), gig, member=False)
        return take_in(gig, sent, draft_id)

    return db.write(write)


def take_in(
    gig: Gig,
    sent: Form,
    draft_id: str | None = None,
    *,
    actor: str = WEBHOOK,
    by_owner: bool = False,
) -> Taken:
    """The same for whoever may send; only inside `db.write`.

    The same `external_id` in a gig makes one task for ever, and the repeat gets the first answer
    (T-04); 409 `external_id_mismatch` when something else comes under it.
    """
    if draft_id is not None:
        return Taken(_redraft(gig, sent, draft_id, actor))
    forms.check(gig, sent)
    if sent.external_id is not None:
        repeated = _repeat_of(gig, sent, actor, by_owner)
        if repeated is not None:
            return repeated
    gig = _held(gig, sent)
    gigs.require_open(gig)
    taken = _make(gig, sent, actor, by_owner) or _repeat_of(gig, sent, actor, by_owner)
    if taken is None:
        raise Refused("try_again", "Two requests met here. Send it again.")
    return taken


def _held(gig: Gig, sent: Form) -> Gig:
    """The gig as it stays until the task is in somebody's hands, where it may come there at once.

    What is handed out after its gig was cancelled could not be paid (G-08). What only waits needs
    no lock: `cancellation.sweep` closes what comes in late, and nobody takes it from a closed gig.
    """
    if sent.draft:
        return gig
    is_queued = ask(gig.distribution).select(gigs.facts(gig)).shelf != "none"
    return gig if is_queued and sent.assign_to is None else gigs.held(gig.id)


def _redraft(gig: Gig, sent: Form, draft_id: str, actor: str) -> dict[str, Any]:
    if not sent.draft:
        raise invalid("draft_id", "only with draft=true; publishing is a call of its own")
    if sent.external_id is not None:
        raise invalid("external_id", "a draft has the one it was made with; draft_id says which")
    forms.check(gig, sent)
    gigs.require_open(gig)
    return drafts.replace(gig, draft_id, forms.columns(gig, sent), actor)


def _repeat_of(gig: Gig, sent: Form, actor: str, by_owner: bool) -> Taken | None:
    """The first answer for this external id, or None for a new one.

    Of two that come at once the second waits at the unique key that the first has written, so
    this look and the insert are tried until one of them holds.
    """
    known = Task.get_or_none(Task.gig_id == gig.id, Task.external_id == sent.external_id)
    if known is None:
        return None
    if known.fingerprint != sent.fingerprint():
        raise Refused(
            "external_id_mismatch",
            "external_id: another task was sent under this id. Use a new id for a new task.",
            message_id=known.id,
        )
    drafted = drafts.answer_of(known.id)
    if drafted is not None:
        return Taken(drafted)
    return arrivals.repeated(known.id) or _fund_again(gig, known, actor, by_owner)


def _make(gig: Gig, sent: Form, actor: str, by_owner: bool) -> Taken | None:
    """A new task, or None where its external id has just been taken."""
    columns = forms.columns(gig, sent)
    assigned = columns["assignee_id"] is not None
    if gig.task_escrow and not sent.draft:
        columns["price_units"] = task_escrow.price_units(gig, sent.price_units, sent.price_tbd)
    values: dict[str, Any] = {
        "id": new_id("TASK"),
        "gig_id": gig.id,
        **columns,
        "external_id": sent.external_id,
        "fingerprint": None if sent.external_id is None else sent.fingerprint(),
        "created_at": clock.now(),
    }
    price_units = spending.price_of(gig, columns["price_units"], sent.price_tbd)
    copies = spending.copies_of(gig, assigned)
    counted = Counted()
    if not (sent.draft or by_owner):
        counted = spending.count(gig, price_units, copies)
    if sent.draft or counted.reason is not None:
        answer = drafts.make(gig, values, counted.reason, actor)
        return None if answer is None else Taken(answer)
    values["counted_on"] = BY_OWNER if by_owner else counted.day
    values["counted_units"] = counted.units
    values["status"] = "unfunded" if gig.task_escrow else "queued"
    made = rows.insert(Task, values, tail=_INSERT)
    if not made:
        spending.uncount(gig, counted)
        return None
    task = Task(number=made[0][0], **values)
    upload_uses.of_task(gig, task)
    if gig.task_escrow:
        return Taken(command=task_escrow.begin(gig, task))
    told = arrivals.hand_out(gig, task, actor=actor)
    if task.status == "claimed":
        # A mode with a queue has given it to somebody all the same.
        gigs.require_open(gigs.held(gig.id))
    return arrivals.taken(told)


def _fund_again(gig: Gig, known: Task, actor: str, by_owner: bool) -> Taken:
    """A task that waits for its deposit: the command that is at it, or a new one after a failure.

    It may be too much by now, and then it is kept as a draft.
    """
    (task,) = db.lock(Task.select().where(Task.id == known.id))
    if not task_escrow.has_failed(task):
        return Taken(command=commands.peek(task.command_id))
    gigs.require_open(gig)
    if not by_owner:
        price_units = spending.price_of(gig, task.price_units, task.price_tbd)
        counted = spending.count(gig, price_units)
        if counted.reason is not None:
            return Taken(drafts.hold_back(gig, task, counted.reason, actor))
        kept = {"counted_on": counted.day, "counted_units": counted.units}
        Task.update(**kept).where(Task.id == task.id).execute()
    return Taken(command=task_escrow.begin(gig, task))
