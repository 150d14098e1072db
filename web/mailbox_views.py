"""Mailboxes as their readers may see them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine import available_work, rows
from engine.mailboxes import Place
from engine.models.mailbox import Mailbox
from engine.modes import ask
from engine.receiving import Received

# What a mailbox shows to nobody but its worker (M-02, R-07).
_WORKERS = (
    "share_token",
    "tags",
    "webhook",
    "events_webhook_url",
    "filter_tags",
    "filter_tag_match",
    "filter_price_min_units",
    "filter_price_max_units",
    "filter_accept_tbd",
)


def mailbox_view(
    mailbox: Mailbox, *, worker: bool, received: Received | None = None
) -> dict[str, Any]:
    """A mailbox for its worker or for the gig's owner, with what it received where that is told."""
    view = rows.values(mailbox)
    if not worker:
        # A worker's tags, filters and webhooks are his own business.
        for field in _WORKERS:
            view.pop(field)
    return view if received is None else {**view, **asdict(received)}


def my_mailbox_view(place: Place, received: Received) -> dict[str, Any]:
    """One's own mailbox, and what its gig is."""
    gig = place.gig
    return {
        **mailbox_view(place.mailbox, worker=True, received=received),
        "gig_title": gig.title,
        "gig_status": gig.status,
        "distribution": gig.distribution,
        "polls": available_work.polls(gig),
    }


def work_view(place: Place, finds: bool | None) -> dict[str, Any]:
    """One's own mailbox, and whether a poll would find something for it."""
    gig = place.gig
    return {
        "mailbox_id": place.mailbox.id,
        "gig_id": gig.id,
        "gig_title": gig.title,
        "distribution": gig.distribution,
        "poll_in_gig": finds,
        "listed_at": None if available_work.polls(gig) else _listed_at(place),
        "poll_exact": True,
    }


def _listed_at(place: Place) -> str:
    desk = ask(place.gig.distribution).info.desk
    return f"/api/mailboxes/{place.mailbox.id}/inbound" if desk is None else f"/api{desk.path}"
