"""May somebody use a verb of a mode's own on a task at all: in a gig, and at a desk (I-03)?"""

from __future__ import annotations

from engine import due, gigs, in_hand, shelf, states
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller
from engine.plans import Verb
from engine.rules import times

# In these a task is nobody's to do anything with: not sent yet, on its way back, or gone on.
_UNUSABLE = ("draft", "unfunded", "undoing", "withdrawn", *states.PASSED_ON)


def require_usable(
    caller: Caller,
    gig: Gig,
    has: frozenset[str],
    task: Task,
    verb: Verb,
    mailbox: Mailbox | None,
) -> None:
    """May the caller use the verb on the locked task at all, whatever its stage and the body?

    He is of the verb's roles, and the task is locked. 404 for one that he cannot see, that is
    deleted, or, where only its holder may, that he never had; 410 `claim_lost` for one that he had;
    409 `wrong_state` for one that is not sent, not due, or gone on, and `gig_closed` where nobody
    has it in hand.
    """
    if verb.holder:
        _require_had(mailbox, task)
    else:
        shelf.find(caller, gig, has, task.id)
    if task.status in states.DELETED:
        raise not_found("task")
    if task.status in _UNUSABLE:
        raise Refused(
            "wrong_state",
            f"This task is {task.status}, so there is nothing to do with it now.",
            status_now=task.status,
        )
    not_before = due.waits_until(task)
    if not_before is not None:
        until = times.iso_ms(not_before)
        raise Refused(
            "wrong_state",
            f"This task waits for its time. Come back at {until}.",
            status_now=task.status,
            not_before=until,
        )
    if mailbox is not None and task.status not in shelf.IN_HANDS:
        gigs.require_open(gig)


def _require_had(mailbox: Mailbox | None, task: Task) -> None:
    """It is in the hands of this mailbox, or went from there to its review."""
    if mailbox is None:
        raise not_found("task")
    if in_hand.holds(mailbox, task) or _is_done_by(mailbox, task):
        return
    in_hand.require_not_lost(mailbox, task)
    raise not_found("task")


def _is_done_by(mailbox: Mailbox, task: Task) -> bool:
    return task.mailbox_id == mailbox.id and task.status in in_hand.DONE
