"""Money: wallets, deposits, rollups, and commands that take their time."""

from __future__ import annotations

import re
from typing import Any

from flask import Response, g, jsonify, request

from engine import commands, deposits, gigs, payouts, settlement, topics, wallets
from engine.errors import Refused, invalid
from engine.models.command import Command
from web import auth, errors, paging, views, waiting
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import money as schemas
from web.schemas.accounts import Accepted, CommandState

routes = Routes("funds", "Wallets, deposits and payouts.")
DEFAULT_WAIT_SECONDS = 25
MAX_WAIT_SECONDS = 60
_WAIT = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?(\d{1,4})\"?\s*(?:,|;|$)", re.IGNORECASE)
_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?:,|;|$)", re.IGNORECASE)


@routes.route("/wallets", methods=["POST"])
@routes.arguments(schemas.WalletCreate)
@routes.response(201, schemas.WalletAnswer)
def create_wallet(body: dict[str, Any]) -> dict[str, Any]:
    """A hot wallet, whose key is kept here encrypted, or an external one by its address (Y-06)."""
    made = wallets.create(auth.caller(), body["label"], body["is_hot_wallet"], body["evm_address"])
    return {"wallet": made.__data__}


@routes.route("/wallets")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.WalletList)
def list_wallets(query: dict[str, Any]) -> dict[str, Any]:
    """The caller's wallets, oldest first."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"wallets:{caller.account_id}",
        query,
        lambda limit, after: wallets.mine(caller, limit, after),
        lambda one: (one.created_at, one.id),
    )
    return {"wallets": [one.__data__ for one in found], "next_cursor": cursor}


@routes.route("/wallets/<wallet_id>/balances")
@routes.response(200, schemas.Balances)
def balances(wallet_id: str) -> dict[str, Any]:
    """What the wallet holds, by the chain; 503 while that does not answer."""
    wallet = wallets.get(auth.caller(), wallet_id)
    wei, units = wallets.balances(wallet)
    return {
        "evm_address": wallet.evm_address,
        "eth_balance": views.ether(wei),
        "usdc_balance": views.dollars(units),
    }


@routes.route("/gigs/<gig_id>/deposit", methods=["POST"], refuses=[402, 502])
@routes.arguments(schemas.Deposit)
@routes.response(200, schemas.Deposited)
@routes.alt_response(202, schema=Accepted)
def deposit(body: dict[str, Any], gig_id: str) -> Any:
    """Fill the gig's pot from a hot wallet; 200 once it is final (G-06)."""
    seconds = wait_seconds()
    command_id = waiting.resumed() or _recorded(
        deposits.request(auth.caller(), gig_id, body["wallet_alias_id"], body["amount_units"])
    )
    return _under_way(command_id, seconds) or commands.result_of(command_id)


@routes.route("/gigs/<gig_id>/rollups", methods=["POST"])
@routes.arguments(schemas.Nothing)
@routes.response(200, schemas.Settled)
@routes.alt_response(202, schema=Accepted)
def settle(_: dict[str, Any], gig_id: str) -> Any:
    """Pay what is approved, from the gig's pot; 200 once it is final (Y-02)."""
    seconds = wait_seconds()
    command_id = waiting.resumed() or _recorded(settlement.request(auth.caller(), gig_id))
    under_way = _under_way(command_id, seconds)
    if under_way is not None:
        return under_way
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
    """The gig's payouts for its owner, his own for a worker; oldest first."""
    found, cursor = paging.page(
        f"rollups:{gig_id}",
        query,
        lambda limit, after: payouts.listed(auth.caller(), gig_id, limit, after),
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


def wait_seconds() -> int:
    """How long the caller will wait (H-08).

    `Prefer: wait=N`, 60 at most; 25 s by default, and not at all with `respond-async` alone.
    """
    header = request.headers.get("prefer", "")
    found = _WAIT.search(header)
    if found is None:
        if "wait" in header.lower():
            raise invalid("Prefer", "give wait=N with whole seconds")
        if _ASYNC.search(header):
            return 0
        return DEFAULT_WAIT_SECONDS
    return min(int(found[1]), MAX_WAIT_SECONDS)


def _recorded(command: Command) -> str:
    """The id of a command that this request gave; its key, if it has one, names it (H-07)."""
    g.command_id = command.id
    return command.id


def _under_way(command_id: str, seconds: int) -> Response | None:
    """None once the command is done, its refusal if it failed; until then 202, which may wait."""
    now = commands.peek(command_id)
    if now.status == "failed":
        raise Refused.from_dict(now.error)
    if now.status == "done":
        return None
    waiting.offer([topics.command(command_id)], seconds, resume=command_id)
    url = f"/api/commands/{command_id}"
    answer = jsonify({"command_id": command_id, "status_url": views.public_url() + url})
    answer.status_code = 202
    answer.headers["Location"] = url
    return answer
