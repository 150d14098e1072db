"""What whoever has a share link is shown: less than the mailbox's worker is (R-07)."""

from __future__ import annotations

from typing import Any

from engine.models.task import Task
from engine.order_links import SharedOrder
from engine.share_links import Link
from web import views


def link_view(link: Link) -> dict[str, Any]:
    """The mailbox and its gig; nothing of the worker but the name that he has there."""
    mailbox, gig = link.mailbox, link.gig
    return {
        "id": mailbox.id,
        "name": mailbox.name,
        "status": mailbox.status,
        "gig_id": gig.id,
        "gig_title": gig.title,
        "gig_status": gig.status,
        "terms": gig.terms,
        "price_units": gig.price_units,
        "distribution": gig.distribution,
        "names_own_work": link.own_names,
    }


def shared_task_view(link: Link, task: Task) -> dict[str, Any]:
    """A task with its whole body; no private details, no deposit, and nothing of anybody else."""
    view = {
        "id": task.id,
        "gig_id": task.gig_id,
        "subject": task.subject,
        "payload": task.payload,
        "content_type": task.content_type,
        "status": task.status,
        "availability": task.availability,
        "tags": task.tags,
        "price_tbd": task.price_tbd,
        "forwarded_at": task.created_at,
        "expires_at": task.expires_at if task.status == "claimed" else None,
    }
    if task.client_id is None:
        # What an order is worth is for its two sides, and a link is neither.
        view["shown_price_units"], _ = views.price_of(link.gig, task)
    return view


def shared_order_view(shared: SharedOrder) -> dict[str, Any]:
    """An order as its public link shows it: nothing private, no money, and nobody's address."""
    task = shared.task
    return {
        "id": task.id,
        "subject": task.subject,
        "payload": task.payload,
        "draft": shared.unsent,
        "forwarded_at": task.created_at,
    }
