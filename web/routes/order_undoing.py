"""Undoing an order, and ruling on one that is disputed."""

from __future__ import annotations

from typing import Any

from engine import commands, order_disputes, order_undoing
from web import auth, outcome, waiting
from web.blueprint import Routes
from web.schemas import order_undoing as schemas
from web.schemas.accounts import Accepted

routes = Routes("order_undoing", "Undoing orders, and ruling on disputed ones.")


@routes.route("/gigs/<gig_id>/tasks/<task_id>/withdraw", methods=["POST"], refuses=[429])
@routes.response(200, schemas.Withdrawn)
@routes.alt_response(202, schema=Accepted)
def withdraw(gig_id: str, task_id: str) -> Any:
    """Undo an order, by its buyer or its vendor, and return its deposit; 200 once that is final.

    Until the delivery is approved: then 409 `already_approved`, whoever or whatever approved it,
    and `already_settled` once the vendor is paid. A disputed delivery may still be undone. Also
    for a draft whose publishing put a deposit in and could not deliver it; a draft that nothing was
    deposited for is `not_funded`, one whose deposit never opened answers 200 with `never_funded`.
    The order stays, `withdrawn`, and its buyer may send it again. Again answers 200; while it is
    under way, 409 `in_progress`. 409 `state_mismatch` and `ledger_missing`: nothing was sent, and
    the operator has to look. In every other kind of gig 409 `not_inbound_order`.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is None:
        taken = order_undoing.request(auth.caller(), gig_id, task_id)
        if taken.command is None:
            return taken.answer
        command_id = outcome.recorded(taken.command)
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)


@routes.route("/admin/proofs/<proof_id>/resolve", methods=["POST"], key=auth.require_admin)
@routes.arguments(schemas.Resolve)
@routes.response(200, schemas.Resolved)
def resolve(body: dict[str, Any], proof_id: str) -> dict[str, Any]:
    """Rule on a disputed delivery that neither side moves. Needs the install's admin key (O-07).

    An approved delivery whose payout the chain refuses, as where the token has shut its vendor out,
    is nobody else's to end either: of that `refund` alone is possible. Both sides are told
    (`proof.resolved`). A refund is under way when this answers. The same outcome again changes
    nothing; 409 `not_reported` for whatever is neither, `in_progress` while a payout is being
    tried.
    """
    done = order_disputes.resolve(proof_id, body["verdict"], body["reason"])
    return {
        "success": True,
        "verdict": done.verdict,
        "proof_id": done.proof.id,
        "status": done.proof.status,
        "task_id": done.task.id,
        "task_status": done.task.status,
    }
