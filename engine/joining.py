"""Joining a gig, coming back to it, and a second place in it (M-01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import (
    accounts,
    clock,
    endpoints,
    events,
    gigs,
    invites,
    mailboxes,
    wallets,
    webhook_secrets,
)
from engine.db import db
from engine.ids import new_id, new_share_token
from engine.models.account import Account
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.moves import move
from engine.operations import Caller, permit
from engine.rules import times

# What a worker says of himself when he joins, beside his wallet.
SAID = ("name", "email", "webhook", "events_webhook_url", "notes", "tags")


@dataclass(frozen=True)
class Admission:
    """What lets an account into a gig: an invite or the gig's openness, at once or on approval."""

    gig: Gig
    account: Account
    invite: Invite | None

    @property
    def at_once(self) -> bool:
        """An invite that names the account is its approval (G-05)."""
        named = self.invite is not None and self.invite.email is not None
        return named or not self.gig.requires_approval


def join(
    caller: Caller, gig_id: str, values: dict[str, Any], *, another: bool = False
) -> tuple[Mailbox, bool]:
    """The caller's mailbox in the gig; answers (mailbox, made now).

    Whoever has one gets that one and spends no invite, whatever else was asked; `another` makes one
    more, and spends a use. Whoever left comes back to the mailbox that he left: on the gig's terms
    as they are now, with a use of an invite where it takes one, and with what he says of himself
    this time. A mailbox that the owner closed stays closed, and is no way to a new one. A shop's
    owner has the one that orders land in: 409 `vendor_mailbox` for another.
    """
    address = values.get("wallet_address")
    if address is not None:
        address = values["wallet_address"] = wallets.clean_address("wallet_address", address)
    if values.get("email") is not None:
        values["email"] = accounts.clean_email(values["email"])
    account = accounts.get(caller.account_id)

    def write() -> tuple[Mailbox, bool]:
        gig = gigs.get(gig_id)
        permit("mailbox.join", caller, gig)
        # Two joins of one account at once: the second waits here and then finds the first's row.
        # Those who tell him of something do not wait: he may come to be waiting for them.
        if db.is_postgres:
            db.rows("SELECT 1 FROM account WHERE id = ? FOR NO KEY UPDATE", (account.id,))
        own = _own(gig, account)
        if another and any(one.id == gig.owner_mailbox_id for one in own):
            raise mailboxes.vendors()
        closed = next((one for one in own if _was_closed(one)), None)
        if another and closed is not None:
            raise mailboxes.inactive(closed)
        known = None if another else _first(own, closed)
        if known is not None and known.left_at is None:
            return known, False
        gigs.require_open(gig)
        if address is not None:
            wallets.require_unproven(address, account.id)
            wallets.name("wallet_address", address)
        admission = Admission(gig, account, invites.use(gig, values.get("invite"), account.email))
        if known is not None:
            return _come_back(admission, known, values), False
        return _enter(admission, values, ordinal=len(own) + 1), True

    return db.write(write)


def _own(gig: Gig, account: Account) -> list[Mailbox]:
    query = Mailbox.select().where(Mailbox.gig_id == gig.id, Mailbox.account_id == account.id)
    return list(query.order_by(Mailbox.ordinal))


def _was_closed(mailbox: Mailbox) -> bool:
    return mailbox.status == "inactive" and mailbox.left_at is None


def _first(own: list[Mailbox], closed: Mailbox | None) -> Mailbox | None:
    """The mailbox that joining again gives: one that he is in, else a closed one, else one left."""
    current = next((one for one in own if one.status != "inactive"), None)
    return current or closed or (own[0] if own else None)


def enter_own(gig: Gig) -> Mailbox:
    """The owner's place in his own gig, where he does the work himself; only inside `db.write`."""
    admission = Admission(gig, accounts.get(gig.owner_id), None)
    address = gig.owner_wallet
    wallet = {} if address is None else {"wallet_address": address}
    if address is not None:
        wallets.require_unproven(address, gig.owner_id)
        wallets.name("owner_wallet", address)
    return _enter(admission, wallet, ordinal=1, status="active")


def _enter(
    admission: Admission, values: dict[str, Any], ordinal: int, status: str | None = None
) -> Mailbox:
    gig, account = admission.gig, admission.account
    made = values.get("wallet_address")
    mailbox = Mailbox.create(
        id=new_id("MBX"),
        gig_id=gig.id,
        account_id=account.id,
        status=status or ("active" if admission.at_once else "pending_approval"),
        name=values.get("name") or account.display_name,
        email=values.get("email") or account.email,
        wallet_address=made or wallets.make_hot(account.id, gig.title[:100]).evm_address,
        webhook=values.get("webhook"),
        events_webhook_url=values.get("events_webhook_url"),
        webhook_secret=webhook_secrets.new(),
        notes=values.get("notes", ""),
        tags=values.get("tags", []),
        ordinal=ordinal,
        joined_at=clock.now(),
        share_token=new_share_token(),
    )
    _register(mailbox, {field: values.get(field) for field in mailboxes.WEBHOOKS})
    _tell(admission, mailbox)
    return mailbox


def _come_back(admission: Admission, mailbox: Mailbox, values: dict[str, Any]) -> Mailbox:
    said = {field: values[field] for field in SAID if field in values}
    said["wallet_address"] = values.get("wallet_address") or wallets.payout_address(
        mailbox.wallet_address, mailbox.account_id, admission.gig.title[:100]
    )
    verb = "activate" if admission.at_once else "apply_again"
    # Not if the owner has closed it while this was decided.
    move(mailbox, verb, Mailbox.left_at.is_null(False), left_at=None, **said)
    _register(mailbox, {field: said[field] for field in mailboxes.WEBHOOKS.keys() & said.keys()})
    _tell(admission, mailbox)
    return mailbox


def _register(mailbox: Mailbox, urls: dict[str, str | None]) -> None:
    for field, url in sorted(urls.items()):
        endpoints.register(mailboxes.WEBHOOKS[field], mailbox.id, mailbox.account_id, url)


def _tell(admission: Admission, mailbox: Mailbox) -> None:
    invite = admission.invite
    events.append(
        "mailbox.joined",
        events.Subject("mailbox", mailbox.id),
        actor=mailbox.account_id,
        gig_id=mailbox.gig_id,
        mailbox_id=mailbox.id,
        data={
            "mailbox_id": mailbox.id,
            "name": mailbox.name,
            "status": mailbox.status,
            "email": mailbox.email,
            "wallet_address": mailbox.wallet_address,
            "invite_token": None if invite is None else invite.token,
            "joined_at": times.iso_ms(mailbox.joined_at),
        },
    )
