"""Orders: a shop. Members order, fund and approve; the gig's owner, its vendor, does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.hookspecs import impl
from engine.plans import (
    Assign,
    GigFacts,
    ModeInfo,
    MoveTask,
    Plan,
    Proving,
    Reply,
    TaskFacts,
)
from engine.roles import ACTIVE, BUYER, MEMBER, OWNER
from engine.rules.money import UNITS_PER_CENT
from engine.rules.order_money import LEAST_PRICE_UNITS

_KEEPS_MONEY = (
    "An order cannot be deleted: its buyer's money may be behind it. Undo it with "
    "POST /api/gigs/:id/tasks/:task/withdraw, which returns the deposit."
)
_STAYS_WITH_VENDOR = (
    "An order stays with the shop that its buyer paid. Deliver it, or undo it with "
    "POST /api/gigs/:id/tasks/:task/withdraw."
)
_NOT_HANDED_OUT = "A shop hands out no tasks: its owner does every order himself."
_FIXED_PRICE = (
    "What an order pays was fixed by its deposit. Change list_price for the orders to come."
)

# Operation → what to do instead. Each answers 409 with the mode's name as its reason (O-03).
REFUSES: Mapping[str, str] = {
    "gig.deposit": (
        "Do not fund a shop: its payouts come out of each order's own deposit, and nothing could "
        "ever be paid from its pot. The buyers fund their orders."
    ),
    "gig.close": (
        'A shop that takes money is closed with PATCH /api/gigs/:id {"status": "closed"}, once '
        "no order is unsettled."
    ),
    "gig.cancel": (
        "A shop has no pot to give back. Close it with PATCH /api/gigs/:id "
        '{"status": "closed"}; undo the orders that you will not deliver.'
    ),
    "task.delete": _KEEPS_MONEY,
    "queue.clear": _KEEPS_MONEY,
    "inbound.clear": _KEEPS_MONEY,
    "proof.clear": "A delivery cannot be deleted: an order's deposit is settled against it.",
    "task.recycle": _STAYS_WITH_VENDOR,
    "task.assign": _STAYS_WITH_VENDOR,
    "task.extend": "An order has no clock to extend: it never expires.",
    "task.availability": "An order is delivered and never queued, so it is not kept back either.",
    "task.priority": "An order waits in no queue, so it has no place in one.",
    "queue.violation": _STAYS_WITH_VENDOR,
    "queue.decline": _STAYS_WITH_VENDOR,
    "queue.poll": _NOT_HANDED_OUT,
    "queue.claim": _NOT_HANDED_OUT,
    # Of many at once each is left out with this reason: see `task.prices` in engine/operations.py.
    "task.price": _FIXED_PRICE,
    "task.bulk": "Orders come from their buyers, one by one, through the shop's webhook.",
    "task.send_by_mail": "Orders come through the shop's webhook, by their buyers' own keys.",
    "draft.edit": (
        "A draft order belongs to the buyer who wrote it. He changes it with "
        "PATCH /api/gigs/:id/tasks/:task/payload and …/private-details."
    ),
    "proof.withdraw": (
        "A delivery cannot be taken back: its buyer has paid, and may have read it. What he is not "
        "to have before he pays belongs in private_note."
    ),
}

_ONE_BUYER = (
    "Each order names its buyer and comes with his deposit, so a shop is under no limit of this "
    "kind"
)
# Fields of a gig → what a shop makes of them. What is pinned (`const`) answers 409 with the mode's
# name, and the rest a 400 (O-03, O-08). Seconds, and 10⁻⁶ USDC, by the names of the columns.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "list_price_units": {
        "type": "integer",
        "anyOf": [{"const": 0}, {"minimum": LEAST_PRICE_UNITS}],
        "multipleOf": UNITS_PER_CENT,
        "description": (
            "say what an order costs, in whole cents: at least 0.02 dollars, since a cent less the "
            "fee would pay you nothing, or 0 for a shop that takes no money"
        ),
    },
    "price_units": {
        "type": "integer",
        "const": 0,
        "readOnly": True,
        "description": "an order pays what its buyer deposited; set list_price instead",
    },
    "review_timeout_seconds": {
        "type": "integer",
        "minimum": 3600,
        "description": (
            "at least 3600 seconds: a buyer needs that long to look at a delivery, and without an "
            "end (-1) he could leave you unpaid for ever"
        ),
    },
    "price_tbd": {
        "type": "boolean",
        "const": False,
        "description": (
            "an order pays what its buyer deposited, so no price is left open; leave it out"
        ),
    },
    "allow_price_offers": {
        "type": "boolean",
        "const": False,
        "description": (
            "an order pays what its buyer deposited, so you cannot ask for another price with a "
            "delivery; leave it out"
        ),
    },
    "task_timeout_seconds": {
        "type": "null",
        "const": None,
        "description": "an order never runs out; either side undoes it instead. Leave it out",
    },
    "min_payout_units": {
        "type": "integer",
        "const": 0,
        "description": (
            "each order is settled by itself, out of its own deposit, so none waits for more; "
            "leave it out"
        ),
    },
    "task_escrow": {
        "type": "boolean",
        "const": False,
        "description": "each order is funded by its buyer, not by you; leave it out",
    },
    **{
        field: {"type": "null", "const": None, "description": f"{_ONE_BUYER}; leave it out"}
        for field in (
            "webhook_max_price_units",
            "webhook_daily_spend_units",
            "default_rate_limit_count",
            "default_rate_limit_minutes",
            "default_max_open_tasks",
        )
    },
}

_PARTIES = frozenset({OWNER, BUYER})
_JOINED = frozenset({OWNER, ACTIVE, BUYER})
# Who is which order's buyer is looked at order by order; here, who may ask at all.
_EITHER = frozenset({OWNER, MEMBER, BUYER})


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("inbound_order",),
        title="Order machine",
        description=(
            "A shop. Its members place orders and pay a deposit for each, its owner delivers, and "
            "only the buyer approves. Either side may undo an order until then."
        ),
        settings=SETTINGS,
        orders=True,
        confirms={
            "gig.rotate_token": (
                "A new token locks out every buyer at once: each draft order comes through it. Say "
                'it with {"confirm": true}, and give the new URL to your buyers.'
            )
        },
    )


@impl
def refuses(gig: GigFacts | None) -> Mapping[str, str]:
    """A shop that takes no money has nothing unsettled, so it may be closed like any gig."""
    if gig is not None and gig.list_price_units == 0:
        return {name: sentence for name, sentence in REFUSES.items() if name != "gig.close"}
    return REFUSES


@impl
def authorities() -> Mapping[str, frozenset[str]]:
    return {
        "gig.read": _EITHER,
        "gig.events": _EITHER,
        "gig.settle": _PARTIES,
        "task.send": frozenset({ACTIVE}),
        "task.read": _JOINED,
        "task.payload": _EITHER,
        "task.private_details": _EITHER,
        "task.alias": _JOINED,
        "draft.list": _JOINED,
        "draft.delete": _EITHER,
        "draft.publish": frozenset({ACTIVE}),
        "order.withdraw": _EITHER,
        "proof.read": _EITHER,
        "proof.review": _EITHER,
        "proof.report": _EITHER,
        "proof.tags": _EITHER,
        "proof.alias": _EITHER,
        "comment.read": _JOINED,
        "comment.write": _JOINED,
        "comment.policy": _EITHER,
        "rollup.read": _EITHER,
    }


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    """Into the vendor's own mailbox, and nowhere else."""
    vendor = str(gig.owner_mailbox_id)
    return (Assign(vendor), Reply({"status": "assigned", "mailbox_id": vendor}))


@impl
def proving(gig: GigFacts) -> Proving:
    return Proving(again=True)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    """It stays with the vendor, who may deliver again (O-07)."""
    return (MoveTask("reject"),)
