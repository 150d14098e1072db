"""Cancelling a gig (G-08): nothing new, work in hand is paid, and the rest goes back once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import cancellation, commands, escrow_refunds, pot_refunds, signers
from engine.db import db
from engine.models.command import Command
from engine.models.task import Task
from tests.engine.escrow_world import (
    approve,
    ended,
    escrow_gig,
    escrows_of,
    events_of,
    fine,
    prove,
    take,
    token,
    treasury_call,
    units,
)
from tests.world import Gig, World, at_once, eventually

DOLLAR = 1_000_000
# Of the contract's roles.
REFUNDER = 1


def cancel(gig: Gig) -> Any:
    return gig.owner.post(f"{gig.path}/cancel")


def fund_from(world: World, gig: Gig, dollars: int, amount: str) -> str:
    """Fill the pot from a new wallet of the owner's; answers its address."""
    wallet_id = world.funded_wallet(gig.owner, dollars)
    gig.owner.post(f"{gig.path}/deposit", {"wallet_alias_id": wallet_id, "amount": amount})
    (wallet,) = [one for one in gig.owner.get("/wallets")["wallets"] if one["id"] == wallet_id]
    address: str = wallet["evm_address"]
    return address


@pytest.mark.rule("G-08")
def test_a_cancelled_gig_takes_and_hands_out_nothing_and_never_opens_again(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    held, _ = world.task(gig, external_id="a"), world.task(gig)
    take(gig, worker)
    answer = cancel(gig)
    assert (answer["gig"]["status"], answer["refunds"], answer["kept_funds"]) == (
        "cancelled",
        [],
        0,
    )
    assert cancel(gig) == answer
    world.send(gig).refused(409, "gig_closed")
    # What was sent before is still what it was.
    assert world.send(gig, external_id="a").ok()["message_id"] == held
    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(409, "gig_closed")
    invite = gig.owner.post(f"{gig.path}/invites", {})["invite"]["token"]
    late = {"invite": invite}
    world.person().call("POST", f"{gig.path}/mailboxes", late).refused(409, "gig_closed")
    for status in ("active", "closed"):
        gig.owner.call("PATCH", gig.path, {"status": status}).refused(409, "wrong_state")
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    with db.reading():
        found = {task.id: task.status for task in Task.select().where(Task.gig_id == gig.id)}
    assert found.pop(held) == "claimed" and list(found.values()) == ["cancelled"]
    assert events_of(gig).count("gig.cancelled") == events_of(gig).count("task.cancelled") == 1
    approve(gig, prove(gig, worker, held))


@pytest.mark.rule("G-08")
def test_a_closed_gig_can_be_cancelled_and_only_its_owner_cancels(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    worker.call("POST", f"{gig.path}/cancel").refused(403, "not_permitted")
    gig.owner.patch(gig.path, {"status": "closed"})
    assert cancel(gig)["gig"]["status"] == "cancelled"


@pytest.mark.rule("G-08")
@pytest.mark.parametrize("way", ["declined", "rejected"])
def test_what_comes_back_into_a_cancelled_gig_is_over(world: World, way: str) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    take(gig, worker)
    cancel(gig)
    if way == "declined":
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    else:
        proof_id = prove(gig, worker, task_id)
        gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "reject"})
    assert gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"] == "cancelled"
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []


@pytest.mark.rule("G-08")
def test_what_slips_in_while_a_gig_is_being_cancelled_is_swept_up(world: World) -> None:
    gig, other = world.gig(), world.gig()
    world.task(other)
    cancel(gig)

    def late() -> None:
        # As a request that had read the gig before it was cancelled.
        db.rows("UPDATE gig SET status = 'active' WHERE id = ?", (gig.id,))
        world.task(gig)
        db.rows("UPDATE gig SET status = 'cancelled' WHERE id = ?", (gig.id,))

    db.write(late)
    assert cancellation.sweep() == 1
    assert cancellation.sweep() == 0
    with db.reading():
        assert Task.get(Task.gig_id == gig.id).status == "cancelled"
    assert len(other.owner.get(f"{other.path}/queue")["tasks"]) == 1


