"""What the owner changes about a task, one at a time or many (P-01, R-02).

Each kind of change is one function on a locked task, which refuses before it writes anything; both
the single call and the batch (`engine/bulk_changes.py`) go through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine import entries, events, gigs, tasks, upload_uses
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.proof import UNDECIDED, Proof
from engine.models.task import Task
from engine.operations import Caller, permit, require_served
from engine.shelf import IN_HANDS

MAX_PRIVATE_DETAILS_CHARACTERS = 4000
# Refusals that leave one task of a batch out, and not the batch.
CLAIMED, NOT_IN_QUEUE = "already_claimed", "not_in_queue"
_GONE = ("cancelled", "discarded")
_TOO_LATE = {
    "forwarded": "Each worker has a copy of this task by now. Name the price of each copy.",
    "completed": "The work on this task is done, and pays nothing.",
}


@dataclass(frozen=True)
class Price:
    """What a task is to pay: so much; the gig's price (`units` None); or still to be named."""

    units: int | None
    tbd: bool = False


@dataclass(frozen=True)
class Changed:
    """A task as it is now, and whether a proof that waited for its price has got one."""

    gig: Gig
    task: Task
    proof_updated: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of change: who may make it, and how it is made to one locked task.

    `permit_many` where many at once are another operation, whose refusal is each task's own.
    """

    permit: Callable[[Caller, Gig], Any]
    make: Callable[[Caller, Gig, Task, Any], Changed]
    permit_many: Callable[[Caller, Gig], Any] | None = None


def one(kind: Kind, caller: Caller, gig_id: str, task_id: str, value: Any) -> Changed:
    """Make one change to one task. Making it again changes nothing."""

    def write() -> Changed:
        gig = gigs.held(gig_id)
        kind.permit(caller, gig)
        return kind.make(caller, gig, tasks.locked(gig, task_id), value)

    return db.write(write)


def _priority(caller: Caller, gig: Gig, task: Task, value: int) -> Changed:
    """Move a waiting task (P-01). 409 `already_claimed` for one that somebody has taken."""
    _require_there(task)
    if task.status in (*IN_HANDS, "approved", "rejected", "completed"):
        raise Refused(CLAIMED, "A worker has taken this task, so it has no place in the queue.")
    if task.status != "queued" or _is_used_up(task):
        raise Refused(
            NOT_IN_QUEUE,
            "This task does not wait in the queue now, so it has no place there to move it from.",
        )
    before = task.priority
    if before != value:
        _set(gig, task, priority=value)
        _tell(caller, task, "priority", before, value)
    return Changed(gig, task)


def _tags(caller: Caller, gig: Gig, task: Task, value: list[str]) -> Changed:
    """Replace a task's tags, wherever the task is."""
    _require_there(task)
    before = task.tags
    if before != value:
        _set(gig, task, tags=value)
        _tell(caller, task, "tags", before, value)
    return Changed(gig, task)


def _private_details(caller: Caller, gig: Gig, task: Task, value: str | None) -> Changed:
    """Write what only the owner and the task's holder read. The event does not repeat it."""
    _require_there(task)
    if task.status == "forwarded":
        raise Refused(
            "template", "Each worker has a copy of this task by now. Write to each copy's details."
        )
    if task.private_details != value:
        before, task.private_details = task.private_details, value
        Task.update(private_details=value).where(Task.number == task.number).execute()
        upload_uses.of_task(gig, task, (before,))
        _tell(caller, task, "private_details")
    return Changed(gig, task)


def _price(caller: Caller, gig: Gig, task: Task, value: Price) -> Changed:
    """Say what a task pays (R-02).

    What its holder saw when he took it is the least that he is paid: a cut is for whoever comes
    after him, a raise is his as well. Where he took it without a price, the first one named is his,
    also once he has handed in, until the verdict.
    """
    _require_there(task)
    require_served("task.price", gig)
    if gig.task_escrow:
        raise Refused(
            "price_fixed",
            "The money of each task in this gig is deposited when it is sent, so its price stays. "
            "Delete this task and send it again at the new price.",
        )
    if task.status == "approved":
        raise Refused(CLAIMED, "The work on this task is approved, at the price on its proof.")
    if task.status in ("forwarded", "completed"):
        raise Refused(CLAIMED, _TOO_LATE[task.status])
    held = task.held_price_units
    if value.tbd and held is not None:
        raise Refused(
            CLAIMED, "A worker took this task at a price, so that cannot be left open. Name one."
        )
    before = Price(task.price_units, task.price_tbd)
    named = None if value.tbd else gig.price_units if value.units is None else value.units
    if task.status == "claimed" and named is not None:
        held = named if held is None else max(held, named)
    proof = _undecided(task) if task.status == "submitted" and named is not None else None
    if proof is not None:
        held = named
    _require_kept_aside(gig, task, held)
    if proof is not None:
        _settle(caller, proof, value, named)
    if (before, task.held_price_units) != (value, held):
        _set(gig, task, price_units=value.units, price_tbd=value.tbd, held_price_units=held)
        _tell(caller, task, "price", _shown(before), _shown(value))
    return Changed(gig, task, proof_updated=proof is not None)


