"""Settlement, deposits and the books, on a real chain and both databases."""

from __future__ import annotations

from typing import Any

import pytest

from engine import audit, commands, ledger, payout_batches, payouts, reconcile, settlement
from engine.chain import repair, sender
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deploy import send_and_wait
from engine.chain.errors import CallReverted, ChainUnavailable
from engine.chain.treasury import Treasury
from engine.db import db
from engine.models.command import Command
from engine.models.ledger import LedgerTransaction
from engine.models.meta import Meta
from tests.world import Gig, World, approved_proof, at_once, eventually


def _token(world: World, function: str, *values: object) -> None:
    """A function of the test token that only its owner may call."""
    assert world.chain is not None
    call = Call(world.chain.usdc_address, artifact("MockUSDC").encode(function, values))
    send_and_wait(Chain(world.chain.rpc_url), world.chain.minter_key, [call])


def _settle(gig: Gig) -> Any:
    return gig.owner.post(f"{gig.path}/rollups")


def _fine() -> None:
    report = audit.run()
    assert report.faults == []
    assert report.deposits_units == (
        report.paid_units + report.fees_units + report.refunded_units + report.held_units
    )


@pytest.fixture
def gig(paying_world: World) -> Gig:
    made = paying_world.gig(price="2.50")
    paying_world.fund(made, "20")
    return made


@pytest.mark.rule("Y-02")
def test_a_pot_that_cannot_cover_all_and_the_fee_pays_nobody(paying_world: World) -> None:
    gig = paying_world.gig(price="2.50")
    worker = paying_world.worker(gig)
    # $2.50 and 10 % on top are $2.75.
    paying_world.fund(gig, "2.74")
    proof_id = approved_proof(paying_world, gig, worker)
    refusal = gig.owner.call("POST", f"{gig.path}/rollups").refused(400, "pot_short")
    assert str(refusal["available_funds"]) == "2.74"
    assert str(refusal["needed"]) == "2.75"
    paying_world.fund(gig, "0.01")
    (rollup,) = _settle(gig)["rollups"]
    assert rollup["paid_proof_ids"] == [proof_id]
    _fine()


@pytest.mark.rule("Y-02")
def test_one_payout_carries_all_proofs_of_a_worker_and_small_sums_wait(
    paying_world: World, gig: Gig
) -> None:
    gig.owner.patch(gig.path, {"min_payout": "4"})
    many, one = paying_world.worker(gig), paying_world.worker(gig)
    proofs = sorted(approved_proof(paying_world, gig, many) for _ in range(3))
    approved_proof(paying_world, gig, one)
    settled = _settle(gig)
    (rollup,) = settled["rollups"]
    assert sorted(rollup["paid_proof_ids"]) == proofs
    assert str(rollup["gross_amount"]) == "7.5"
    (skipped,) = settled["skipped_below_minimum"]
    assert skipped["mailbox_id"] == one.mailbox["id"]
    assert str(skipped["amount"]) == "2.5"
    assert _settle(gig)["rollups"] == []
    _fine()


@pytest.mark.rule("Y-04")
@pytest.mark.case("F25")
def test_a_recipient_who_cannot_be_paid_holds_up_nobody_and_stays_owed(
    paying_world: World, gig: Gig
) -> None:
    workers = [paying_world.worker(gig) for _ in range(3)]
    for worker in workers:
        approved_proof(paying_world, gig, worker)
    bad = workers[1].mailbox["wallet_address"]
    _token(paying_world, "blacklist", bad)
    rollups = {one["wallet_address"]: one for one in _settle(gig)["rollups"]}
    assert rollups[bad]["status"] == "failed"
    assert "blacklisted" in rollups[bad]["failure"]
    assert [one["status"] for address, one in rollups.items() if address != bad] == ["paid"] * 2
    _fine()

    _token(paying_world, "unBlacklist", bad)
    again = _settle(gig)
    assert again["retried_stuck"] == 1
    assert [one["status"] for one in again["rollups"]] == ["paid"]
    assert paying_world.usdc_units(bad) == 2_500_000
    _fine()


@pytest.mark.rule("Y-03")
def test_ten_settlements_at_once_pay_each_proof_once(paying_world: World, gig: Gig) -> None:
    workers = [paying_world.worker(gig) for _ in range(4)]
    for worker in workers:
        approved_proof(paying_world, gig, worker)
    answers = at_once(10, lambda _: gig.owner.call("POST", f"{gig.path}/rollups"))
    assert {answer.status for answer in answers} == {200}
    told = [one for answer in answers for one in answer.json["rollups"]]
    assert len({one["id"] for one in told}) == 4
    # Nobody was answered while it was under way; who came later was told of the same ones.
    assert {one["status"] for one in told} == {"paid"}
    for worker in workers:
        assert paying_world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000
    _fine()