@pytest.mark.rule("G-08")
def test_what_the_pot_does_not_owe_goes_back_to_each_funder_once(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker, second = world.worker(gig), world.worker(gig)
    first = fund_from(world, gig, 100, "30")
    other = fund_from(world, gig, 100, "10")
    for one in (worker, second):
        world.task(gig)
        take(gig, one)
    approved = prove(gig, worker, _held(gig, worker))
    approve(gig, approved)
    world.task(gig)
    answer = cancel(gig)
    # One approved and one held are kept at $2.50 and 10 % of it; three quarters were the first's.
    assert str(answer["kept_funds"]) == "5.5"
    assert [(row["funder"], str(row["amount"]), row["status"]) for row in answer["refunds"]] == [
        (first, "25.875", "paid"),
        (other, "8.625", "paid"),
    ]
    assert all(row["tx_hash"] for row in answer["refunds"])
    assert world.usdc_units(first) == 70 * DOLLAR + 25_875_000
    assert world.usdc_units(other) == 90 * DOLLAR + 8_625_000
    fine()
    again = cancel(gig)
    assert (again["refunds"], str(again["kept_funds"])) == ([], "5.5")
    # The held one is handed in, approved and paid, as ever.
    approve(gig, prove(gig, second, _held(gig, second)))
    rollups = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert [one["status"] for one in rollups] == ["paid"] * 2
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 0
    done = cancel(gig)
    assert (done["refunds"], done["kept_funds"]) == ([], 0)
    fine()


def _held(gig: Gig, worker: Any) -> str:
    with db.reading():
        task = Task.get(Task.mailbox_id == worker.mailbox["id"], Task.status == "claimed")
    return str(task.id)


@pytest.mark.rule("G-08")
def test_what_becomes_free_later_goes_back_by_the_next_call(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    funder = fund_from(world, gig, 10, "10")
    world.task(gig)
    take(gig, worker)
    assert [str(row["amount"]) for row in cancel(gig)["refunds"]] == ["7.25"]
    worker.post(f"{gig.path}/queue/{_held(gig, worker)}/decline")
    later = cancel(gig)
    assert [str(row["amount"]) for row in later["refunds"]] == ["2.75"]
    assert later["kept_funds"] == 0
    assert world.usdc_units(funder) == 10 * DOLLAR
    fine()


@pytest.mark.rule("G-08")
def test_cancelled_many_times_at_once_everything_goes_back_once(paying_world: World) -> None:
    world = paying_world
    gig = world.gig()
    funder = fund_from(world, gig, 10, "9.99")
    answers = at_once(5, lambda _: cancel(gig))
    told = {row["tx_hash"] for answer in answers for row in answer["refunds"]}
    assert len(told) == 1
    assert world.usdc_units(funder) == 10 * DOLLAR
    assert events_of(gig).count("gig.cancelled") == events_of(gig).count("pot_refund.paid") == 1
    fine()


@pytest.mark.rule("G-08")
def test_settled_and_cancelled_at_once_the_worker_is_paid_and_the_rest_goes_back(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    funder = fund_from(world, gig, 10, "10")
    world.task(gig)
    take(gig, worker)
    approve(gig, prove(gig, worker, _held(gig, worker)))
    paths = (f"{gig.path}/rollups", f"{gig.path}/cancel")
    settled, cancelled = at_once(2, lambda n: gig.owner.post(paths[n]))
    assert [one["status"] for one in settled["rollups"]] == ["paid"]
    assert [str(row["amount"]) for row in cancelled["refunds"]] == ["7.25"]
    assert world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000  # type: ignore[attr-defined]
    assert world.usdc_units(funder) == 7_250_000
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("Y-04")
def test_a_funder_whom_the_token_refuses_keeps_it_owed_and_the_others_get_theirs(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig()
    bad = fund_from(world, gig, 10, "4")
    good = fund_from(world, gig, 10, "6")
    token(world, "blacklist", bad)
    first = cancel(gig)
    rows = {row["funder"]: row for row in first["refunds"]}
    assert (rows[good]["status"], rows[bad]["status"]) == ("paid", "failed")
    assert "blacklisted" in rows[bad]["failure"] and rows[bad]["tx_hash"] is None
    assert first["kept_funds"] == 4
    assert world.usdc_units(good) == 10 * DOLLAR
    fine()
    assert cancel(gig)["refunds"][0]["status"] == "failed"
    token(world, "unBlacklist", bad)
    (row,) = cancel(gig)["refunds"]
    assert (row["funder"], row["amount"], row["status"]) == (bad, 4, "paid")
    assert world.usdc_units(bad) == 10 * DOLLAR
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("R-04")
def test_a_rejection_is_kept_aside_until_it_is_final(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    funder = fund_from(world, gig, 10, "10")
    world.task(gig)
    take(gig, worker)
    proof_id = prove(gig, worker, _held(gig, worker))
    no = {"action": "reject", "requeue": False}
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", no)
    first = cancel(gig)
    assert str(first["kept_funds"]) == "2.75"
    # A settlement closes what is rejected.
    gig.owner.post(f"{gig.path}/rollups")
    assert [str(row["amount"]) for row in cancel(gig)["refunds"]] == ["2.75"]
    assert world.usdc_units(funder) == 10 * DOLLAR
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("Y-07")
def test_deposits_of_tasks_that_nobody_holds_go_back_and_the_held_one_is_paid(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world)
    worker = world.worker(gig)
    for number in range(3):
        world.send(gig, f"{number}").ok()
    held = take(gig, worker)
    answer = cancel(gig)
    # Not before they are back; what is left is the held one's.
    assert [one.status for one in escrows_of(gig)] == ["open", "refunded", "refunded"]
    assert (answer["refunds"], str(answer["kept_funds"])) == ([], "2.75")
    assert units(gig, world) == 100 * DOLLAR - 2_750_000
    fine()
    approve(gig, prove(gig, worker, held["id"]))
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert rollup["status"] == "paid"
    ended(gig, "settled", "refunded", "refunded")
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("Y-07")
def test_a_task_that_is_being_funded_when_its_gig_is_cancelled_is_given_back(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world)
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=a"
    assert world.call("POST", path, raw=b"x", headers=headers).status == 202
    cancel(gig)

    def over() -> bool:
        with db.reading():
            task = Task.get(Task.gig_id == gig.id)
        return task.status == "cancelled" and units(gig, world) == 100 * DOLLAR

    eventually(over, 30)
    world.send(gig, "x", external_id="a").refused(409)
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("Y-07")
@pytest.mark.parametrize("signed", [0, 2])
def test_a_cancellation_is_answered_once_deposits_on_their_way_are_back(
    paying_world: World, signed: int
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=20, price="1")
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id="
    for number in range(6):
        assert world.call("POST", f"{path}{number}", raw=b"x", headers=headers).status == 202

    def on_the_way() -> bool:
        return sum(one.chain_transaction_id is not None for one in escrows_of(gig)) >= signed

    eventually(on_the_way)
    answer = cancel(gig)
    assert (answer["refunds"], answer["kept_funds"]) == ([], 0)
    assert {one.status for one in escrows_of(gig)} <= {"refunded", "abandoned"}
    assert units(gig, world) == 20 * DOLLAR
    with db.reading():
        tasks = Task.select().where(Task.gig_id == gig.id)
        assert {task.status for task in tasks} == {"cancelled"}
    # Nothing is put in afterwards.
    eventually(lambda: not commands.has_waiting())
    assert {one.status for one in escrows_of(gig)} <= {"refunded", "abandoned"}
    assert units(gig, world) == 20 * DOLLAR
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.rule("Y-04")
def test_a_deposit_that_the_chain_does_not_give_back_is_told_of_and_not_waited_for(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = paying_world
    gig = escrow_gig(world, price="1")
    for number in range(2):
        world.send(gig, f"{number}").ok()
    refunder = signers.refunder().address
    treasury_call(world, "setRole", REFUNDER, refunder, False)
    monkeypatch.setattr(escrow_refunds, "TRY_AGAIN_SECONDS", 0.2)
    for _ in range(2):
        answer = cancel(gig)
        assert (answer["refunds"], str(answer["kept_funds"])) == ([], "2.2")
    assert [one.status for one in escrows_of(gig)] == ["refunding"] * 2
    treasury_call(world, "setRole", REFUNDER, refunder, True)
    ended(gig, "refunded", "refunded")
    assert cancel(gig)["kept_funds"] == 0
    assert units(gig, world) == 100 * DOLLAR
    fine()


@pytest.mark.rule("G-08")
def test_work_in_hand_that_the_pot_never_covered_can_still_be_covered(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    world.task(gig)
    take(gig, worker)
    assert cancel(gig)["kept_funds"] == 0
    approve(gig, prove(gig, worker, _held(gig, worker)))
    gig.owner.call("POST", f"{gig.path}/rollups").refused(400, "pot_short")
    fund_from(world, gig, 10, "2.75")
    assert gig.owner.post(f"{gig.path}/rollups")["rollups"][0]["status"] == "paid"
    fine()


@pytest.mark.rule("G-08")
@pytest.mark.parametrize("where", ["_decide_at_cursor", "after _decide", "send", "after send"])
def test_a_cancellation_that_dies_anywhere_gives_everything_back_once(
    paying_world: World, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    world = paying_world
    gig = world.gig()
    funder = fund_from(world, gig, 10, "5")
    died: list[str] = []
    name = where.rpartition(" ")[2]
    owner: Any = cancellation if name.startswith("_") else pot_refunds
    real = getattr(owner, name)

    def die(*args: Any) -> Any:
        answer = real(*args) if where.startswith("after") else None
        if not died and (db.transaction is None or where.startswith("after")):
            died.append(where)
            raise RuntimeError("killed here")
        return answer if where.startswith("after") else real(*args)

    monkeypatch.setattr(owner, name, die)
    (row,) = cancel(gig)["refunds"]
    assert died == [where] and row["status"] == "paid"
    assert world.usdc_units(funder) == 10 * DOLLAR
    with db.reading():
        assert Command.get(Command.kind == cancellation.KIND).failures == 1
    fine()


@pytest.mark.rule("G-08")
@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**9), max_size=6))
def test_shares_come_to_all_that_is_free_and_nobody_gets_more_than_he_gave(
    free: int, gave: list[int]
) -> None:
    funded = {str(number): units for number, units in enumerate(gave)}
    parts = pot_refunds.shares(free, funded)
    assert sum(parts.values()) == min(free, sum(gave))
    assert all(0 < part <= funded[who] for who, part in parts.items())
    total = sum(gave)
    for who, part in parts.items():
        assert abs(part - min(free, total) * funded[who] / total) < len(gave) + 1
