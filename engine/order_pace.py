"""How often one account may send and undo orders (O-08)."""

from __future__ import annotations

from engine import counters, install
from engine.counters import Limit
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task
from engine.operations import Caller


def require(caller: Caller, gig_id: str, task_id: str) -> None:
    """Count one publish or withdraw of the caller's; 429 `rate_limited` above the setting.

    Before the transaction that decides on it, so that what is refused counts as well; but only what
    he says of an order that he is a side of, since nothing else is read for him.
    """
    with db.reading():
        found = Task.select(Task.client_id, Gig.owner_id).join(Gig, on=(Gig.id == Task.gig_id))
        order = found.where(Task.id == task_id, Task.gig_id == gig_id).tuples().first()
    if order is None or order[0] is None or caller.account_id not in order:
        return
    most = install.current().settings.ORDERS_PER_MINUTE
    counters.check(counters.hit(Limit("orders", most, 60), caller.account_id))