def set_price(gig: Gig, task: Task, units: int, actor: str) -> None:
    """Change what a locked task pays whoever takes it after this; only inside `db.write`.

    What its holder was promised stays.
    """
    before = Price(task.price_units, task.price_tbd)
    if before != Price(units):
        _set(gig, task, price_units=units, price_tbd=False)
        _tell(Caller(actor), task, "price", _shown(before), _shown(Price(units)))


def _require_kept_aside(gig: Gig, task: Task, held: int | None) -> None:
    """What a cancelled gig keeps aside for work in hand, which its pot may have no more than."""
    kept = own_price(gig, task)[0] if task.held_price_units is None else task.held_price_units
    kept = gig.price_units if kept is None else kept
    if gig.status == "cancelled" and task.status in IN_HANDS and (held or 0) > kept:
        raise Refused(
            "gig_closed",
            "This gig is cancelled, so the price of work in hand rises no more. "
            "Approve the proof with an amount, if its price is open.",
        )


def own_price(gig: Gig, task: Task) -> tuple[int | None, str]:
    """What the task pays whoever takes it now, and where that comes from."""
    if task.price_tbd:
        return None, "review"
    return (gig.price_units, "gig") if task.price_units is None else (task.price_units, "task")


def _undecided(task: Task) -> Proof | None:
    """The proof of a task that waits for its verdict and for a price."""
    waiting = Proof.select().where(
        Proof.task_id == task.id, UNDECIDED, Proof.locked_price_units.is_null()
    )
    found: list[Proof] = db.lock(waiting)
    return found[0] if found else None


def _settle(caller: Caller, proof: Proof, value: Price, named: int | None) -> None:
    """Give a proof the price that its task did not have when it was handed in."""
    source = "gig" if value.units is None else "task"
    Proof.update(locked_price_units=named, price_source=source).where(
        Proof.id == proof.id
    ).execute()
    events.append(
        "proof.priced",
        events.Subject("proof", proof.id),
        actor=caller.account_id,
        gig_id=proof.gig_id,
        mailbox_id=proof.mailbox_id,
        data={
            "proof_id": proof.id,
            "task_identifier": proof.identifier,
            "locked_price": money_field(named),
        },
    )


def _shown(value: Price) -> Any:
    return "tbd" if value.tbd else money_field(value.units)


def _require_there(task: Task) -> None:
    if task.status in _GONE:
        raise not_found("task")


def _is_used_up(task: Task) -> bool:
    """A template that gives out no more copies is there, but has left the queue (S-01)."""
    return (
        bool(task.copies) and entries.shelf_of(task) is not None and not entries.hold(task.number)
    )


def _set(gig: Gig, task: Task, **values: Any) -> None:
    """Change what a task says, and put it into the queue again if it is there.

    That counts as newly put there, so that those who have looked past it look again.
    """
    Task.update(**values).where(Task.number == task.number).execute()
    for name, value in values.items():
        setattr(task, name, value)
    if task.status == "queued" and entries.withdraw(task):
        entries.enqueue(gig, task)


def _tell(caller: Caller, task: Task, field: str, *change: Any) -> None:
    """Append what was changed, from what to what (F28); only inside `db.write`."""
    events.append(
        "task.changed",
        events.Subject("task", task.id),
        actor=caller.account_id,
        gig_id=task.gig_id,
        mailbox_id=task.mailbox_id if task.status in IN_HANDS else None,
        data={"fields": [field], **dict(zip(("from", "to"), change, strict=False))},
    )


PRIORITY = Kind(lambda caller, gig: permit("task.priority", caller, gig), _priority)
PRICE = Kind(
    lambda caller, gig: permit("task.price", caller, gig),
    _price,
    lambda caller, gig: permit("task.prices", caller, gig),
)
TAGS = Kind(lambda caller, gig: permit("task.tags", caller, gig), _tags)
PRIVATE_DETAILS = Kind(
    lambda caller, gig: permit("task.private_details", caller, gig), _private_details
)
