"""What the tests of named deposits share: a gig that funds each task, and looks at its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine import audit
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deploy import send_and_wait
from engine.db import db
from engine.models.escrow import Escrow
from tests.world import Gig, Person, World, eventually


@pytest.fixture
def world(paying_world: World) -> World:
    return paying_world


@pytest.fixture
def gig(world: World) -> Iterator[Gig]:
    """A gig that funds each task; whatever is done in it, the books balance in the end."""
    yield escrow_gig(world)
    fine()


def escrow_gig(world: World, dollars: int = 100, **fields: Any) -> Gig:
    """A gig that funds each task from its owner's hot wallet, which holds so much."""
    owner = world.person("owner")
    wallet_id = world.funded_wallet(owner, dollars)
    (wallet,) = [one for one in owner.get("/wallets")["wallets"] if one["id"] == wallet_id]
    more = {"owner_wallet": wallet["evm_address"], "webhook_daily_spend": "1000", **fields}
    gig = world.gig(owner, task_escrow=True, **more)
    gig.wallet = wallet["evm_address"]  # type: ignore[attr-defined]
    return gig


def token(world: World, function: str, *values: object) -> None:
    """A function of the test token that only its owner may call."""
    assert world.chain is not None
    call = Call(world.chain.usdc_address, artifact("MockUSDC").encode(function, values))
    send_and_wait(Chain(world.chain.rpc_url), world.chain.minter_key, [call])


def treasury_call(world: World, function: str, *values: object) -> None:
    """A function of the Treasury, as its owner."""
    assert world.chain is not None
    call = Call(world.chain.treasury_address, artifact("Treasury").encode(function, values))
    send_and_wait(Chain(world.chain.rpc_url), world.chain.owner_key, [call])


def escrows_of(gig: Gig) -> list[Escrow]:
    """The gig's deposits, in the order in which their terms were stored."""
    with db.reading():
        query = Escrow.select().where(Escrow.gig_id == gig.id)
        return list(query.order_by(Escrow.created_at, Escrow.attempt))


def ended(gig: Gig, *statuses: str) -> list[Escrow]:
    """The same once they are in these states."""

    def look() -> list[Escrow]:
        found = escrows_of(gig)
        return found if [one.status for one in found] == list(statuses) else []

    return eventually(look, 30, f"{statuses}, not {[one.status for one in escrows_of(gig)]}")


def events_of(gig: Gig) -> list[str]:
    return [row["type"] for row in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]


def fine() -> None:
    """The books balance and equal the contract's."""
    report = audit.run()
    assert report.faults == []


def take(gig: Gig, worker: Person) -> Any:
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    return task


def prove(gig: Gig, worker: Person, task_id: str) -> str:
    body = {"task_identifier": task_id, "proofs": ["done"]}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def approve(gig: Gig, proof_id: str) -> Any:
    return gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "approve"})


def units(gig: Gig, world: World) -> int:
    """What the paying wallet holds."""
    return world.usdc_units(gig.wallet)  # type: ignore[attr-defined]
