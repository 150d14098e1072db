"""What anybody may read who was sent a link: the token in it is the key (H-12)."""

from __future__ import annotations

from typing import Any

from engine import invites, order_links, share_links
from engine.errors import Refused
from engine.handing_in import HandIn
from web import limits, paging, share_views, shares, views
from web.blueprint import Routes
from web.routes.comments import view as comment_view
from web.routes.holding import passed_on
from web.schemas import public as schemas
from web.schemas.holding import PassedOn

routes = Routes("public", "What the links open that people are sent. No key is needed.")
# Of one answer, about a shared order.
MOST_COMMENTS = 500


@routes.route("/public/invite-info", key=None, refuses=[404, 410, 429])
@routes.arguments(schemas.InviteQuery, location="query")
@routes.response(200, schemas.InviteInfoAnswer)
def invite_info(query: dict[str, Any]) -> dict[str, Any]:
    """What an invite is to. Reading it uses nothing up (G-05)."""
    invite = limits.public_token(
        query["token"],
        invites.find,
        Refused(
            "not_found",
            "This invite does not exist, or was revoked. Check the link, or ask who sent it for "
            "another.",
        ),
    )
    return {"invite": views.invitation_view(invites.read(invite))}


@routes.route("/public/mailbox-info", key=None, refuses=[403, 404, 409, 429])
@routes.arguments(schemas.LinkQuery, location="query")
@routes.response(200, schemas.MailboxInfoAnswer)
def mailbox_info(query: dict[str, Any]) -> dict[str, Any]:
    """Where a share link leads: to a worker's place in one gig (R-07)."""
    link = share_links.follow(shares.opened(query["token"]))
    return {"mailbox": share_views.link_view(link)}


@routes.route("/public/task", key=None, refuses=[403, 404, 409, 429])
@routes.arguments(schemas.SharedTaskQuery, location="query")
@routes.response(200, schemas.SharedTaskAnswer)
def task(query: dict[str, Any]) -> dict[str, Any]:
    """A task that waits, or that is the mailbox's; 404 for every other one (R-07)."""
    link = share_links.follow(shares.opened(query["token"]))
    return {"task": share_views.shared_task_view(link, share_links.read_task(link, query["task"]))}


@routes.route("/public/order", key=None, refuses=[404, 429])
@routes.arguments(schemas.SharedOrderQuery, location="query")
@routes.response(200, schemas.SharedOrderAnswer)
def order(query: dict[str, Any]) -> dict[str, Any]:
    """An order that its buyer shares, and what its two sides say of it, but for private words.

    One 404 for a wrong token, for no such order, and for one that is not shared. For more than 500
    comments ask again with `cursor`.
    """
    shared = limits.public_token(
        query["token"],
        lambda token: order_links.find(query["gig"], query["task"], token),
        order_links.unknown(),
    )
    conversation = shared.conversation
    found, cursor = paging.page(
        f"order:{query['task']}",
        {"limit": MOST_COMMENTS, "cursor": query["cursor"]},
        lambda limit, after: order_links.talk(shared, limit, after),
        lambda one: (one.comment.created_at, one.comment.id),
    )
    return {
        "gig_title": conversation.gig.title,
        "order": share_views.shared_order_view(shared),
        "comments": [comment_view(conversation, one) for one in found],
        "can_post": conversation.can_post,
        **({} if cursor is None else {"next_cursor": cursor}),
    }


@routes.route("/public/submit-proof", methods=["POST"], key=None, refuses=[403, 404, 409, 410, 429])
@routes.arguments(schemas.SubmitByLink)
@routes.response(201, schemas.SubmittedByLink)
def submit_proof(body: dict[str, Any]) -> dict[str, Any]:
    """Hand in a proof for the mailbox, which is refused what its worker would be (R-01, R-07)."""
    mailbox = shares.opened(body["share_token"])
    given = HandIn(
        task_id=body["task_identifier"],
        mailbox_id=mailbox.id,
        evidence=body["evidence"],
        tags=body["tags"],
        private_note=body["private_note"],
    )
    done = share_links.hand_in(mailbox, given)
    answer = {"proof_id": done.proof.id, "status": done.proof.status}
    return answer if done.warning is None else {**answer, "warning": done.warning}


@routes.route("/public/task/decline", methods=["POST"], key=None, refuses=[403, 404, 409, 410, 429])
@routes.arguments(schemas.DeclineByLink)
@routes.response(200, PassedOn)
def decline(body: dict[str, Any]) -> dict[str, Any]:
    """Pass on a task for the mailbox (D-01)."""
    mailbox = shares.opened(body["share_token"])
    return passed_on(share_links.decline(mailbox, body["task"]))


@routes.route(
    "/public/task/violation", methods=["POST"], key=None, refuses=[403, 404, 409, 410, 429]
)
@routes.arguments(schemas.ViolationByLink)
@routes.response(200, PassedOn)
def report(body: dict[str, Any]) -> dict[str, Any]:
    """Report a bad task to its owner for the mailbox, and pass on it (A-02)."""
    mailbox = shares.opened(body["share_token"])
    return passed_on(share_links.report(mailbox, body["task"], body["violation"]))
