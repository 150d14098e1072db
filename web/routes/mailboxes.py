"""The workers' places in gigs: joining, settings, leaving, and what is in their hands."""

from __future__ import annotations

from typing import Any

from engine import (
    accounts,
    aliases,
    available_work,
    gigs,
    inbound_lists,
    joining,
    leaving,
    mailbox_settings,
    mailboxes,
    receiving,
    webhook_secrets,
)
from web import auth, order_views, paging, task_modes, views
from web.blueprint import Routes
from web.mailbox_views import mailbox_view, my_mailbox_view, work_view
from web.paging import PageQuery
from web.schemas import mailboxes as schemas
from web.schemas.gigs import Success

routes = Routes("mailboxes", "The workers' places in gigs.")


@routes.route("/gigs/<gig_id>/mailboxes", methods=["POST"])
@routes.arguments(schemas.Join)
@routes.response(201, schemas.Joined)
@routes.alt_response(200, schema=schemas.Joined)
def join(body: dict[str, Any], gig_id: str) -> tuple[dict[str, Any], int]:
    """Join a gig; again gives the same mailbox, which wakes if you had left (M-01)."""
    another = body.pop("new")
    mailbox, made = joining.join(auth.caller(), gig_id, body, another=another)
    answer: dict[str, Any] = {"mailbox": mailbox_view(mailbox, worker=True)}
    if made:
        answer["webhook_secret"] = webhook_secrets.of(mailbox)
    return answer, 201 if made else 200


@routes.route("/gigs/<gig_id>/mailboxes")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.MailboxList)
def of_gig(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's workers for its owner, in the order in which they joined."""
    found, cursor = paging.page(
        f"mailboxes:{gig_id}",
        query,
        lambda limit, after: mailboxes.of_gig(auth.caller(), gig_id, limit, after),
        lambda one: (one.joined_at, one.id),
    )
    received = receiving.of(found)
    numbers = accounts.numbers({one.account_id for one in found})
    shown = [
        {
            **mailbox_view(one, worker=False, received=received[one.id]),
            "number": numbers[one.account_id],
        }
        for one in found
    ]
    return {"mailboxes": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/mailboxes/<mailbox_id>", methods=["PATCH"])
@routes.arguments(schemas.MailboxPatch)
@routes.response(200, schemas.MailboxChanged)
def update(body: dict[str, Any], gig_id: str, mailbox_id: str) -> dict[str, Any]:
    """Owner and worker each change their own fields (M-02).

    When the owner makes it inactive, what it holds goes back at once; active approves it. A
    vendor who sets a webhook of his own place in his shop is told what signs it.
    """
    caller = auth.caller()
    mailbox = mailbox_settings.update(caller, gig_id, mailbox_id, body)
    own = mailbox.account_id == caller.account_id
    answer = {"success": True, "mailbox": mailbox_view(mailbox, worker=own)}
    # It was made with the shop, so no joining has shown him its secret.
    vendors = gigs.get(gig_id).owner_mailbox_id == mailbox.id
    if vendors and any(body.get(url) for url in mailboxes.WEBHOOKS):
        answer["webhook_secret"] = webhook_secrets.of(mailbox)
    return answer


@routes.route("/gigs/<gig_id>/mailboxes/<mailbox_id>", methods=["DELETE"])
@routes.response(200, Success)
def leave(gig_id: str, mailbox_id: str) -> dict[str, Any]:
    """Leave the gig (M-03): what you hold goes back, what you are owed is still paid."""
    leaving.leave(auth.caller(), gig_id, mailbox_id)
    return {"success": True}


@routes.route("/mailboxes/mine")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.MyMailboxList)
def mine(query: dict[str, Any]) -> dict[str, Any]:
    """The caller's places in every gig, in the order in which he joined."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"mailboxes:{caller.account_id}",
        query,
        lambda limit, after: mailboxes.mine(caller, limit, after),
        lambda one: (one.mailbox.joined_at, one.mailbox.id),
    )
    received = receiving.of([one.mailbox for one in found])
    shown = [my_mailbox_view(one, received[one.mailbox.id]) for one in found]
    return {"mailboxes": shown, "next_cursor": cursor}


@routes.route("/mailboxes/<mailbox_id>/inbound")
@routes.arguments(schemas.InboundQuery, location="query")
@routes.response(200, schemas.Inbound)
def inbound(query: dict[str, Any], mailbox_id: str) -> dict[str, Any]:
    """What this mailbox holds or has handed in for review, newest first, as its worker sees it."""
    caller = auth.caller()
    if query["summary"]:
        counts = inbound_lists.counts(caller, mailbox_id)
        return {"mailbox_id": mailbox_id, "counts": counts}
    gig, mailbox = inbound_lists.of(caller, mailbox_id)
    found, cursor = paging.page(
        f"inbound:{mailbox_id}",
        query,
        lambda limit, before: inbound_lists.listed(mailbox, query["status"], limit, before),
        lambda task: (task.claimed_at, task.number),
    )
    names, own = aliases.of(caller, found), frozenset({mailbox.id})
    reader = order_views.reader(caller, found)
    modes = task_modes.of(gig, found, mailbox_ids=own)
    shown = [
        views.task_view(
            gig,
            task,
            mailbox_ids=own,
            preview=True,
            alias=names.get(task.id),
            reader=reader,
            of_mode=modes.get(task.id),
        )
        for task in found
    ]
    return {"mailbox_id": mailbox_id, "tasks": shown, "next_cursor": cursor}


@routes.route("/work/available")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.WorkAvailable)
def available(query: dict[str, Any]) -> dict[str, Any]:
    """For each of the caller's active mailboxes: would a poll give it a task now (M-03)?"""
    caller = auth.caller()
    found, cursor = paging.page(
        f"available:{caller.account_id}",
        query,
        lambda limit, after: mailboxes.mine(caller, limit, after, active=True),
        lambda one: (one.mailbox.joined_at, one.mailbox.id),
    )
    finds = available_work.finds(found)
    return {
        "mailboxes": [work_view(one, finds[one.mailbox.id]) for one in found],
        "next_cursor": cursor,
    }
