"""Money: deposits, rollups, and commands that take their time."""

from __future__ import annotations

from typing import Any

from engine import commands, deposits, gigs, payouts, settlement
from engine.errors import Refused
from web import auth, errors, outcome, paging, views, waiting
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import money as schemas
from web.schemas.accounts import Accepted, CommandState

routes = Routes("funds", "Deposits and payouts.")


@routes.route("/gigs/<gig_id>/deposit", methods=["POST"], refuses=[402, 502], does="gig.deposit")
@routes.arguments(schemas.Deposit)
@routes.response(200, schemas.Deposited)
@routes.alt_response(202, schema=Accepted)
def deposit(body: dict[str, Any], gig_id: str) -> Any:
    """Fill the gig's pot from a hot wallet; 200 once it is final (G-06)."""
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed() or outcome.recorded(
        deposits.request(auth.caller(), gig_id, body["wallet_alias_id"], body["amount_units"])
    )
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)


@routes.route("/gigs/<gig_id>/rollups", methods=["POST"])
@routes.arguments(schemas.Nothing)
@routes.response(200, schemas.Settled)
@routes.alt_response(202, schema=Accepted)
def settle(_: dict[str, Any], gig_id: str) -> Any:
    """Pay what is approved, from the gig's pot; 200 once it is final (Y-02).

    The answer has the payouts that were made now, and those that were under way already. Rejected
    proofs are carried as well, by rollups that pay nothing (`settled`): their verdicts are final
    from then on. The fee comes on top, so a worker gets all of the gross.

    In a shop each order is paid out of its own deposit, to the wallet that its terms name. The
    vendor settles every order, a buyer his own (O-11).
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed() or outcome.recorded(settlement.request(auth.caller(), gig_id))
    waiting_still = outcome.under_way(command_id, seconds)
    if waiting_still is not None:
        return waiting_still
    result = commands.result_of(command_id)
    rollups = payouts.by_ids(result["rollup_ids"])
    carried = payouts.proof_ids(rollups)
    available, _reserved = gigs.funds(gigs.get(gig_id))
    return {
        "rollups": [views.rollup_view(one, carried[one.id]) for one in rollups],
        "available_units": available,
        "retried_stuck": result["retried_stuck"],
        "skipped_below_minimum": result["skipped_below_minimum"],
    }


@routes.route("/gigs/<gig_id>/rollups")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.RollupList)
def list_rollups(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's payouts for its owner, his own for a worker, those of his orders for a buyer;
    oldest first."""
    found, cursor = paging.page(
        f"rollups:{gig_id}",
        query,
        lambda limit, after: payouts.listed(auth.caller(), gig_id, limit, after),
        lambda row: (row.created_at, row.id),
    )
    carried = payouts.proof_ids(found)
    shown = [views.rollup_view(one, carried[one.id]) for one in found]
    return {"rollups": shown, "next_cursor": cursor}


@routes.route("/rollups/mine")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.RollupList)
def my_rollups(query: dict[str, Any]) -> dict[str, Any]:
    """What the caller's mailboxes are paid, in every gig; oldest first."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"rollups:{caller.account_id}",
        query,
        lambda limit, after: payouts.mine(caller, limit, after),
        lambda row: (row.created_at, row.id),
    )
    carried = payouts.proof_ids(found)
    shown = [views.rollup_view(one, carried[one.id]) for one in found]
    return {"rollups": shown, "next_cursor": cursor}


@routes.route("/commands/<command_id>")
@routes.response(200, CommandState)
def command_state(command_id: str) -> dict[str, Any]:
    """How far a command is; for the account that gave it (H-08)."""
    command = commands.get(auth.caller(), command_id)
    view = {**command.__data__, "command_id": command.id}
    if command.error is not None:
        view["error"] = errors.members(Refused.from_dict(command.error))
    return view
