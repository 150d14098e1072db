"""What the two sides of an order are shown of it, and nobody else: not even that there is such a
field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import parties
from engine.models.gig import Gig
from engine.models.task import Task
from engine.operations import Caller


@dataclass(frozen=True)
class Reader:
    """Who reads these tasks, and the addresses of those whose orders are among them."""

    account_id: str
    emails: Mapping[str, str]

    def is_party(self, gig: Gig, task: Task) -> bool:
        return task.client_id is not None and parties.is_party(gig, task, self.account_id)


def reader(caller: Caller, tasks: Iterable[Task]) -> Reader:
    return Reader(caller.account_id, parties.emails(tasks))


def money(task: Task) -> dict[str, Any]:
    """What was paid for an order, and what its vendor is owed of it; 10⁻⁶ USDC.

    Null until its deposit is final, but for the rate and the id, which are fixed when one is tried.
    Of an order that was undone it still says what had been paid, of which nothing is owed.
    """
    free, undone = bool(task.order_free), task.status == "withdrawn"
    paid = undone or task.escrowed_at is not None
    total = 0 if free else task.escrow_units if paid else None
    least = task.funded_minimum_units
    return {
        "funded_total_units": total,
        "funded_minimum_units": least,
        "tip_units": None if total is None or least is None else total - least,
        "shown_price_units": None if total is None or undone else task.price_units,
        "fee_bps": task.escrow_fee_bps,
        "deposit_id": task.deposit_id,
        **({"order_free": True} if free else {}),
    }


def sides(task: Task, reader: Reader) -> dict[str, Any]:
    """What one of its two sides is shown of an order beside what every member sees."""
    bought = purchase(task, reader)
    told: dict[str, Any] = {
        **bought,
        "claimed_at": bought["accepted_at"],
        "private_details": task.private_details,
        "external_id": task.external_id,
        "public_link": task.public_token is not None,
    }
    if bought["is_my_order"] and task.public_token is not None:
        told["public_token"] = task.public_token
    return told


def purchase(task: Task, reader: Reader) -> dict[str, Any]:
    """Who has bought an order, for how much, and when; also shown with each of its deliveries."""
    mine = reader.account_id == task.client_id
    never_sent = task.status in ("draft", "unfunded") and task.order_withdrawn_at is None
    told: dict[str, Any] = {
        **money(task),
        "is_my_order": mine,
        "client_email": reader.emails.get(str(task.client_id)),
        "accepted_at": None if never_sent else task.claimed_at,
    }
    if mine:
        told["client_user_id"] = task.client_id
    if task.order_withdrawn_at is not None:
        for name in ("order_withdrawn_at", "order_withdrawn_by", "order_withdrawn_reason"):
            told[name] = getattr(task, name)
    return told
