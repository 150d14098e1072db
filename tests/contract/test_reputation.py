"""What anybody may read of a wallet (R-09)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine import clock, proofs
from tests.contract.scene import all_hold
from tests.world import Answer, Person, World, approved_proof

MEMBERS = {
    "id",
    "type",
    "role",
    "at",
    "gig_id",
    "proof_id",
    "amount",
    "rejection_tag",
    "revised",
    "tx_hash",
    "withdrawn_by",
}


def ask(world: World, wallet: str, query: str = "") -> Answer:
    return world.call("GET", f"/reputation/{wallet}/events{query}")


def wallet_of(worker: Person) -> str:
    address: str = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    return address


def story(world: World, wallet: str) -> list[tuple[str, str | None, bool]]:
    """(type, rejection tag, revised), oldest first."""
    rows = ask(world, wallet).ok()["events"]
    return [(row["type"], row["rejection_tag"], row["revised"]) for row in reversed(rows)]


@pytest.mark.rule("R-09")
def test_verdicts_and_their_revisions_stand_in_the_order_in_which_they_were_said(
    world: World,
) -> None:
    gig = world.gig(title="Secret birds", price="0", notes="the owner's notes")
    worker = world.worker(gig, name="Bob", email="bob@example.com")
    wallet = wallet_of(worker)
    assert ask(world, wallet).ok() == {"events": [], "next_cursor": None}
    proof = approved_proof(world, gig, worker)
    reject = {"action": "reject", "requeue": False, "feedback": "a private word"}
    for review in (
        {**reject, "rejection_tag": "not_selected"},
        {"action": "approve"},
        {**reject, "rejection_tag": "fake_proof"},
        # The same again is nothing new.
        {**reject, "rejection_tag": "fake_proof"},
    ):
        gig.owner.patch(f"{gig.path}/proofs/{proof}", review)
    assert story(world, wallet) == [
        ("proof.approved", None, False),
        ("proof.rejected", "not_selected", True),
        ("proof.approved", None, True),
        ("proof.rejected", "fake_proof", True),
    ]
    # What the clock approves counts as approved, for the wallet that would be paid now.
    new = "0x" + "1" * 40
    worker.patch(f"{gig.path}/mailboxes/{worker.mailbox['id']}", {"wallet_address": new})  # type: ignore[attr-defined]
    world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    worker.post(f"{gig.path}/proofs", {"task_identifier": task["id"]})
    clock.advance(172_801)
    proofs.time_out()
    assert story(world, new) == [("proof.approved", None, False)]
    assert len(story(world, wallet)) == 4

    # A stranger learns nothing of the gig but its id, and nothing of the work.
    (row,) = ask(world, new).ok()["events"]
    assert set(row) == MEMBERS and (row["role"], row["gig_id"]) == ("gigworker", gig.id)
    assert row["amount"] is row["tx_hash"] is None
    for text in (ask(world, wallet).text, ask(world, new).text):
        for hidden in ("Secret", "notes", "private", "Bob", "bob@", "MBX_", "USER_"):
            assert hidden not in text


@pytest.mark.rule("R-09")
def test_a_wallet_is_an_address_in_either_spelling_and_nothing_else(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    wallet = wallet_of(worker)
    approved_proof(world, gig, worker)
    assert wallet != wallet.lower()
    found = [ask(world, spelling).ok() for spelling in (wallet, wallet.lower())]
    assert found[0] == found[1] and len(found[0]["events"]) == 1
    for unknown in ("0x" + "0" * 40, "0x" + "1" * 40):
        assert ask(world, unknown).ok() == {"events": [], "next_cursor": None}

    def refused(bad: str) -> None:
        told = ask(world, bad).refused(400, "invalid")
        assert list(told["errors"]) == ["wallet"]

    swapped = re.sub("[a-f]", lambda found: found[0].upper(), wallet, count=1)
    if swapped == wallet:
        swapped = re.sub("[A-F]", lambda found: found[0].lower(), wallet, count=1)
    all_hold(
        [
            swapped,
            wallet[2:],
            wallet[:-1],
            f"{wallet}0",
            f"{wallet}%20",
            f"0X{wallet[2:].upper()}",
            "0x" + "g" * 40,
            "0x" + "%EF%BC%91" * 40,
            "x",
            "%F0%9F%98%80",
            "'%20OR%201=1--",
            "x" * 5000,
        ],
        refused,
    )
    assert ask(world, "%00").status == 404


@pytest.mark.rule("R-09")
@pytest.mark.rule("H-06")
def test_it_is_listed_newest_first_by_pages_that_belong_to_one_wallet(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    wallet = wallet_of(worker)
    proof = approved_proof(world, gig, worker)
    for action in ("reject", "approve", "reject"):
        gig.owner.patch(f"{gig.path}/proofs/{proof}", {"action": action, "requeue": False})
    whole = ask(world, wallet).ok()["events"]
    first = ask(world, wallet, "?limit=3").ok()
    cursor = first["next_cursor"]
    # The other spelling is the same list.
    rest = ask(world, wallet.lower(), f"?limit=3&cursor={cursor}").ok()
    assert first["events"] + rest["events"] == whole and len(whole) == 4
    assert rest["next_cursor"] is None
    told = ask(world, "0x" + "1" * 40, f"?cursor={cursor}").refused(400)
    assert list(told["errors"]) == ["cursor"]


@pytest.mark.rule("R-09")
@pytest.mark.rule("H-12")
def test_an_address_asks_sixty_times_a_minute(world: World) -> None:
    wallet: Any = "0x" + "1" * 40
    for number in range(60):
        assert ask(world, wallet if number % 2 else "bad").status in (200, 400)
    assert ask(world, wallet).refused(429, "rate_limited")["limit"] == "address"
    clock.advance(60)
    ask(world, wallet).ok()
