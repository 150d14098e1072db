"""What became of the work done for a wallet: rows that follow from events, only ever added (R-09).

A row is never corrected. A verdict that takes the place of an earlier one, or a payout that a reorg
took back, is another row behind the first, so their order tells what stands. A row has the id of
its event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import pages, rows
from engine.chain.client import checksum
from engine.db import db
from engine.errors import invalid
from engine.models.event import Event
from engine.models.reputation import ReputationEvent
from engine.models.rollup import Rollup

VERDICTS = frozenset({"proof.approved", "proof.rejected", "proof.reported"})
PAYOUTS = frozenset({"payout.paid", "payout.taken_back"})
ORDERS = frozenset({"order.withdrawn"})
TYPES = VERDICTS | PAYOUTS | ORDERS
# What stays of an order that was undone.
ORDER_WITHDRAWN = "order_withdrawn"
SHOWN = VERDICTS | PAYOUTS | {ORDER_WITHDRAWN}

# The side that a mailbox's wallet is on, and that of a wallet that paid for an order.
GIGWORKER, CLIENT = "gigworker", "client"

_WALLET = "SELECT wallet_address FROM mailbox WHERE id = ?"


# Only what was held in escrow can have come back.
_DEPOSITORS = """
SELECT escrow.depositor FROM purchase JOIN escrow ON escrow.id = purchase.deposit_id
WHERE purchase.task_id = ? AND escrow.opened_at IS NOT NULL ORDER BY purchase.number DESC LIMIT 1
"""


def follow_from(events: Sequence[Event]) -> None:
    """Add what events of one `append` say of the wallet of their mailbox, as it is paid now; of an
    order that was undone, of the wallet that had paid for it."""
    if not events or events[0].type not in TYPES:
        return
    if events[0].type in ORDERS:
        _add_withdrawn(events)
        return
    of = _of_verdict if events[0].type in VERDICTS else _of_payout
    rows.insert(ReputationEvent, *(_common(event) | of(event) for event in events))


def _common(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "role": GIGWORKER,
        "at": event.at,
        "gig_id": event.gig_id,
    }


def _of_verdict(event: Event) -> dict[str, Any]:
    """A verdict pays nothing yet, so it has no amount."""
    return {
        "wallet": db.scalar(_WALLET, (event.mailbox_id,)),
        "proof_id": event.subject_id,
        "rejection_tag": event.data.get("rejection_tag"),
        "revised": event.data.get("revised", False),
    }


def _of_payout(event: Event) -> dict[str, Any]:
    rollup = Rollup.get(Rollup.id == event.subject_id)
    return {
        "wallet": rollup.wallet_address,
        "rollup_id": rollup.id,
        "units": rollup.gross_units,
        "revised": False,
        # A rollup that was taken back has none any more.
        "tx_hash": event.data["tx_hash"],
    }


def _add_withdrawn(events: Sequence[Event]) -> None:
    """Whoever undid it, so that a wallet that often orders and then has it undone is seen to. An
    order that was free has no depositor, and leaves nothing."""
    for event in events:
        for (depositor,) in db.rows(_DEPOSITORS, (event.subject_id,)):
            told = {
                "type": ORDER_WITHDRAWN,
                "role": CLIENT,
                "wallet": depositor,
                "revised": False,
                "withdrawn_by": event.data["withdrawn_by"],
            }
            rows.insert(ReputationEvent, _common(event) | told)


def listed(wallet: str, limit: int, before: pages.Position) -> list[ReputationEvent]:
    """What is told of a wallet by (number), newest first; none of one that is unknown.

    400 naming `wallet` for what is no address.
    """
    try:
        address = checksum(wallet)
    except ValueError as error:
        raise invalid("wallet", str(error)) from error
    with db.reading():
        query = ReputationEvent.select().where(ReputationEvent.wallet == address)
        return pages.page(query, (ReputationEvent.number,), limit, before, newest_first=True)
