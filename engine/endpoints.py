"""Webhook URLs that owners and workers register."""

from __future__ import annotations

from dataclasses import dataclass

from engine import clock
from engine.ids import new_id
from engine.models.delivery import Delivery, Endpoint
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.moves import take

GIG_PROOFS = "gig.proofs"
MAILBOX_EVENTS = "mailbox.events"


@dataclass(frozen=True)
class Target:
    """Where a delivery goes and what signs it."""

    endpoint_id: str
    url: str
    secret: str


def register(kind: str, owner_id: str, account_id: str, url: str | None) -> None:
    """Set, change or (with None) remove the URL; only inside `db.write`.

    Setting it again also brings a disabled endpoint and its waiting deliveries back (W-09);
    removing it stops every waiting try.
    """
    endpoint = Endpoint.get_or_none(Endpoint.kind == kind, Endpoint.owner_id == owner_id)
    now = clock.now()
    if url is None:
        if endpoint is not None:
            take(Endpoint, endpoint.id, "disable")
            pause_waiting(endpoint.id)
        return
    if endpoint is None:
        Endpoint.create(
            id=new_id("ENDPOINT"),
            kind=kind,
            owner_id=owner_id,
            account_id=account_id,
            url=url,
            status="active",
            created_at=now,
        )
        return
    Endpoint.update(url=url).where(Endpoint.id == endpoint.id).execute()
    take(Endpoint, endpoint.id, "enable")
    for row in Delivery.select(Delivery.id).where(
        Delivery.endpoint_id == endpoint.id, Delivery.status == "paused"
    ):
        take(Delivery, row.id, "resume", next_attempt_at=now)


def pause_waiting(endpoint_id: str) -> None:
    """Hold back what was going to be tried; only inside `db.write`."""
    for row in Delivery.select(Delivery.id).where(
        Delivery.endpoint_id == endpoint_id, Delivery.status == "pending"
    ):
        take(Delivery, row.id, "pause", next_attempt_at=None)


def secret_of(endpoint: Endpoint) -> str:
    """The signing secret of whoever owns the endpoint (`whsec_…`)."""
    if endpoint.kind == GIG_PROOFS:
        return Gig.get(Gig.id == endpoint.owner_id).webhook_secret
    return Mailbox.get(Mailbox.id == endpoint.owner_id).webhook_secret
