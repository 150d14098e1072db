"""The door of a shop: a buyer saves a draft order, with the shop's token and his own key."""

from __future__ import annotations

from engine import clock, drafts, forms, gigs
from engine.arrivals import Taken
from engine.comment_readers import members_only
from engine.errors import Refused
from engine.forms import Form
from engine.ids import new_id
from engine.models.gig import Gig
from engine.operations import Caller, permit


def take_in(caller: Caller | None, gig: Gig, sent: Form, draft_id: str | None) -> Taken:
    """Save a draft order of the caller's; only inside `db.write`."""
    if caller is None:
        raise Refused(
            "no_key",
            "An order names its buyer: send your own x-api-key with the shop's token.",
        )
    with members_only():
        permit("task.send", caller, gig)
    gigs.require_open(gig)
    forms.check(gig, sent)
    values = {
        "id": new_id("TASK"),
        "gig_id": gig.id,
        **forms.columns(gig, sent),
        "client_id": caller.account_id,
        "external_id": sent.external_id,
        "fingerprint": None if sent.external_id is None else sent.fingerprint(),
        "created_at": clock.now(),
    }
    answer = drafts.make(gig, values, None, caller.account_id)
    if answer is None:
        raise Refused("external_id_mismatch", "external_id: another order was sent under this id.")
    return Taken(answer)
