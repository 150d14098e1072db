"""When a shop may be closed: once no money of its orders is under way.

A closed shop takes no new orders, and those that it has go on. Only what a buyer has paid, or may
have paid, stands in the way.
"""

from __future__ import annotations

from typing import Any

from engine import clock
from engine.db import db
from engine.errors import Refused
from engine.models.escrow import LIVE, Escrow
from engine.models.gig import Gig
from engine.models.task import UNFUNDED, Task
from engine.modes import takes_orders
from engine.moves import take
from engine.rules import money

# Deposits that a refusal names; it counts all of them.
MOST_NAMED = 100
# What an order's two sides call the state of a deposit that has not come to an end.
PENDING, OPEN = "pending", "open"

# An order whose deposit is nowhere in the books.
_UNREADABLE = """
SELECT 1 FROM task WHERE task.gig_id = ? AND task.client_id IS NOT NULL
    AND task.deposit_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM escrow WHERE escrow.id = task.deposit_id) LIMIT 1
"""


def require_settled(gig: Gig) -> None:
    """Refuse to close a shop while money of an order is under way; `gig` is locked.

    One that takes no money is closed at any time.

    409 `unsettled_orders` names the deposits: `pending` is what may still be mined, `open` what the
    contract holds. What was given up never counts. 409 `ledger_unreadable` when an order names a
    deposit that the books do not know: not knowing is not the same as nothing. What was only quoted
    is given up. Only in `db.write`.
    """
    if not takes_orders(gig) or gig.list_price_units == 0:
        return
    if db.rows(_UNREADABLE, (gig.id,)):
        raise Refused(
            "ledger_unreadable",
            "The books do not know a deposit that an order of this shop names, so nobody can tell "
            "that all is settled. Ask the operator to run muster audit, then close it.",
        )
    _drop_quotes(gig)
    # An escrow that was given up is none of these, so its order does not count (LIVE).
    live = Escrow.select().where(Escrow.gig_id == gig.id, LIVE)
    # An order that is being funded, and whose deposit has no terms yet.
    begun = Task.select().where(
        Task.gig_id == gig.id,
        UNFUNDED,
        Task.client_id.is_null(False),
        Task.id.not_in(live.clone().select(Escrow.task_id)),
    )
    many = live.count() + begun.count()
    if many:
        rows = live.order_by(Escrow.created_at, Escrow.id).limit(MOST_NAMED)
        deposits = [_told(one) for one in rows]
        deposits += [
            {"deposit_id": None, "state": PENDING, "amount": None, "task_id": one.id}
            for one in begun.order_by(Task.number).limit(MOST_NAMED - len(deposits))
        ]
        orders = f"{many} orders are" if many > 1 else "1 order is"
        raise Refused(
            "unsettled_orders",
            f"This shop cannot be closed while {orders} unsettled. An open deposit ends when its "
            "buyer approves the delivery and the payout is made, or when either side undoes the "
            "order; a pending one once the chain has been read again.",
            unsettled=many,
            deposits=deposits,
        )


def _drop_quotes(gig: Gig) -> None:
    """Terms that were offered, and that nobody has published, end with the shop.

    Whoever sends their deposit all the same has it back (`engine/escrow_events.py`).
    """
    offered = Escrow.select().where(
        Escrow.gig_id == gig.id,
        Escrow.status == "planned",
        Escrow.wallet_id.is_null(),
        Escrow.authorization.is_null(),
    )
    for quote in offered:
        take(Escrow, quote.id, "abandon", ended_at=clock.now())


def _told(escrow: Escrow) -> dict[str, Any]:
    return {
        "deposit_id": escrow.id,
        "state": PENDING if escrow.status == "planned" else OPEN,
        "amount": money.to_dollars(escrow.amount_units),
        "task_id": escrow.task_id,
    }
