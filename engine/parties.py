"""The two sides of a task: who pays and approves, and who does the work.

In most gigs the owner pays and a worker works. Where members order, it is the other way round for
each order: its buyer pays for it, and the gig's owner does it.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.db import db
from engine.errors import Refused, not_found
from engine.models.account import Account
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import Caller

# The words in which rows keep the sides: they mean what somebody pays for, not who he is.
CLIENT, GIGWORKER = "client", "gigworker"
# What the two sides of an order are called.
PARTICIPANT, VENDOR = "participant", "vendor"


def client_of(gig: Gig, task: Task) -> str:
    """The account that pays for the task and decides on the work."""
    return str(gig.owner_id if task.client_id is None else task.client_id)


def worker_of(gig: Gig, task: Task) -> str | None:
    """The account that does the work; None while nobody has the task."""
    if takes_orders(gig):
        return str(gig.owner_id)
    if task.mailbox_id is None:
        return None
    account_id: str = Mailbox.get(Mailbox.id == task.mailbox_id).account_id
    return account_id


def side_of(gig: Gig, task: Task, account_id: str) -> str:
    """`client` for whoever pays for this task, `gigworker` for everybody else."""
    return CLIENT if account_id == client_of(gig, task) else GIGWORKER


def is_party(gig: Gig, task: Task, account_id: str) -> bool:
    """Is he the gig's owner, or the one whose order it is?"""
    return account_id in (gig.owner_id, task.client_id)


def emails(tasks: Iterable[Task]) -> dict[str, str]:
    """The addresses of whose orders are among these tasks, by account."""
    ids = {task.client_id for task in tasks if task.client_id is not None}
    if not ids:
        return {}
    with db.reading():
        found = Account.select(Account.id, Account.email).where(Account.id.in_(sorted(ids)))
        return {one.id: one.email for one in found}


def require_client(
    caller: Caller, gig: Gig, task: Task, what: str = "task", reason: str = "not_permitted"
) -> None:
    """Refuse all but whoever pays for the task; `permit` has let in whoever has a role in the gig.

    404, as if there were no such `what`, for whoever has no part in it.
    """
    if caller.account_id == client_of(gig, task):
        return
    if not is_party(gig, task, caller.account_id):
        raise not_found(what)
    raise Refused(reason, "Only the buyer of this order may do that; you are its vendor.")


def require_party(caller: Caller, gig: Gig, task: Task) -> str:
    """Which side of an order the caller is: `participant` or `vendor`; 403 `not_a_party`."""
    if caller.account_id == task.client_id:
        return PARTICIPANT
    if caller.account_id == gig.owner_id:
        return VENDOR
    raise Refused("not_a_party", "You are neither the buyer nor the vendor of this order.")
