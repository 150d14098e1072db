"""Effects of a plan beyond the task's own state: a worker by number, a price, a proof."""

from __future__ import annotations

from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task


def of_account(gig: Gig, number: int, field: str) -> Mailbox:
    """The one active mailbox here of the account with this number; held. 400 names the field."""
    raise NotImplementedError


def set_price(gig: Gig, task: Task, units: int) -> None:
    """What the locked task pays from now on, in base units; only inside `db.write`."""
    raise NotImplementedError


def hand_in(gig: Gig, task: Task, evidence: list[str]) -> None:
    """A proof by the holder of the locked task, as `engine/handing_in.py` makes one."""
    raise NotImplementedError
