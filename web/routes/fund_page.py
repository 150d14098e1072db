"""The page that a buyer pays for one order on, by a link that whoever wrote the order sends him.

It may stand in a frame on another site. Its button is `POST …/publish`. A key in its address is
for the page's script alone, which takes it out of there and sends it in the header: nothing here
reads it. Whoever has the order's public link instead reads it, and pays nothing.
"""

from __future__ import annotations

import json

from flask import Blueprint, Response

from engine import checkout, gigs, install, order_links, shelf, shops
from engine.checkout import Checkout, Purse
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.wallet import Wallet
from engine.modes import takes_orders
from engine.operations import Caller
from engine.rules import times
from web import auth, errors, fund_views, limits, rendering
from web.rendering import Page
from web.routes.comments import view as comment_view
from web.shop_views import chain_view

routes = Blueprint("fund_page", __name__, template_folder="../templates")

# What is shown while the contract does not tell its rate; the page says that it is an assumption.
ASSUMED_FEE_BPS = 1000
MOST_COMMENTS = 200

_NOT_HERE = (
    "This order is not here. The link is spent, or it was never yours: "
    "ask whoever sent it for another."
)
_NOT_YOURS = "This order belongs to somebody else. Only its buyer can pay for it."
_IN_YOUR_SHOP = "This order is in your shop; only its buyer pays for it."
_NO_ORDERS = "This machine does not take orders, so there is nothing to pay for here."
_CLOSED = "This shop is closed: it takes no new orders. Nothing was charged."
_AGAIN = "Nothing was charged. Try again in a moment."
_HUMAN = (
    "Do not pay again: stop here, and ask the shop or whoever runs this server. "
    "Give them the id of the order."
)
# What to do about a refusal, beside what the server says of it.
ADVICE = {
    "insufficient_funds": "Add what is missing to the wallet's address above, then try again.",
    "balance_unreadable": _AGAIN,
    "chain_unreadable": _AGAIN,
    "fee_rate_unreadable": _AGAIN,
    "chain_unavailable": _AGAIN,
    "deposit_id_squatted": "This is no failure: press the button again.",
    "deposit_failed": "The page shows how the order stands now. Look at it, then try again.",
    "residue_too_large": "Choose another amount.",
    "rate_limited": "Wait a minute, then try again.",
    "in_progress": "The page shows how it goes on.",
    "shop_closed": "Nothing was charged.",
    "vendor_away": "Ask the shop when it is open again.",
    "ledger_write_failed": "The page has the buttons for that.",
    "contract_mismatch": _HUMAN,
    "deposit_unreconciled": _HUMAN,
    "state_mismatch": _HUMAN,
    "ledger_missing": _HUMAN,
}
# How an order goes on that is paid for.
_AFTER = {
    "queued": "It is on its way to the shop.",
    "claimed": "The shop has it, and works on it.",
    "submitted": "The shop has delivered, and waits for your verdict.",
    "rejected": "You sent the delivery back, and the shop has it again.",
    "approved": "Its delivery is approved.",
}
_UNDER_WAY = {
    "unfunded": "Your deposit is under way. This takes a moment; the page follows it by itself.",
    "undoing": "This order is being cancelled, and its deposit is on its way back to you.",
}


@routes.route("/fund/<gig_id>/<task_id>")
def fund(gig_id: str, task_id: str) -> Response:
    """One order, what it costs, what pays for it, and the button that pays (O-01)."""

    def seen() -> Page:
        look: Page = {
            "hides_bar": _says("hide_navbar"),
            "hides_logo": _says("hide_logo"),
            "keyed": rendering.parameter("api_key") is not None,
        }
        try:
            caller = auth.caller_if_any()
        except Refused as refusal:
            return {**look, **_keyless(gig_id, task_id), **_told(refusal), "keyed": False}
        if caller is None:
            return {**look, **_keyless(gig_id, task_id)}
        return {**look, **_page(caller, gig_id, task_id)}

    return rendering.answer("fund.html", "An order", seen, framable=True)


def _says(name: str) -> bool:
    return rendering.parameter(name) in ("true", "1")


def _told(refusal: Refused) -> Page:
    return {"notice": refusal.message, "status": errors.status_of(refusal.code)}


def _keyless(gig_id: str, task_id: str) -> Page:
    """For somebody without a key: a way to sign in, and what the order's public link opens."""
    page: Page = {"asks_key": True, "mails": bool(install.current().settings.SMTP_URL)}
    token = rendering.parameter("t")
    if token is None:
        return page
    try:
        return page | _shared(gig_id, task_id, token)
    except Refused as refusal:
        return page | _told(refusal)


