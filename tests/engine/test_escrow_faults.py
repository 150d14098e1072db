"""A deposit is made once, wherever whoever makes it dies (Y-07, Y-03)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import (
    commands,
    escrow_funding,
    escrow_refunds,
    escrows,
    install,
    signers,
    task_escrow,
)
from engine.chain import repair, sender
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deploy import send_and_wait
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import Settlement
from engine.db import db
from engine.ids import new_id
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.task import Task
from tests.engine.escrow_world import (
    approve,
    ended,
    escrow_gig,
    escrows_of,
    events_of,
    fine,
    gig,
    prove,
    take,
    token,
    treasury_call,
    units,
    world,
)
from tests.world import Gig, World, eventually

__all__ = ["gig", "world"]

DOLLAR = 1_000_000

# Where it dies: the module, its function, and whether before or after that has done its work.
DEATHS = [
    (task_escrow, "_plan", "before"),
    (task_escrow, "_plan", "after"),
    (escrow_funding, "_send", "before"),
    (escrow_funding, "_allowed", "after"),
    (escrow_funding, "store", "before"),
    (escrow_funding, "store", "after"),
    (Chain, "broadcast", "before"),
    (Chain, "broadcast", "after"),
    (escrow_funding, "_send", "after"),
    (commands, "_finish", "before"),
]


def dies_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str) -> list[str]:
    real, died = getattr(owner, name), []

    def fn(*args: Any, **more: Any) -> Any:
        if when == "before" and not died:
            died.append(name)
            raise RuntimeError("killed here")
        answer = real(*args, **more)
        if not died:
            died.append(name)
            raise RuntimeError("killed here")
        return answer

    monkeypatch.setattr(owner, name, fn)
    return died


@pytest.mark.rule("Y-07")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize(("owner", "name", "when"), DEATHS, ids=lambda value: str(value)[:30])
def test_whoever_dies_while_funding_leaves_one_deposit_on_the_terms_that_were_stored(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    monkeypatch.setattr(commands, "LEASE_MS", 500)
    monkeypatch.setattr(repair, "RESEND_MS", 200)
    died = dies_once(monkeypatch, owner, name, when)
    answer = world.send(gig, "x", external_id="a").ok()
    assert died == [name]
    (escrow,) = ended(gig, "open")
    assert (escrow.attempt, escrow.id) == (1, answer["deposit_id"])
    assert units(gig, world) == 100 * DOLLAR - 2_750_000
    assert install.treasury().deposit_id(escrows.terms_of(escrow)) == escrow.id
    assert events_of(gig).count("task.submitted") == 1


@pytest.mark.rule("Y-07")
def test_the_terms_are_stored_before_anything_is_signed(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = Chain.sign, []

    def sign(chain: Chain, key: str, transaction: Any) -> Any:
        with db.reading():
            seen.append([one.status for one in Escrow.select()])
        return real(chain, key, transaction)

    monkeypatch.setattr(Chain, "sign", sign)
    world.send(gig, "x").ok()
    assert seen and all(one == ["planned"] for one in seen)


@pytest.mark.rule("Y-07")
def test_an_id_follows_from_the_secret_the_task_and_the_attempt(world: World) -> None:
    first = escrows.salt("TASK_1", 1)
    assert first == escrows.salt("TASK_1", 1)
    assert len({first, escrows.salt("TASK_1", 2), escrows.salt("TASK_2", 1)}) == 3
    assert len(bytes.fromhex(first.removeprefix("0x"))) == 32


def _open(world: World, gig: Gig, **query: Any) -> Escrow:
    world.send(gig, "x", **query).ok()
    return escrows_of(gig)[-1]


def _refund(escrow: Escrow) -> Any:
    return db.write(lambda: escrow_refunds.request(escrow, "test"))


@pytest.mark.rule("Y-07")
def test_a_deposit_goes_back_once_and_never_while_its_task_is_in_hand(
    world: World,
    gig: Gig,
) -> None:
    worker = world.worker(gig)
    held, free = _open(world, gig), _open(world, gig)
    task = take(gig, worker)
    assert task["deposit_id"] == held.id
    assert _refund(held) is None
    prove(gig, worker, task["id"])
    assert _refund(held) is None
    closed = db.write(lambda: task_escrow.close([_task(free)], "test"))
    assert len(closed) == 1
    assert _refund(free) is None
    ended(gig, "open", "refunded")
    assert units(gig, world) == 100 * DOLLAR - 2_750_000
    read = gig.owner.get(f"{gig.path}/tasks/{closed[0]}")["task"]
    assert (read["status"], read["escrow_funded"]) == ("cancelled", False)


def _task(escrow: Escrow) -> Task:
    with db.reading():
        return Task.get(Task.id == escrow.task_id)


@pytest.mark.rule("Y-07")
@pytest.mark.rule("R-04")
def test_a_deposit_goes_back_once_the_rejection_of_its_task_is_final(
    world: World, gig: Gig
) -> None:
    worker = world.worker(gig)
    escrow = _open(world, gig)
    proof_id = prove(gig, worker, take(gig, worker)["id"])
    no = {"action": "reject", "requeue": False}
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", no)
    assert escrows_of(gig)[0].status == "open"
    closed = db.write(lambda: task_escrow.release_rejected([escrow.task_id], "test"))
    assert closed == [escrow.task_id]
    ended(gig, "refunded")
    assert units(gig, world) == 100 * DOLLAR


@pytest.mark.rule("Y-07")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_refund_that_dies_around_its_signature_is_made_once(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    escrow = _open(world, gig)
    died = dies_once(monkeypatch, escrow_refunds, "_send", when)
    db.write(lambda: task_escrow.close([_task(escrow)], "test"))
    ended(gig, "refunded")
    assert died == ["_send"]
    assert units(gig, world) == 100 * DOLLAR


@pytest.mark.rule("Y-07")
@pytest.mark.rule("O-09")
def test_what_the_token_refuses_to_give_back_is_kept_to_be_claimed(world: World, gig: Gig) -> None:
    escrow = _open(world, gig)
    token(world, "blacklist", gig.wallet)  # type: ignore[attr-defined]
    db.write(lambda: task_escrow.close([_task(escrow)], "test"))
    (gone,) = ended(gig, "refunded")
    assert "claimed" in str(gone.failure)
    assert install.treasury().claimable_units(gig.wallet) == 2_750_000  # type: ignore[attr-defined]
    fine()
    # Its owner fetches it, once the token allows, and only once.
    (wallet,) = gig.owner.get("/wallets")["wallets"]
    claim = f"/wallets/{wallet['id']}/claim"
    told = gig.owner.call("POST", claim).refused(502, "claim_failed")
    assert "blacklisted" in told["error"]
    token(world, "unBlacklist", gig.wallet)  # type: ignore[attr-defined]
    before = world.usdc_units(gig.wallet)  # type: ignore[attr-defined]
    assert gig.owner.post(claim)["tx_hash"].startswith("0x")
    assert world.usdc_units(gig.wallet) == before + 2_750_000  # type: ignore[attr-defined]
    gig.owner.call("POST", claim).refused(409, "nothing_to_claim")


@pytest.mark.rule("Y-07")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("first", ["settled", "refunded"])
def test_settled_and_refunded_at_once_one_wins_on_chain_and_the_books_follow(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The rows let only one of them begin; here both are signed before either is mined."""
    worker = world.worker(gig)
    escrow = _open(world, gig)
    treasury = install.treasury()
    to = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    real, signed = Chain.broadcast, []

    def kept(_: Chain, raw_hex: str) -> Any:
        signed.append(raw_hex)
        raise ChainUnavailable("not yet")

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "broadcast", kept)
        pay = treasury.settle([Settlement(new_id("ROLLUP"), escrow.id, to, 2_500_000)])
        sender.send(treasury.chain, signers.settler(), "test:settle", pay, lambda _: None)
        db.write(lambda: task_escrow.close([_task(escrow)], "test"))
        eventually(lambda: len(signed) >= 2)
        for raw_hex in signed if first == "settled" else reversed(signed):
            real(treasury.chain, raw_hex)
    ended(gig, first)
    paid, back = world.usdc_units(to), units(gig, world)
    assert (paid, back) == {
        "settled": (2_500_000, 100 * DOLLAR - 2_750_000),
        "refunded": (0, 100 * DOLLAR),
    }[first]
    with db.reading():
        refund = Command.get(Command.kind == escrow_refunds.KIND)
    assert eventually(lambda: commands.finished(refund.id))
    assert commands.result_of(refund.id)["status"] == first


