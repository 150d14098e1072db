"""The door of a shop: a buyer saves a draft order, with the shop's token and his own key.

The token is the shop's and every buyer's, so it says nothing of who writes. What is saved here has
no price and no money behind it: an order is paid for and sent by a call of its own.
"""

from __future__ import annotations

from engine import clock, drafts, forms, order_briefs
from engine.arrivals import Taken
from engine.comment_readers import members_only
from engine.errors import Refused, invalid
from engine.forms import Form
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.task import UNSENT_ORDERS, Task
from engine.operations import Caller, permit

# What its owner says of a task in other gigs, and why no buyer says it of an order.
_NOT_OF_AN_ORDER = {
    "price": "what an order pays is what its buyer deposits as he publishes it; leave it out",
    "assign_to": "every order is the vendor's; leave it out",
    "reserved_for": "every order is the vendor's; leave it out",
    "availability": "an order is delivered and never queued; leave it out",
    "priority": "an order is delivered and never queued; leave it out",
    "not_before": "an order is sent when its buyer publishes it; leave it out",
}
# Orders of one buyer in one shop that wait to be sent: more are a mistake, or meant to fill it up.
MOST_DRAFTS = 1000


def take_in(caller: Caller | None, gig: Gig, sent: Form, draft_id: str | None) -> Taken:
    """Save a draft order of the caller's, or with `draft_id` save his own one again.

    Only inside `db.write`. 401 `no_key`; 403 `not_a_member` without an active mailbox; 409
    `own_shop` for the vendor, the mode's name for what is no draft or says what no order has,
    `shop_closed`, and `external_id_mismatch`, which names an order of the caller's own only.
    """
    if caller is None:
        raise Refused(
            "no_key",
            "An order names its buyer: send your own x-api-key with the shop's token.",
        )
    # What the mode never does it says to everybody, as `permit` does (O-03).
    _require_order(gig, sent)
    if caller.account_id == gig.owner_id:
        raise Refused("own_shop", "This shop is yours, and you cannot order from yourself.")
    with members_only():
        permit("task.send", caller, gig)
    if draft_id is not None:
        return Taken(_again(caller, gig, sent, draft_id))
    forms.check(gig, sent)
    repeated = _repeat_of(caller, gig, sent)
    if repeated is not None:
        return repeated
    require_open(gig)
    taken = _make(caller, gig, sent) or _repeat_of(caller, gig, sent)
    if taken is None:
        raise Refused("try_again", "Two requests met here. Send it again.")
    return taken


def require_open(gig: Gig) -> None:
    """409 `shop_closed`: what was ordered before goes on."""
    if gig.status != "active":
        raise Refused("shop_closed", "This shop is not open: it takes no new orders.")


def _require_order(gig: Gig, sent: Form) -> None:
    """Refuse what would be lost or wrong on an order; nothing of it is passed over in silence."""
    given = {
        "price": sent.price_tbd or sent.price_units is not None,
        **{
            name: getattr(sent, name) is not None
            for name in ("assign_to", "reserved_for", "availability", "priority", "not_before")
        },
    }
    wrong = {name: _NOT_OF_AN_ORDER[name] for name, is_given in given.items() if is_given}
    if not sent.draft:
        wrong["draft"] = "say draft=true; an order is sent by the call that pays for it"
    if wrong:
        told = "; ".join(f"{name}: {sentence}" for name, sentence in wrong.items())
        raise Refused(gig.distribution, f"This door only saves drafts. {told}.", errors=wrong)


def _again(caller: Caller, gig: Gig, sent: Form, draft_id: str) -> dict[str, object]:
    if sent.external_id is not None:
        raise invalid("external_id", "a draft has the one it was made with; draft_id says which")
    forms.check(gig, sent)
    require_open(gig)
    task = order_briefs.hold_own(caller, gig, draft_id)
    columns = {name: getattr(sent, name) for name in ("payload", "content_type", "subject")}
    columns["tags"] = list(gig.default_task_tags if sent.tags is None else sent.tags)
    return drafts.answer(drafts.save(gig, task, columns, caller.account_id), updated=True)


def _repeat_of(caller: Caller, gig: Gig, sent: Form) -> Taken | None:
    """The first answer for this external id, or None for a new one (T-04).

    Another buyer's order under the same id is no more than a name that is taken.
    """
    if sent.external_id is None:
        return None
    known = Task.get_or_none(Task.gig_id == gig.id, Task.external_id == sent.external_id)
    if known is None:
        return None
    own = known.client_id == caller.account_id
    answer = drafts.answer_of(known.id)
    if own and answer is not None and known.fingerprint == sent.fingerprint():
        return Taken(answer)
    sentence = "external_id: another order was sent under this id. Use a new id for a new order."
    if own:
        raise Refused("external_id_mismatch", sentence, message_id=known.id)
    raise Refused("external_id_mismatch", sentence)


def _make(caller: Caller, gig: Gig, sent: Form) -> Taken | None:
    """A new draft, or None where its external id has just been taken.

    409 `too_many_drafts` for a buyer who has very many already; of several at once a few more may
    come through.
    """
    unsent = Task.select(Task.number).where(
        Task.client_id == caller.account_id, Task.gig_id == gig.id, UNSENT_ORDERS
    )
    if unsent.limit(MOST_DRAFTS).count() >= MOST_DRAFTS:
        raise Refused(
            "too_many_drafts",
            f"You have {MOST_DRAFTS} orders in this shop that are not sent. Send or delete some.",
        )
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
    return None if answer is None else Taken(answer)
