"""Wallets where something fails around them (Y-06)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import install
from engine.chain.client import new_key
from tests.world import World


@pytest.mark.rule("Y-06")
@pytest.mark.rule("H-05")
def test_while_the_chain_is_away_nothing_is_deleted_and_nothing_sent(
    backend: tuple[str, str], chain: Any
) -> None:
    world = World(*backend, chain=chain, CHAIN_TIMEOUT_SECONDS="1").start()
    try:
        person = world.person()
        wallet_id = person.post("/wallets")["wallet"]["id"]
        path, body = f"/wallets/{wallet_id}", {"to_address": new_key()[1], "amount": "1"}
        install.treasury().chain._connected = None
        install.treasury().chain.rpc_url = "http://127.0.0.1:9"
        person.call("DELETE", path).refused(503, "chain_unavailable")
        person.call("POST", f"{path}/transfer", body).refused(503, "chain_unavailable")
        assert [one["id"] for one in person.get("/wallets")["wallets"]] == [wallet_id]
        install.treasury().chain._connected = None
        install.treasury().chain.rpc_url = chain.rpc_url
        person.call("DELETE", path).ok()
    finally:
        world.stop()
