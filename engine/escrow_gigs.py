"""What a gig must say of itself to fund each of its tasks when it is sent (Y-07, G-01)."""

from __future__ import annotations

from typing import Any

from engine import install
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.models.task import Task
from engine.models.wallet import Wallet

FIELDS = ("task_escrow", "owner_wallet", "webhook_daily_spend_units")


def check(owner_id: str, values: dict[str, Any]) -> None:
    """Refuse what a `task_escrow` gig cannot be without; `values` are all of its fields."""
    if not values["task_escrow"]:
        return
    install.treasury()
    if values["webhook_daily_spend_units"] is None:
        raise invalid(
            "webhook_daily_spend",
            "say how much may be spent a day: with task_escrow the token spends your money",
        )
    if wallet_of(owner_id, values["owner_wallet"]) is None:
        raise invalid(
            "owner_wallet",
            "with task_escrow this must be the address of a hot wallet of yours, which pays",
        )


def check_change(gig: Gig, changes: dict[str, Any]) -> None:
    """The same for a change; `gig` is the row as it stands, locked."""
    if not any(field in changes for field in FIELDS):
        return
    after = {field: changes.get(field, getattr(gig, field)) for field in FIELDS}
    changed = bool(after["task_escrow"]) != bool(gig.task_escrow)
    if changed and Task.select(Task.number).where(Task.gig_id == gig.id).exists():
        raise Refused(
            "has_tasks",
            "task_escrow: this gig has tasks already, so how they are paid stays. "
            "Open another gig for it.",
        )
    check(gig.owner_id, after)


def wallet_of(owner_id: str, address: str | None) -> Wallet | None:
    """The owner's hot wallet at an address."""
    if address is None:
        return None
    with db.reading():
        return Wallet.get_or_none(
            Wallet.account_id == owner_id,
            Wallet.evm_address == address,
            Wallet.is_hot_wallet,
            Wallet.deleted_at.is_null(),
        )


def reclaimer_of(owner_id: str) -> str | None:
    """An address of the owner's that he has proven, whose key is not kept here.

    He can then take a deposit back although this server and its keys are gone.
    """
    with db.reading():
        wallet = (
            Wallet.select()
            .where(
                Wallet.account_id == owner_id,
                Wallet.is_hot_wallet == False,  # noqa: E712
                Wallet.verified_at.is_null(False),
                Wallet.deleted_at.is_null(),
            )
            .order_by(Wallet.verified_at.desc())
            .first()
        )
    return None if wallet is None else wallet.evm_address
