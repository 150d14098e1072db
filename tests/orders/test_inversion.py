"""A shop is any other gig the other way round: one table, with each side played to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from engine import audit
from tests.contract.scene import all_hold
from tests.shop import shop
from tests.world import Gig, Person, World, at_once

PAID = "is paid, of what was put in"
TOKEN, OWNER, MEMBER = "the token alone", "owner", "member"
# What → (who it is, or what comes of it, in a gig that its owner pays for; the same in a shop).
INVERSION: dict[str, tuple[Any, Any]] = {
    "funds all of it at once": ({OWNER}, set()),
    "sends the task": ({TOKEN, OWNER, MEMBER}, {MEMBER}),
    "undoes the money": (set(), {OWNER, MEMBER}),
    "does the work": ({MEMBER}, {OWNER}),
    "approves": ({OWNER}, {MEMBER}),
    "undoes it once it is approved": (set(), set()),
    "triggers the payout": ({OWNER}, {MEMBER, OWNER}),
    # Dollars ×10⁶: the fee comes on top of 2.50, or out of 3.30.
    PAID: ((MEMBER, 2_500_000, 2_750_000), (OWNER, 3_000_000, 3_300_000)),
    "is called client": ({OWNER}, {MEMBER}),
    "is called gigworker": ({MEMBER}, {OWNER}),
}


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    yield paying_world
    assert audit.run().faults == []


@pytest.mark.rule("O-03")
@pytest.mark.rule("O-06")
@pytest.mark.rule("Y-01")
def test_a_shop_is_any_other_gig_the_other_way_round(world: World) -> None:
    played = _outbound(world), _order(world)
    assert [set(one) for one in played] == [set(INVERSION)] * 2

    def same(row: tuple[str, tuple[Any, Any]]) -> None:
        name, wanted = row
        assert tuple(one[name] for one in played) == wanted

    all_hold(INVERSION.items(), same)


def _outbound(world: World) -> dict[str, Any]:
    """The owner sends and pays, and a member works."""
    gig = world.gig(price="2.50")
    people = {OWNER: gig.owner, MEMBER: world.worker(gig)}
    seen = _begun(world, gig, people)
    before = _pot_units(gig)
    (task,) = people[MEMBER].post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    seen |= _ended(world, gig, people, {OWNER: task["id"], MEMBER: task["id"]}, task["id"])
    who, got = seen.pop("paid")
    return {**seen, PAID: (who, got, before - _pot_units(gig))}


def _order(world: World) -> dict[str, Any]:
    """A member sends and pays, and the owner works."""
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=20)
    people = {OWNER: place.vendor, MEMBER: buyer}
    seen = _begun(world, place.gig, people, "&draft=true")
    orders = at_once(3, lambda _: place.order(buyer, amount="3.30"))
    undone = {OWNER: orders[1], MEMBER: orders[2]}
    seen |= _ended(world, place.gig, people, undone, orders[0])
    who, got = seen.pop("paid")
    return {**seen, PAID: (who, got, 20_000_000 - _wallet_units(world, buyer))}


def _begun(world: World, gig: Gig, people: dict[str, Person], query: str = "") -> dict[str, Any]:
    pot = {"wallet_alias_id": world.funded_wallet(gig.owner, 100), "amount": 10}
    funds = _may(people, "POST", f"{gig.path}/deposit", pot)
    door = f"/inbound/webhook/{gig.id}?token={gig.token}{query}"
    senders = _may({TOKEN: world, **people}, "POST", door, {"order": "a haiku"})
    return {"funds all of it at once": funds, "sends the task": senders}


def _ended(
    world: World, gig: Gig, people: dict[str, Person], undone: dict[str, str], task_id: str
) -> dict[str, Any]:
    """Undo what may be undone, then do a task, approve it and settle it; as whoever may."""
    tasks, proofs = f"{gig.path}/tasks", f"{gig.path}/proofs"
    seen: dict[str, Any] = {}
    seen["undoes the money"] = {
        who
        for who, one in people.items()
        if one.call("POST", f"{tasks}/{undone[who]}/withdraw").status == 200
    }
    work = {"task_identifier": task_id, "proofs": ["done"]}
    seen["does the work"] = _may(people, "POST", proofs, work)
    said = {
        who: one.post(f"{tasks}/{task_id}/comments", {"body": "Well."})["comment"]["author_role"]
        for who, one in people.items()
    }
    for role in ("client", "gigworker"):
        seen[f"is called {role}"] = {who for who, called in said.items() if called == role}
    (proof,) = gig.owner.get(proofs)["proofs"]
    seen["approves"] = _may(people, "PATCH", f"{proofs}/{proof['id']}", {"action": "approve"})
    undo = f"{tasks}/{task_id}/withdraw"
    seen["undoes it once it is approved"] = _may(people, "POST", undo)
    seen["triggers the payout"] = _may(people, "POST", f"{gig.path}/rollups")
    (rollup,) = gig.owner.get(f"{gig.path}/rollups")["rollups"]
    address = rollup["wallet_address"]
    seen["paid"] = (_whose(people, gig, address), world.usdc_units(address))
    return seen


def _may(
    people: Mapping[str, World | Person], method: str, path: str, body: Any = None
) -> set[str]:
    """Who of them all may do that."""
    return {who for who, one in people.items() if one.call(method, path, body).status < 300}


def _whose(people: dict[str, Person], gig: Gig, address: str) -> str:
    (found,) = [
        who
        for who, one in people.items()
        for mailbox in one.get("/mailboxes/mine")["mailboxes"]
        if (mailbox["gig_id"], mailbox["wallet_address"]) == (gig.id, address)
    ]
    return found


def _pot_units(gig: Gig) -> int:
    return int(gig.owner.get(gig.path)["gig"]["available_funds"] * 1_000_000)


def _wallet_units(world: World, person: Person) -> int:
    wallets = person.get("/wallets")["wallets"]
    return sum(world.usdc_units(one["evm_address"]) for one in wallets)
