"""Effects of a plan beyond the task's own state: a worker by number, a price, a proof."""

from __future__ import annotations

from engine import assignments, handing_in, spending, task_changes
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.rules import money

ACTOR = "engine"

_OF_NUMBER = """
SELECT mailbox.id FROM mailbox JOIN account ON account.id = mailbox.account_id
WHERE mailbox.gig_id = ? AND account.number = ? AND mailbox.status = 'active'
ORDER BY mailbox.ordinal
"""


def of_account(gig: Gig, number: int, field: str) -> Mailbox:
    """The active mailbox here of the account with this number, the first of several; held.

    A 400 that names the field where there is none. Only inside `db.write`.
    """
    mailbox_id = id_of_account(gig, number)
    if mailbox_id is None or not assignments.is_active(mailbox_id):
        raise invalid(field, "no active worker of this gig has this number")
    return Mailbox.get(Mailbox.id == mailbox_id)


def id_of_account(gig: Gig, number: int) -> str | None:
    """The same, only found: to be held before a task is."""
    found: str | None = db.scalar(_OF_NUMBER, (gig.id, number))
    return found


def set_price(gig: Gig, task: Task, units: int) -> None:
    """What the locked task pays whoever is given it after this, in base units; in `db.write`.

    Who has it keeps what he was promised. 409 `price_fixed` where the money is deposited when a
    task is sent, and 409 `over_price` beyond what the token that sent it may spend (G-04).
    """
    if isinstance(units, bool) or not isinstance(units, int) or not 0 <= units <= money.MAX_UNITS:
        raise ValueError(f"{units!r} is no price in base units")
    if gig.task_escrow or task.client_id is not None:
        raise Refused(
            "price_fixed",
            "The money of this task is deposited when it is sent, so its price stays.",
        )
    if not spending.reprice(gig, task, units):
        raise Refused(
            "over_price", "This is more than the task may cost. Its owner can raise its price."
        )
    task_changes.set_price(gig, task, units, ACTOR)


def hand_in(gig: Gig, task: Task, evidence: list[str]) -> None:
    """A proof by the holder of the locked task, as `engine/handing_in.py` makes one.

    His mailbox is held. 409 `draft_exists` where he has begun one himself.
    """
    if task.status != "claimed" or not all(isinstance(one, str) for one in evidence):
        raise ValueError("only a task in somebody's hands is handed in, with a list of texts")
    handing_in.by_plan(gig, Mailbox.get(Mailbox.id == task.mailbox_id), task, evidence)