@pytest.mark.rule("O-05")
@pytest.mark.rule("Y-07")
def test_a_deposit_that_leaves_without_us_is_told_and_never_paid_as_if_it_were_there(
    world: World,
    gig: Gig,
) -> None:
    worker = world.worker(gig)
    first, second = _open(world, gig), _open(world, gig)
    held = take(gig, worker)
    treasury = install.treasury()
    for number, escrow in enumerate((first, second)):
        call = treasury.refund(escrow.id)
        sender.send(treasury.chain, signers.refunder(), f"test:{number}", call, lambda _: None)
    ended(gig, "refunded", "refunded")
    assert events_of(gig).count("escrow.left") == 2
    kinds = [row["type"] for row in worker.get(f"{gig.path}/events?limit=200")["events"]]
    assert "task.escrow_left" in kinds
    # Nobody is offered what cannot be paid.
    assert worker.post(f"{gig.path}/queue/poll", {})["tasks"] == []
    assert gig.owner.get(f"{gig.path}/tasks/{second.task_id}")["task"]["status"] == "cancelled"
    read = worker.get(f"{gig.path}/tasks/{held['id']}")["task"]
    assert (read["escrow_funded"], read["escrowed_at"]) == (False, None)
    approve(gig, prove(gig, worker, held["id"]))
    assert gig.owner.post(f"{gig.path}/rollups")["rollups"] == []
    assert world.usdc_units(worker.mailbox["wallet_address"]) == 0  # type: ignore[attr-defined]


