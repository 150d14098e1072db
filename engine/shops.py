"""A shop: a gig whose members order, and whose owner, the vendor, does the work."""

from __future__ import annotations

from engine import install, joining
from engine.models.gig import Gig


def open_for(gig: Gig) -> None:
    """Give a new shop its owner's mailbox, in which orders land; only inside `db.write`."""
    mailbox = joining.enter_own(gig)
    treasury = install.current().treasury
    gig.owner_mailbox_id = mailbox.id
    gig.treasury_address = None if treasury is None else treasury.address
    sets = {name: getattr(gig, name) for name in ("owner_mailbox_id", "treasury_address")}
    Gig.update(**sets).where(Gig.id == gig.id).execute()
