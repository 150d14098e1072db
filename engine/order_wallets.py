"""Which hot wallet of a buyer's pays for an order (O-10)."""

from __future__ import annotations

from engine import wallets
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.wallet import Wallet
from engine.operations import Caller

FIELD = "wallet_alias_id"


def hold(caller: Caller, gig: Gig, wallet_id: str | None) -> Wallet:
    """The wallet that the buyer names, or else his mailbox's, or else his only one; held.

    400 naming the field for one that is not his or whose key is not kept here, and where he has to
    say which. Only inside `db.write`.
    """
    try:
        wallet = wallets.hold(caller, wallet_id or _usual(caller, gig))
    except Refused as refusal:
        if refusal.code != "not_found":
            raise
        raise invalid(FIELD, "you have no wallet with this id") from refusal
    if not wallet.is_hot_wallet:
        raise invalid(
            FIELD,
            "this needs a hot wallet, whose key is kept here; from another one, ask for a quote "
            "and sign it",
        )
    return wallet


def _usual(caller: Caller, gig: Gig) -> str:
    with db.reading():
        hot = Wallet.select().where(
            Wallet.account_id == caller.account_id,
            Wallet.is_hot_wallet,
            Wallet.deleted_at.is_null(),
        )
        own = Mailbox.select(Mailbox.wallet_address).where(
            Mailbox.gig_id == gig.id,
            Mailbox.account_id == caller.account_id,
            Mailbox.status == "active",
        )
        paid_to = hot.where(Wallet.evm_address.in_(own)).order_by(Wallet.created_at).first()
        found = [paid_to] if paid_to is not None else list(hot.limit(2))
    if len(found) == 1:
        return str(found[0].id)
    raise invalid(
        FIELD,
        "say which of your hot wallets pays" if found else "name a hot wallet of yours that pays",
    )