@pytest.mark.rule("O-05")
def test_a_reclaim_that_is_announced_has_what_is_approved_paid(world: World, gig: Gig) -> None:
    worker = world.worker(gig)
    escrow = _open(world, gig)
    approve(gig, prove(gig, worker, take(gig, worker)["id"]))
    treasury = install.treasury()
    treasury.chain.request("evm_increaseTime", hex(90 * 86_400 + 60))
    treasury.chain.request("evm_mine")
    data = artifact("Treasury").encode("requestReclaim", (bytes.fromhex(escrow.id[2:]),))
    key = escrow_funding.key_of(escrow).private_key
    send_and_wait(Chain(world.chain.rpc_url), key, [Call(treasury.address, data)])  # type: ignore[union-attr]
    ended(gig, "settled")
    assert world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000  # type: ignore[attr-defined]
    assert "escrow.reclaim_requested" in events_of(gig)


@pytest.mark.rule("Y-07")
def test_a_deposit_that_opens_after_it_was_given_up_goes_back(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, kept = escrow_funding._send, []

    def never(escrow: Escrow) -> None:
        kept.append(escrow)

    monkeypatch.setattr(escrow_funding, "_send", never)
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=a"
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    world.call("POST", path, raw=b"x", headers=headers)
    (old,) = eventually(lambda: kept[:1])
    # Given up, although somebody who has the key sends it after all.
    db.write(lambda: escrows.abandon(escrows.get(old.id)))
    monkeypatch.setattr(escrow_funding, "store", lambda *_: None)

    def sent() -> bool:
        real(old)
        return sender.find(f"escrow:{old.id}") is not None

    eventually(sent)
    monkeypatch.undo()
    # The command that funds the task goes on by itself, with another deposit.
    eventually(lambda: escrows_of(gig)[0].status == "refunded")
    assert {"escrow.opened_late", "escrow.refunded"} <= set(events_of(gig))
    assert world.send(gig, "x", external_id="a").ok()["deposit_id"] != old.id
    ended(gig, "refunded", "open")
    assert units(gig, world) == 100 * DOLLAR - 2_750_000


@pytest.mark.rule("Y-07")
def test_terms_that_ran_out_unsigned_are_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = escrow_gig(world, dollars=1)
    world.send(gig, "x", external_id="a").refused(402)
    assert escrow_refunds.give_up_stale() == 0
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()
    assert escrow_refunds.give_up_stale() == 1
    assert [one.status for one in escrows_of(gig)] == ["abandoned"]
    treasury_call(world, "setFeeBps", 0)
    assert world.send(gig, "x", external_id="a").refused(402)["short"] == ["usdc"]
    assert [(one.attempt, one.fee_bps) for one in escrows_of(gig)] == [(1, 1000), (2, 0)]
