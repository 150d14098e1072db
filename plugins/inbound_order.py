"""Orders: a shop. Members order, fund and approve; the gig's owner, its vendor, does the work."""

from __future__ import annotations

from collections.abc import Mapping

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
    "task.price": _FIXED_PRICE,
    "task.bulk": "Orders come from their buyers, one by one, through the shop's webhook.",
    "draft.edit": (
        "A draft order belongs to the buyer who wrote it. He changes it with "
        "PATCH /api/gigs/:id/tasks/:task/payload and …/private-details."
    ),
    "proof.withdraw": (
        "A delivery cannot be taken back: its buyer has paid, and may have read it. What he is not "
        "to have before he pays belongs in private_note."
    ),
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
