"""What a buyer is shown where he pays for one order of his: how it stands, and what can pay for it.

Only read here. Paying is publishing the order: `order_publishing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import drafts, escrow_funding, escrows, install, mailboxes, order_standing, wallets
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.operations import Caller

# More than these are not offered; a program names any wallet.
MOST_WALLETS = 20
# Of so many the chain is asked what they hold, to find one that can pay.
MOST_ASKED = 5
# How an order stands, as far as paying for it goes.
PAYABLE, UNDER_WAY, UNDELIVERED, SENT, WITHDRAWN, CLOSED = (
    "payable",
    "under_way",
    "undelivered",
    "sent",
    "withdrawn",
    "closed",
)


@dataclass(frozen=True)
class Checkout:
    """One order as its buyer meets it; `escrow` is its newest deposit, if there was one."""

    gig: Gig
    task: Task
    standing: str
    escrow: Escrow | None


@dataclass(frozen=True)
class Purse:
    """A hot wallet and what it holds: 10⁻⁶ USDC and wei, None while the chain does not tell.

    `short`: `usdc`, `gas`, both or nothing, of what the shop's price takes.
    """

    wallet: Wallet
    usdc_units: int | None
    wei: int | None
    short: tuple[str, ...]


def look(gig: Gig, task: Task) -> Checkout:
    """How an order stands."""
    escrow = escrows.newest(task.id)
    return Checkout(gig, task, _standing(gig, task, escrow), escrow)


def _standing(gig: Gig, task: Task, escrow: Escrow | None) -> str:
    if task.status in order_standing.UNDER_WAY:
        return UNDER_WAY
    if task.status not in drafts.UNSENT:
        return SENT
    if escrow is not None and escrow.status == "open":
        return UNDELIVERED
    if task.order_withdrawn_at is not None:
        return WITHDRAWN
    return PAYABLE if gig.status == "active" else CLOSED


def require_place(caller: Caller, gig: Gig) -> None:
    """403 for a buyer whose place in the shop is not, or not yet, active."""
    with db.reading():
        mailboxes.active_of(caller, gig)


def payers(caller: Caller, gig: Gig) -> list[Wallet]:
    """The caller's hot wallets, the one that pays for an order when he names none first."""
    hot = (Wallet.account_id == caller.account_id, Wallet.is_hot_wallet)
    with db.reading():
        places = Mailbox.select(Mailbox.wallet_address).where(
            Mailbox.gig_id == gig.id,
            Mailbox.account_id == caller.account_id,
            Mailbox.status == "active",
        )
        own = {place.wallet_address for place in places}
        query = Wallet.select().where(*hot, Wallet.deleted_at.is_null())
        found = list(query.order_by(Wallet.created_at, Wallet.id).limit(MOST_WALLETS))
    return sorted(found, key=lambda wallet: wallet.evm_address not in own)


def purse_for(found: list[Wallet], price_units: int) -> Purse:
    """The first of these that can pay that much, of so many as are asked about, or else the first.

    `found` is not empty.
    """
    first = purse(found[0], price_units)
    if first.usdc_units is None or not first.short:
        return first
    others = (purse(wallet, price_units) for wallet in found[1:MOST_ASKED])
    return next((one for one in others if one.usdc_units is not None and not one.short), first)


def purse(wallet: Wallet, price_units: int) -> Purse:
    """What the wallet holds, and what it lacks to deposit that much itself."""
    try:
        wei, usdc_units = wallets.balances(wallet)
        gas = 0 if sponsored() else escrow_funding.GAS_NEEDED
        short = wallets.shortage(install.treasury(), wallet.evm_address, price_units, gas)
    except (ChainUnavailable, Refused):
        return Purse(wallet, None, None, ())
    return Purse(wallet, usdc_units, wei, tuple(short))


def sponsored() -> bool:
    """Does the operator pay for the gas of deposits, so many a day (O-10)?"""
    settings = install.current().settings
    return bool(settings.SPONSOR_GAS and settings.OPERATOR_KEY)
