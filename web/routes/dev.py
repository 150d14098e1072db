"""Levers of a development install (Z-06). Registered only there, and only on a local chain."""

from __future__ import annotations

from typing import Any

from engine import clock, development
from engine.errors import invalid
from engine.wallets import clean_address
from web.blueprint import Routes
from web.schemas import money as schemas
from web.schemas.gigs import Success

routes = Routes("dev", "Development only: the clock, the faucet, the chain.")


@routes.route("/dev/clock/advance", methods=["POST"], key=None, refuses=[409])
@routes.arguments(schemas.ClockAdvance)
@routes.response(200, schemas.ClockNow)
def advance(body: dict[str, Any]) -> dict[str, Any]:
    """Move the one clock forward, for every process."""
    development.require_local()
    return {"now": clock.advance(body["seconds"])}


@routes.route("/dev/faucet", methods=["POST"], key=None, refuses=[409])
@routes.arguments(schemas.Faucet)
@routes.response(200, Success)
def faucet(body: dict[str, Any]) -> dict[str, Any]:
    """Give an address USDC and ether out of nothing."""
    development.require_local()
    address = clean_address("address", body["address"])
    development.faucet(address, body["usdc_units"], body["wei"])
    return {"success": True}


@routes.route("/dev/chain/mine", methods=["POST"], key=None, refuses=[409])
@routes.arguments(schemas.Mine)
@routes.response(200, schemas.Mined)
def mine(body: dict[str, Any]) -> dict[str, Any]:
    """Mine blocks now."""
    development.require_local()
    if not 1 <= body["blocks"] <= 1000:
        raise invalid("blocks", "give 1 to 1000")
    return {"block_number": development.mine(body["blocks"])}