def _shared(gig_id: str, task_id: str, token: str) -> Page:
    """The order and its talk, to read."""
    shared = limits.public_token(
        token, lambda given: order_links.find(gig_id, task_id, given), order_links.unknown()
    )
    found = order_links.talk(shared, MOST_COMMENTS, None)
    talk = [comment_view(shared.conversation, one) for one in found]
    for one in talk:
        one["at"] = times.iso_ms(one["created_at"])
    return {
        "gig": shared.conversation.gig,
        "order": shared.task,
        **fund_views.words(shared.task),
        "talk": talk,
        "most_talk": len(talk) == MOST_COMMENTS,
        "notice": "Its buyer shares this order with whoever has the link. It can be read here.",
    }


def _page(caller: Caller, gig_id: str, task_id: str) -> Page:
    token = rendering.parameter("t")
    try:
        gig = gigs.get(gig_id)
        if not takes_orders(gig):
            return {"notice": _NO_ORDERS, "status": 409}
        seen = shelf.read(caller, gig_id, task_id)
    except Refused as refusal:
        if token is not None:
            return _shared(gig_id, task_id, token)
        status = errors.status_of(refusal.code)
        said = {403: _NOT_YOURS, 404: _NOT_HERE}.get(status, refusal.message)
        return {"notice": said, "status": status}
    task = seen.task
    if task.client_id != caller.account_id:
        if token is not None:
            return _shared(gig_id, task_id, token)
        if seen.owner:
            return {
                "notice": _IN_YOUR_SHOP,
                "status": 403,
                "task_path": f"/gigs/{gig.id}/order/{task.id}",
            }
        return {"notice": _NOT_YOURS, "status": 403}
    look = checkout.look(gig, task)
    page: Page = {
        "gig": gig,
        "order": task,
        **fund_views.words(task),
        "vendor": shops.vendor_name(gig),
        "list_price": rendering.price(gig.list_price_units),
        "standing": look.standing,
        "advice": json.dumps(ADVICE),
        "path": f"/api/gigs/{gig.id}/tasks/{task.id}",
    }
    if look.standing == checkout.PAYABLE:
        return page | _payable(caller, gig)
    return page | _standing(look)


def _standing(look: Checkout) -> Page:
    """An order that there is nothing to pay for: what became of it, in a sentence."""
    task, escrow = look.task, look.escrow
    if look.standing == checkout.UNDER_WAY:
        return {"notice": _UNDER_WAY[task.status]}
    if look.standing == checkout.CLOSED:
        return {"notice": _CLOSED}
    if look.standing == checkout.WITHDRAWN:
        return {"notice": f"This order was cancelled. {fund_views.came_back(look)}"}
    if look.standing == checkout.UNDELIVERED and escrow is not None:
        paid = rendering.price(escrow.amount_units)
        said = f"You have paid ${paid} for this order, but the shop could not be given it."
        if look.gig.status != "active":
            said += " The shop has closed since, so all that is left is to have it back."
        return {"notice": said, "finishes": look.gig.status == "active"}
    said = "This order is sent. " if task.order_free else "This order is paid for. "
    return {"notice": said + _AFTER.get(task.status, ""), "receipt": fund_views.receipt(look)}


def _payable(caller: Caller, gig: Gig) -> Page:
    try:
        checkout.require_place(caller, gig)
    except Refused as refusal:
        return {"notice": refusal.message}
    price_units = gig.list_price_units or 0
    if price_units == 0:
        return {"free": True}
    fee_bps = shops.fee_bps()
    rate_bps = ASSUMED_FEE_BPS if fee_bps is None else fee_bps
    chain = chain_view()
    return {
        "assumed": fee_bps is None,
        "rate_bps": rate_bps,
        "rate": fund_views.percent(rate_bps),
        "split": fund_views.parts_of(price_units, price_units, rate_bps),
        "chain": chain,
        **_paying(checkout.payers(caller, gig), price_units, asks=chain is not None),
    }


def _paying(found: list[Wallet], price_units: int, *, asks: bool) -> Page:
    """The wallet that pays, which the visitor may choose, with what it holds and lacks.

    `asks`: there is a node that answers.
    """
    if not found:
        return {"wallets": []}
    asked = rendering.parameter("wallet")
    chosen = [one for one in found if one.id == asked] or found
    purse = Purse(chosen[0], None, None, ())
    if asks:
        purse = checkout.purse_for(chosen, price_units)
    return {
        "wallets": found,
        "purse": purse,
        "usdc": rendering.price(purse.usdc_units),
        "ether": None if purse.wei is None else fund_views.gas(purse.wei),
        "sponsored": checkout.sponsored(),
        "pay_body": {"wallet_alias_id": purse.wallet.id},
    }
