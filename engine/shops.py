"""A shop: a gig whose members order, and whose owner, the vendor, does the work.

What its mode says of its settings alone is data (`engine/gig_settings.py`). Here is what takes more
than that: the vendor's own mailbox, and the chain that deposits are on. When it may be closed:
`engine/shop_closing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import peewee

from engine import install, joining, reconcile
from engine.db import db
from engine.errors import Refused
from engine.models.account import Account
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.meta import Meta
from engine.modes import ask, takes_orders


def check(values: Mapping[str, Any]) -> None:
    """A shop that takes money needs a chain to take it on; `values` are all of a new gig's."""
    if ask(values["distribution"]).info.orders and values["list_price_units"]:
        install.treasury()


def check_change(gig: Gig, changes: Mapping[str, Any]) -> None:
    """A shop keeps taking money, or none; `gig` is the row as it stands, locked.

    409 `list_price_mode_change`. Orders that are funded keep the price that they were funded at.
    """
    price_units = changes.get("list_price_units")
    if price_units is None or not takes_orders(gig):
        return
    if bool(price_units) != bool(gig.list_price_units):
        kind = "takes money" if gig.list_price_units else "takes no money"
        raise Refused(
            "list_price_mode_change",
            f"list_price: this shop {kind}, and that stays so. Open another shop for the other "
            "kind, and close this one.",
        )


def open_for(gig: Gig) -> None:
    """Give a new shop its owner's mailbox, in which orders land; only inside `db.write`."""
    mailbox = joining.enter_own(gig)
    treasury = install.current().treasury
    gig.owner_mailbox_id = mailbox.id
    gig.treasury_address = None if treasury is None else treasury.address
    sets = {name: getattr(gig, name) for name in ("owner_mailbox_id", "treasury_address")}
    Gig.update(**sets).where(Gig.id == gig.id).execute()


def vendor_name(gig: Gig) -> str:
    """The display name of whoever does the work."""
    with db.reading():
        name: str = Account.get(Account.id == gig.owner_id).display_name
    return name


def fee_bps() -> int | None:
    """The platform's rate as the contract has it now; None when it cannot be read.

    Waits for a node at most for a moment, and never while a transaction is open.
    """
    rate = install.current().fee_rate
    return None if rate is None else rate.readable(ask=db.transaction is None)


def escrowed_units(gig: Gig) -> int | None:
    """What the contract holds for the shop's orders, as the books have it; for display alone.

    None while there are deposits, and the chain has never been looked at.
    """
    held = Escrow.status.in_(("open", "refunding"))
    with db.reading():
        deposits = Escrow.select().where(Escrow.gig_id == gig.id)
        if Meta.read(reconcile.CURSOR_KEY) is None and deposits.exists():
            return None
        total = Escrow.select(peewee.fn.SUM(Escrow.amount_units))
        return int(total.where(Escrow.gig_id == gig.id, held).scalar() or 0)
