"""What the read of a shop has beside that of any gig: its price list, and the chain it is on."""

from __future__ import annotations

from typing import Any

from engine import install, shops
from engine.chain.networks import chain_name, is_testnet
from engine.db import db
from engine.models.gig import Gig


def chain_view() -> dict[str, Any] | None:
    """The chain as its node names it; None while it does not answer (H-13).

    While a transaction is open nobody waits for a node: then by its last word.
    """
    pulse = install.current().pulse
    number = None if pulse is None else pulse.chain_id(ask=db.transaction is None)
    if number is None:
        return None
    return {"chain_id": number, "chain_name": chain_name(number), "is_testnet": is_testnet(number)}


def shop_view(gig: Gig, *, owner: bool, member: bool) -> dict[str, Any]:
    """Members of a gig in which people order. What is in escrow is for its owner and members."""
    view: dict[str, Any] = {
        "vendor": shops.vendor_name(gig),
        "fee_bps": shops.fee_bps(),
        "chain": chain_view(),
    }
    if owner or member:
        view["escrowed_units"] = shops.escrowed_units(gig)
    if owner:
        view["vendor_mailbox_id"] = gig.owner_mailbox_id
    return view
