"""Tasks that come by mail: a gig's address holds its token, as its webhook's URL does (T-01)."""

from __future__ import annotations

import hmac
from typing import Any

from engine import gigs, install, submissions
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused
from engine.forms import Form
from engine.models.gig import Gig
from engine.modes import ask
from engine.operations import Caller, permit
from engine.rules import mail_addresses, mime
from engine.rules.mail_addresses import GigAddress

ACTOR = "mail"
# Before a Message-ID, so that it is no external id of the webhook's.
PREFIX = "mail:"
# Answered to a server, a refusal for this would go back to whoever wrote, who can do nothing.
_MISMATCH = "external_id_mismatch"


def address_of(gig: Gig) -> str | None:
    """Where a gig takes tasks by mail; None where the install takes none, or the gig's mode."""
    domain = install.current().settings.INBOUND_EMAIL_DOMAIN
    if not domain or "task.send_by_mail" in ask(gig.distribution).refuses(gigs.facts(gig)):
        return None
    return mail_addresses.of(gig.id, gig.token, domain)


def submit(raw: bytes, to: str | None) -> Taken:
    """Make a task of a letter: its subject, its text, and its Message-ID as `external_id` (T-04).

    `to` is the envelope's recipient, bare or as a header writes it; without it the letter's headers
    are looked through. Answers as the webhook does, or `ignored` with a reason for what no person
    sent, what has the Message-ID of another letter, or the mode takes no mail for (O-03).
    404 where no recipient is a gig, 403 `wrong_token`; attachments are not kept.
    """
    address = _recipient(raw, to)
    with db.reading():
        # Of a letter that may not come in no more is read.
        _gig(address)
    letter = mime.read(raw)
    sent = Form(
        payload=letter.body,
        content_type=letter.content_type,
        subject=letter.subject,
        external_id=f"{PREFIX}{letter.message_id}" if letter.message_id else None,
    )

    def write() -> Taken:
        gig = _gig(address)
        reason = letter.why_automatic or _why_refused(gig)
        if reason is not None:
            return Taken(_ignored(reason))
        return submissions.take_in(gig, sent, actor=ACTOR)

    try:
        return db.write(write)
    except Refused as refusal:
        if refusal.code != _MISMATCH:
            raise
        return Taken(_ignored(_MISMATCH))


def _recipient(raw: bytes, to: str | None) -> GigAddress:
    domain = install.current().settings.INBOUND_EMAIL_DOMAIN
    if not domain:
        raise Refused(
            "mail_not_configured",
            "This install takes no mail. Its operator sets MUSTER_INBOUND_EMAIL_DOMAIN.",
        )
    for address in mime.recipients(raw) if to is None else mime.addresses([to]):
        found = mail_addresses.parse(address, domain)
        if found is not None:
            return found
    raise Refused("not_found", f"No gig has this address at {domain}.")


def _gig(address: GigAddress) -> Gig:
    """The gig of an address whose token is right; in lower case, as mail may have made it."""
    gig = gigs.get(address.gig_id)
    if not hmac.compare_digest(gig.token.lower().encode(), address.token.encode()):
        raise Refused("wrong_token", "This is not the gig's token. Ask its owner.")
    return gig


def _why_refused(gig: Gig) -> str | None:
    owner = Caller(gig.owner_id)
    try:
        permit("task.send_by_mail", owner, gig, member=False)
        permit("task.send", owner, gig, member=False)
    except Refused as refusal:
        return refusal.code
    return None


def _ignored(reason: str) -> dict[str, Any]:
    # Nobody reads a refusal, and mail that is answered by an error is sent back to its sender.
    return {"status": "ignored", "reason": reason}