@pytest.mark.rule("Y-03")
def test_a_refusal_here_does_not_fail_what_another_process_has_sent(
    paying_world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate is refused because the other one's transaction came first."""
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    real, met = payout_batches._send_call, []

    def late(treasury: Any, rollups: Any) -> None:
        real(treasury, rollups)
        if not met:
            met.append(rollups[0].id)
            raise CallReverted("The day's cap is used up.")

    monkeypatch.setattr(payout_batches, "_send_call", late)
    monkeypatch.setattr(Treasury, "payout_spent", lambda *_: False)
    (rollup,) = _settle(gig)["rollups"]
    assert (rollup["id"], rollup["status"]) == (met[0], "paid")
    assert rollup["settled_by_reconciliation"] is False
    kinds = [row["type"] for row in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]
    assert "payout.failed" not in kinds
    assert paying_world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000
    _fine()


@pytest.mark.rule("Y-02")
def test_a_payout_that_we_had_given_up_is_marked_once_the_chain_tells_of_it(
    paying_world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    real, met = payout_batches._send_call, []

    def given_up(treasury: Any, rollups: Any) -> None:
        real(treasury, rollups)
        if not met:
            met.append(rollups[0].id)
            db.write(lambda: payouts._fail(rollups[0].id, "Nothing was heard of it."))

    monkeypatch.setattr(payout_batches, "_send_call", given_up)
    _settle(gig)

    def paid() -> Any:
        (rollup,) = gig.owner.get(f"{gig.path}/rollups")["rollups"]
        return rollup if rollup["status"] == "paid" else None

    assert eventually(paid)["settled_by_reconciliation"] is True
    assert paying_world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000
    _fine()


@pytest.mark.rule("Y-03")
def test_a_transaction_that_was_stored_and_never_sent_is_sent_later(
    paying_world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the commit and the broadcast; and the answer lost after it."""
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    real, calls = Chain.broadcast, []

    def lost(chain: Chain, raw_hex: str) -> Any:
        calls.append(raw_hex)
        if len(calls) == 1:
            raise ChainUnavailable("never left")
        if len(calls) == 2:
            real(chain, raw_hex)
            raise ChainUnavailable("the answer was lost")
        return real(chain, raw_hex)

    monkeypatch.setattr(Chain, "broadcast", lost)
    monkeypatch.setattr(repair, "RESEND_MS", 200)
    (rollup,) = _settle(gig)["rollups"]
    assert rollup["status"] == "paid"
    assert len(set(calls)) == 1, "the same bytes each time"
    assert paying_world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000
    _fine()


@pytest.mark.rule("Y-03")
@pytest.mark.case("F27")
def test_a_payout_that_was_mined_but_reverted_is_owed_and_paid_later(
    paying_world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    real = Chain.sign

    def starved(chain: Chain, key: str, transaction: Any) -> Any:
        # Enough to be mined, too little to be carried out.
        return real(chain, key, transaction.__class__(**{**vars(transaction), "gas": 60_000}))

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "sign", starved)
        (rollup,) = _settle(gig)["rollups"]
    assert (rollup["status"], rollup["paid_at"]) == ("failed", None)
    assert rollup["failure"]
    kinds = [row["type"] for row in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]
    assert "payout.paid" not in kinds
    assert "payout.failed" in kinds
    _fine()
    (again,) = _settle(gig)["rollups"]
    assert again["status"] == "paid"
    assert paying_world.usdc_units(worker.mailbox["wallet_address"]) == 2_500_000
    _fine()


@pytest.mark.rule("G-06")
@pytest.mark.rule("H-05")
def test_a_wallet_that_is_short_is_told_of_what(paying_world: World) -> None:
    gig = paying_world.gig()
    wallet = gig.owner.post("/wallets", {})["wallet"]
    body = {"wallet_alias_id": wallet["id"], "amount": "5"}
    refusal = gig.owner.call("POST", f"{gig.path}/deposit", body).refused(402, "insufficient_funds")
    assert refusal["short"] == ["usdc", "gas"]
    assert sender.find(f"deposit:{gig.id}") is None


@pytest.mark.rule("G-06")
@pytest.mark.parametrize("amount", ["0", "0.001", "1.005"])
def test_a_deposit_is_whole_cents_and_more_than_nothing(paying_world: World, amount: str) -> None:
    gig = paying_world.gig()
    wallet = gig.owner.post("/wallets", {})["wallet"]
    body = {"wallet_alias_id": wallet["id"], "amount": amount}
    refusal = gig.owner.call("POST", f"{gig.path}/deposit", body).refused(400)
    assert "amount" in refusal["errors"]


@pytest.mark.rule("G-06")
def test_somebody_elses_wallet_pays_nothing(paying_world: World) -> None:
    gig = paying_world.gig()
    wallet_id = paying_world.funded_wallet(paying_world.person())
    body = {"wallet_alias_id": wallet_id, "amount": "5"}
    gig.owner.call("POST", f"{gig.path}/deposit", body).refused(404, "not_found")


@pytest.mark.rule("H-08")
def test_who_does_not_wait_gets_a_command_to_ask_after(paying_world: World, gig: Gig) -> None:
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    answer = gig.owner.call("POST", f"{gig.path}/rollups", headers={"prefer": "wait=0"})
    assert answer.status == 202
    path = answer.headers["location"].removeprefix("/api")

    def finished() -> Any:
        state = gig.owner.get(path)
        return state if state["status"] == "done" else None

    state = eventually(finished)
    assert state["command_id"] == answer.json["command_id"]
    assert len(state["result"]["rollup_ids"]) == 1
    worker.call("GET", path).refused(404)


@pytest.mark.rule("Y-08")
def test_the_daily_settlement_pays_every_gig_that_owes(paying_world: World, gig: Gig) -> None:
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    assert settlement.request_all() == 1
    address = worker.mailbox["wallet_address"]
    eventually(lambda: paying_world.usdc_units(address) == 2_500_000)
    eventually(lambda: gig.owner.get(f"{gig.path}/rollups")["rollups"][0]["status"] == "paid")
    assert settlement.request_all() == 0
    _fine()


@pytest.mark.rule("Y-05")
def test_readers_of_the_chain_at_once_book_each_event_once(paying_world: World, gig: Gig) -> None:
    for worker in [paying_world.worker(gig) for _ in range(3)]:
        approved_proof(paying_world, gig, worker)
    _settle(gig)
    with db.reading():
        booked = LedgerTransaction.select().count()
    # As if nothing had been read yet: the cursor goes back, the books stay.
    db.write(lambda: Meta.put(reconcile.CURSOR_KEY, "-1"))
    at_once(6, lambda _: reconcile.run())
    with db.reading():
        assert LedgerTransaction.select().count() == booked
    _fine()


@pytest.mark.rule("Y-05")
def test_a_gift_to_the_contract_is_seen_and_belongs_to_nobody(
    paying_world: World, gig: Gig
) -> None:
    assert paying_world.chain is not None
    _token(paying_world, "mint", paying_world.chain.treasury_address, 1_230_000)
    report = audit.run()
    while report.unsolicited_units != 1_230_000:
        report = audit.run()
    assert report.faults == []
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 20


@pytest.mark.rule("Y-05")
def test_an_unbalanced_transaction_is_never_written(world: World) -> None:
    fact = ledger.Fact("log:x:1", "Test", 1, "0x")
    with pytest.raises(ValueError, match="unbalanced"):
        db.write(lambda: ledger.book(fact, [ledger.Line("pot", "0x", 1)]))


@pytest.mark.rule("H-08")
def test_a_command_that_fails_in_us_is_tried_again_and_ends_some_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def broken(command: Command) -> commands.Outcome:
        tries.append(command.attempts)
        raise ZeroDivisionError("a secret")

    monkeypatch.setitem(commands._handlers, "test.broken", broken)

    def record() -> str:
        return commands.record("test.broken", {}, account_id=None, gig_id=None).id

    command_id = db.write(record)
    for _ in range(commands.MOST_FAILURES + 3):
        db.write(lambda: Command.update(run_after=0).execute())
        commands.run(command_id)
        # Whoever asks why it takes so long reads what kind of fault it is.
        met = commands.peek(command_id).error
        assert met["code"] == "internal" and "ZeroDivisionError" in met["message"]
        assert "a secret" not in met["message"]
    with db.reading():
        row = Command.get(Command.id == command_id)
    assert row.status == "failed"
    assert row.error["code"] == "internal"
    assert tries == list(range(1, commands.MOST_FAILURES + 1))


@pytest.mark.rule("H-08")
def test_a_command_tells_what_it_met_while_it_waits_and_forgets_it_once_it_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[Exception] = [KeyError("a secret"), ChainUnavailable("http://node/a-secret")]

    def step(command: Command) -> commands.Outcome:
        if faults:
            raise faults.pop(0)
        return commands.Done({"all": "well"})

    monkeypatch.setitem(commands._handlers, "test.faulty", step)
    person = world.person()
    command_id = db.write(
        lambda: commands.record("test.faulty", {}, account_id=person.id, gig_id=None).id
    )

    def state() -> Any:
        db.write(lambda: Command.update(run_after=0).execute())
        commands.run(command_id)
        return person.get(f"/commands/{command_id}")

    for reason, kind in (("internal", "KeyError"), ("chain_unavailable", "ChainUnavailable")):
        told = state()
        assert (told["status"], told["error"]["reason"]) == ("waiting", reason)
        assert kind in told["error"]["error"] and "secret" not in told["error"]["error"]
    done = state()
    assert (done["status"], done["error"], done["result"]) == ("done", None, {"all": "well"})


@pytest.mark.rule("H-08")
def test_of_many_who_run_a_command_at_once_one_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def count(command: Command) -> commands.Outcome:
        ran.append(command.id)
        return commands.Done({})

    monkeypatch.setitem(commands._handlers, "test.count", count)
    command_id = db.write(
        lambda: commands.record("test.count", {}, account_id=None, gig_id=None).id
    )
    at_once(12, lambda _: commands.run(command_id))
    assert ran == [command_id]


def test_the_wallet_key_is_never_shown() -> None:
    assert "0xsecret" not in repr(sender.Key("0xaddress", "0xsecret"))
