"""Comments: what is said about a task, by whom, and to whom (T-09)."""

from __future__ import annotations

from typing import Any

from engine import commenting, comments
from engine.comment_readers import Conversation
from engine.comments import Shown
from web import auth, paging, views
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import comments as schemas
from web.schemas.gigs import Success

routes = Routes("comments", "What people say about a task.")


def view(conversation: Conversation, shown: Shown) -> dict[str, Any]:
    """A comment as its reader may see it; which mailbox wrote it is the owner's to know."""
    comment = shown.comment
    told: dict[str, Any] = {
        "id": comment.id,
        "thread_id": comment.thread_id,
        "parent_id": comment.parent_id,
        "body": comment.body,
        "author_display_name": shown.author_name,
        "author_role": comment.role,
        "is_mine": comment.author_id == conversation.account_id,
        "private": comment.reader_id is not None,
        "private_to_display_name": shown.reader_name,
        "deleted": comment.deleted_at is not None,
        "created_at": comment.created_at,
    }
    if conversation.owner:
        told["author_mailbox_id"] = comment.mailbox_id
    return told


@routes.route("/gigs/<gig_id>/tasks/<task_id>/comments")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.CommentList)
def list_comments(query: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """What you may read of what is said about a task, oldest first (T-09).

    Under `public` all who can read the task and have an active mailbox in the gig, and its owner,
    read and write. Under `private` each comment has one other reader: a worker's is for the owner,
    the owner's for whom it replies to or else for the task's holder. Under `off` nobody writes. A
    later change of policy, or of who holds the task, opens and closes nothing that was said; who
    can no longer read the task, since another has been given it, cannot read its comments either.
    A worker's copy of a task has comments of its own, between him and the owner.

    About an order its two sides talk, from its draft on, and both read all but what is `private`.
    Others in the gig read that under `public` alone, once the order is sent.

    403 `not_a_member` without an active mailbox. `total` counts what was deleted too.
    """
    conversation = comments.read(auth.caller(), gig_id, task_id)
    found, cursor = paging.page(
        f"comments:{task_id}",
        query,
        lambda limit, after: comments.listed(conversation, limit, after),
        lambda one: (one.comment.created_at, one.comment.id),
    )
    return {
        "policy": conversation.policy,
        "can_post": conversation.can_post,
        "total": comments.total(conversation),
        "comments": [view(conversation, one) for one in found],
        "next_cursor": cursor,
    }


@routes.route("/gigs/<gig_id>/tasks/<task_id>/comments", methods=["POST"], refuses=[429])
@routes.arguments(schemas.CommentPost)
@routes.response(201, schemas.CommentAnswer)
def post(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Say something about a task, to all who read it or to one; also in a closed gig (T-09).

    With `private` under the policy `public`: a reply is read by you and its parent's author alone,
    not even by the owner; without a parent a worker's is for the owner, and the owner's for the
    task's holder. A reply to a private comment stays between the same two, whatever `private` says.

    404 for a parent that you cannot read; one that was deleted can still be replied to. 409
    `comments_off`, or `no_reader` where nobody has the task that you speak of in private. At most
    60 comments a minute of one account: 429 `rate_limited`.
    """
    given = commenting.Given(body["body"], body["parent_id"], body["private"])
    conversation, made = commenting.post(auth.caller(), gig_id, task_id, given)
    return {"comment": view(conversation, made)}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/comments/<comment_id>", methods=["DELETE"])
@routes.response(200, Success)
def delete(gig_id: str, task_id: str, comment_id: str) -> dict[str, Any]:
    """Empty a comment of yours, or as the gig's owner one that you can read; again changes nothing.

    It keeps its place, `deleted`, and the replies to it stay with their readers.
    """
    commenting.delete(auth.caller(), gig_id, task_id, comment_id)
    return {"success": True}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/comments-policy", methods=["PATCH"])
@routes.arguments(schemas.PolicyChange)
@routes.response(200, schemas.PolicyChanged)
def set_policy(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Say who reads and writes what is said about a task from now on; null: as the gig has it.

    Copies that workers have of it keep a policy of their own.

    An order's is its buyer's to say, also once it is paid for: 403 `not_draft_writer` for the
    vendor. `public` makes a link to it, which any other policy takes away (O-07).
    """
    now = commenting.set_policy(auth.caller(), gig_id, task_id, body["policy"])
    told = {"policy": now.policy, "public_link": now.public_link, "public_token": now.public_token}
    if now.public_token is not None:
        page = f"/fund/{gig_id}/{task_id}?t={now.public_token}"
        told["public_url"] = views.public_url() + page
    return {"success": True, **{name: one for name, one in told.items() if one is not None}}
