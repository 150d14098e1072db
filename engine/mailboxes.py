"""Mailboxes: joining a gig, and the settings of one's place in it (M-01, M-02)."""

from __future__ import annotations

from typing import Any

from engine import accounts, clock, endpoints, events, gigs, pages, rows, wallets, webhook_secrets
from engine.db import db
from engine.errors import Refused, not_found
from engine.ids import new_id
from engine.models.account import Account
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.moves import move
from engine.operations import OWNER, Caller, permit
from engine.rules import times

# Fields that are webhook URLs, and the kind of endpoint that each is.
WEBHOOKS = {
    "webhook": endpoints.MAILBOX_TASKS,
    "events_webhook_url": endpoints.MAILBOX_EVENTS,
}
WORKER_FIELDS = frozenset({"wallet_address", "name", "notes", "tags", *WEBHOOKS})
OWNER_FIELDS = frozenset({"status"})


def join(caller: Caller, gig_id: str, values: dict[str, Any]) -> tuple[Mailbox, bool]:
    """The caller's mailbox in the gig, made if he has none; answers (mailbox, made now).

    Joining again gives the same mailbox and spends no invite, whatever else was asked.
    """
    address = values.get("wallet_address")
    if address is not None:
        address = wallets.clean_address("wallet_address", address)
    email = values.get("email")
    if email is not None:
        email = accounts.clean_email(email)
    account = accounts.get(caller.account_id)

    def write() -> tuple[Mailbox, bool]:
        gig = gigs.get(gig_id)
        permit("mailbox.join", caller, gig)
        # Two joins of one account at once: the second waits here and then finds the first's row.
        db.lock(Account.select().where(Account.id == account.id))
        known = Mailbox.get_or_none(
            Mailbox.gig_id == gig.id, Mailbox.account_id == account.id, Mailbox.ordinal == 1
        )
        if known is not None:
            return known, False
        gigs.require_open(gig)
        if address is not None:
            wallets.require_unproven(address, account.id)
        invite = _use_invite(gig, values.get("invite"), account.email)
        admitted = not gig.requires_approval or (invite is not None and invite.email is not None)
        wallet_address = address or wallets.make_hot(account.id, gig.title[:100]).evm_address
        mailbox = Mailbox.create(
            id=new_id("MBX"),
            gig_id=gig.id,
            account_id=account.id,
            status="active" if admitted else "pending_approval",
            name=values.get("name") or account.display_name,
            email=email or account.email,
            wallet_address=wallet_address,
            webhook=values.get("webhook"),
            events_webhook_url=values.get("events_webhook_url"),
            webhook_secret=webhook_secrets.new(),
            notes=values.get("notes", ""),
            tags=values.get("tags", []),
            ordinal=1,
            joined_at=clock.now(),
        )
        for field, kind in WEBHOOKS.items():
            endpoints.register(kind, mailbox.id, account.id, values.get(field))
        events.append(
            "mailbox.joined",
            events.Subject("mailbox", mailbox.id),
            actor=account.id,
            gig_id=gig.id,
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
        return mailbox, True

    return db.write(write)


def _use_invite(gig: Gig, token: str | None, email: str) -> Invite | None:
    """Count one use of the invite in one statement: of N joins on the last use one wins (G-05)."""
    if token is None:
        if gig.join_policy == "open":
            return None
        raise Refused("invite_required", "This gig is by invite. Send the token as invite.")
    used = (
        Invite.update(used=Invite.used + 1)
        .where(
            Invite.token == token,
            Invite.gig_id == gig.id,
            Invite.revoked_at.is_null(),
            Invite.max_uses.is_null() | (Invite.used < Invite.max_uses),
            Invite.email.is_null() | (Invite.email == email),
        )
        .execute()
    )
    invite = Invite.get_or_none(Invite.token == token, Invite.gig_id == gig.id)
    if used:
        return invite
    if invite is None or invite.revoked_at is not None:
        raise Refused("invite_unknown", "This invite does not exist. Ask the owner for another.")
    if invite.email is not None and invite.email != email:
        raise Refused("invite_other_email", "This invite names another account.")
    raise Refused("invite_used_up", "This invite has been used up. Ask the owner for another.")


def get(gig_id: str, mailbox_id: str) -> Mailbox:
    with db.reading():
        found = Mailbox.get_or_none(Mailbox.id == mailbox_id, Mailbox.gig_id == gig_id)
    if found is None:
        raise not_found("mailbox")
    return found


def active_of(caller: Caller, gig: Gig, mailbox_id: str | None = None) -> Mailbox:
    """The caller's active mailbox in a gig: the named one, or else his first active one."""
    where = "gig_id = ? AND account_id = ? ORDER BY ordinal"
    found = [
        mailbox
        for mailbox in rows.find(Mailbox, where, gig.id, caller.account_id)
        if mailbox_id in (None, mailbox.id)
    ]
    if not found:
        raise Refused("not_joined", "You have no such mailbox in this gig. Join it first.")
    for mailbox in found:
        if mailbox.status == "active":
            return mailbox
    raise _inactive(found[0].status)


def _inactive(status: str) -> Refused:
    return Refused(
        "mailbox_inactive",
        f"Your mailbox in this gig is {status}; only its owner can make it active.",
    )


def hold(mailbox: Mailbox) -> None:
    """Keep a mailbox active until this transaction ends; before something is taken for it.

    Whoever closes it waits, and then finds what was taken. SQLite's one writer is alone anyway.
    """
    if not db.is_postgres:
        return
    status = db.scalar("SELECT status FROM mailbox WHERE id = ? FOR SHARE", (mailbox.id,))
    if status != "active":
        raise _inactive(str(status))


def ids_of(caller: Caller, gig: Gig) -> list[str]:
    query = Mailbox.select(Mailbox.id).where(
        Mailbox.gig_id == gig.id, Mailbox.account_id == caller.account_id
    )
    return [row.id for row in query]


def mine(caller: Caller, limit: int, after: pages.Position) -> list[Mailbox]:
    """The caller's places in every gig, in the order in which he joined."""
    with db.reading():
        query = Mailbox.select().where(Mailbox.account_id == caller.account_id)
        return pages.page(query, (Mailbox.joined_at, Mailbox.id), limit, after)


def of_gig(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Mailbox]:
    """The gig's workers, for its owner, in the order in which they joined."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("mailbox.list", caller, gig)
        query = Mailbox.select().where(Mailbox.gig_id == gig.id)
        return pages.page(query, (Mailbox.joined_at, Mailbox.id), limit, after)


def update(caller: Caller, gig_id: str, mailbox_id: str, values: dict[str, Any]) -> Mailbox:
    """Owner and worker each change their own fields, and are refused the other's (M-02)."""
    if values.get("wallet_address") is not None:
        values["wallet_address"] = wallets.clean_address("wallet_address", values["wallet_address"])

    def write() -> Mailbox:
        gig = gigs.get(gig_id)
        mailbox = get(gig_id, mailbox_id)
        owned = mailbox.account_id == caller.account_id
        allowed: set[str] = set()
        if owned:
            permit("mailbox.change", caller, gig)
            allowed |= WORKER_FIELDS
        may_admit = not owned or gig.owner_id == caller.account_id
        if may_admit and OWNER in permit("mailbox.admit", caller, gig):
            allowed |= OWNER_FIELDS
        foreign = sorted(set(values) - allowed)
        if foreign:
            whose = "owner" if foreign[0] in OWNER_FIELDS else "worker"
            raise Refused(
                "not_permitted",
                f"{foreign[0]}: only the {whose} may change this.",
                errors=dict.fromkeys(foreign, "not yours to change"),
            )
        if not values:
            return mailbox
        address = values.get("wallet_address")
        if address is not None and address != mailbox.wallet_address:
            wallets.require_unproven(address, mailbox.account_id)
        changes = dict(values)
        status = changes.pop("status", None)
        if status is not None and status != mailbox.status:
            move(mailbox, "activate" if status == "active" else "deactivate")
        if changes:
            Mailbox.update(**changes).where(Mailbox.id == mailbox.id).execute()
        for field in sorted(WEBHOOKS.keys() & changes.keys()):
            endpoints.register(WEBHOOKS[field], mailbox.id, mailbox.account_id, changes[field])
        events.append(
            "mailbox.changed",
            events.Subject("mailbox", mailbox.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"fields": sorted(values)},
        )
        return get(gig_id, mailbox_id)

    return db.write(write)
