"""Orders that another wallet pays for: what it signs, who sends it, and what is no payment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from engine import audit, development, install
from engine.chain import deploy
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deposit_terms import Terms, signature_parts
from engine.chain.keys import address_of, contract_address, new_key, sign_typed_data
from engine.chain.treasury import Treasury
from engine.db import db
from engine.models.escrow import Escrow
from engine.rules.money import UNITS_PER_DOLLAR
from tests.engine.escrow_world import treasury_call
from tests.orders.test_publish import deposits, units
from tests.shop import Shop, shop
from tests.world import Answer, Person, World, at_once, eventually


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    yield paying_world
    assert audit.run().faults == []


@pytest.fixture
def place(world: World) -> Shop:
    return shop(world, "0.50")


@dataclass
class Cold:
    """A wallet whose key the install never sees; it has USDC and, if asked for, gas."""

    world: World
    key: str

    @classmethod
    def of(cls, world: World, dollars: int, wei: int = 0) -> Cold:
        made = cls(world, new_key()[0])
        if dollars or wei:
            development.faucet(made.address, dollars * UNITS_PER_DOLLAR, wei)
        return made

    @property
    def address(self) -> str:
        return address_of(self.key)

    @property
    def units(self) -> int:
        return self.world.usdc_units(self.address)

    def sign(self, quote: Any) -> dict[str, Any]:
        return {"signature": sign_typed_data(self.key, _whole(quote["typed_data"]))}

    def cancel(self, quote: Any) -> None:
        """The token takes no authorization of this quote any more (EIP-3009)."""
        typed = _whole(quote["typed_data"])
        domain = {name: kind for name, kind in typed["types"].items() if name == "EIP712Domain"}
        cancels = [("authorizer", "address"), ("nonce", "bytes32")]
        types = {"CancelAuthorization": [{"name": name, "type": kind} for name, kind in cancels]}
        said = {"authorizer": self.address, "nonce": quote["deposit_id"]}
        whole = {**typed, "primaryType": "CancelAuthorization", "message": said}
        signature = sign_typed_data(self.key, {**whole, "types": {**domain, **types}})
        v, r, s = signature_parts(signature)
        nonce = bytes.fromhex(quote["deposit_id"][2:])
        data = artifact("MockUSDC").encode("cancelAuthorization", (self.address, nonce, v, r, s))
        self.send(Call(install.treasury().usdc_address, data))

    def send(self, *calls: Call) -> list[str]:
        """Its own transactions, which Muster knows nothing of; answers their hashes."""
        assert self.world.chain is not None
        chain = Chain(self.world.chain.rpc_url)
        receipts = deploy.send_and_wait(chain, self.key, list(calls), gas=500_000)
        return [one.tx_hash for one in receipts]


def _whole(value: Any) -> Any:
    """As a wallet reads it: whole numbers, and no decimals."""
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, Decimal) else value


def ask(place: Shop, buyer: Person, task_id: str, wallet: Cold, amount: Any = "0.50") -> Answer:
    body = {"amount": amount, "wallet_address": wallet.address}
    return buyer.call("POST", f"{place.path}/tasks/{task_id}/publish/quote", body)


def publish(place: Shop, buyer: Person, task_id: str, **body: Any) -> Answer:
    return buyer.call("POST", f"{place.path}/tasks/{task_id}/publish", body)


def terms_of(quote: Any, gig_id: str) -> Terms:
    given = quote["terms"]
    return Terms(
        given["depositor"],
        given["payee"],
        gig_id,
        int(given["amount"]),
        int(given["fee_bps"]),
        given["reclaimer"],
        given["salt"],
    )


@pytest.mark.rule("O-10")
@pytest.mark.rule("O-11")
def test_a_wallet_elsewhere_signs_a_quote_and_the_operator_sends_it(place: Shop) -> None:
    world, buyer = place.world, place.buyer()
    wallet = Cold.of(world, 10)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet, "0.60").ok()
    assert quote["split"] == {
        "deposit": Decimal("0.6"),
        "vendor": Decimal("0.54"),
        "fee": Decimal("0.054"),
        "residue": Decimal("0.006"),
        "tip": Decimal("0.1"),
        "fee_bps": 1000,
    }
    (mailbox,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    assert quote["terms"]["payee"] == mailbox["wallet_address"]
    # The terms are stored before anybody signs them, and asked again they are the same.
    assert deposits(task_id) == ["planned"]
    assert ask(place, buyer, task_id, wallet, "0.60").ok() == quote
    message = quote["typed_data"]["message"]
    assert message["nonce"] == quote["deposit_id"] and message["value"] == 600_000
    # Nothing was paid for yet, as far as anybody is told.
    assert place.task(buyer, task_id)["funded_total"] is None
    sent = publish(place, buyer, task_id, authorization=wallet.sign(quote)).ok()
    assert sent["deposit_id"] == quote["deposit_id"] and sent["tip"] == Decimal("0.1")
    assert wallet.units == 9_400_000 and deposits(task_id) == ["open"]
    assert place.task(buyer, task_id)["status"] == "claimed"
    # What is undone goes back to whoever has paid it.
    place.withdraw(buyer, task_id).ok()
    assert wallet.units == 10_000_000


@pytest.mark.rule("O-10")
def test_a_signature_is_good_for_what_was_signed_by_whom_it_names_and_in_time(
    place: Shop,
) -> None:
    world, buyer = place.world, place.buyer()
    wallet, thief = Cold.of(world, 10), Cold.of(world, 10)
    task_id = place.draft(buyer)
    signature = {"signature": "0x" + "11" * 65}
    publish(place, buyer, task_id, authorization=signature).refused(409, "no_quote")
    first = ask(place, buyer, task_id, wallet).ok()
    for wrong in (
        signature,
        {"signature": "0x" + "11" * 64 + "1b"},
        {"signature": "what"},
        thief.sign(first),
    ):
        told = publish(place, buyer, task_id, authorization=wrong).refused(400, "invalid")
        assert "authorization" in told["errors"]
    told = publish(place, buyer, task_id, amount="0.60", authorization=wallet.sign(first))
    assert "amount" in told.refused(400, "invalid")["errors"]
    # Other terms take the place of those that nobody has published.
    second = ask(place, buyer, task_id, wallet, "0.70").ok()
    assert second["deposit_id"] != first["deposit_id"]
    publish(place, buyer, task_id, authorization=wallet.sign(first)).refused(400, "invalid")
    # Signed for another order, it is worth nothing here.
    other_id = place.draft(buyer)
    other = ask(place, buyer, other_id, wallet).ok()
    publish(place, buyer, task_id, authorization=wallet.sign(other)).refused(400, "invalid")
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()
    late = publish(place, buyer, task_id, authorization=wallet.sign(second))
    late.refused(409, "quote_expired")
    assert wallet.units == 10_000_000 and thief.units == 10_000_000
    assert deposits(task_id) == ["abandoned", "planned"]


@pytest.mark.rule("O-10")
def test_a_rate_that_moved_makes_a_quote_worthless_and_says_so(place: Shop) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    treasury_call(place.world, "setFeeBps", 900)
    told = publish(place, buyer, task_id, authorization=wallet.sign(quote))
    assert told.refused(409, "fee_moved")["fee_bps"] == 900
    assert wallet.units == 10_000_000
    treasury_call(place.world, "setFeeBps", 1000)
    sent = publish(place, buyer, task_id, authorization=wallet.sign(quote)).ok()
    assert sent["deposit_id"] == quote["deposit_id"]


@pytest.mark.rule("O-10")
@pytest.mark.rule("O-02")
@pytest.mark.parametrize("others", [False, True], ids=["same", "others"])
def test_a_signature_that_could_not_be_used_bars_nothing_and_is_good_until_others_take_over(
    place: Shop, others: bool
) -> None:
    world, buyer = place.world, place.buyer(dollars=10)
    wallet = Cold.of(world, 0)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    signed = wallet.sign(quote)
    told = publish(place, buyer, task_id, authorization=signed).refused(402, "insufficient_funds")
    assert told["short"] == ["usdc"] and told["draft_kept"] is True
    assert place.task(buyer, task_id)["status"] == "draft"
    development.faucet(wallet.address, 500_000, 10**18)
    if not others:
        assert publish(place, buyer, task_id, authorization=signed).ok()["published"] is True
        assert wallet.units == 0 and deposits(task_id) == ["open"]
        return
    place.publish(buyer, task_id, amount="0.50").ok()
    # He can still send it himself. Nobody is paid with that, and it goes back.
    treasury, terms = install.treasury(), terms_of(quote, place.gig.id)
    wallet.send(treasury.approve(10**12), treasury.deposit_for(terms))
    eventually(lambda: deposits(task_id) == ["refunded", "open"])
    assert wallet.units == 500_000


@pytest.mark.rule("O-10")
@pytest.mark.rule("O-02")
@pytest.mark.parametrize("signs", [False, True], ids=["deposits", "relays"])
def test_a_depositor_who_sends_it_himself_has_paid_and_publishing_finishes(
    place: Shop, signs: bool
) -> None:
    world, buyer = place.world, place.buyer()
    wallet = Cold.of(world, 10, wei=10**18)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    treasury, terms = install.treasury(), terms_of(quote, place.gig.id)
    if signs:
        message = quote["typed_data"]["message"]
        times = (int(message["validAfter"]), int(message["validBefore"]))
        signature = wallet.sign(quote)["signature"]
        wallet.send(treasury.deposit_with_authorization(terms, *times, signature))
    else:
        wallet.send(treasury.approve(10**12), treasury.deposit_for(terms))
    eventually(lambda: deposits(task_id) == ["open"])
    read = place.task(buyer, task_id)
    assert (read["status"], read["funded_total"]) == ("draft", Decimal("0.5"))
    (row,) = buyer.get("/orders")["orders"]
    assert (row["state"], row["deposit_id"]) == ("open", quote["deposit_id"])
    told = publish(place, buyer, task_id, amount="0.60").refused(409, "deposit_unreconciled")
    assert told["funded"] is True
    sent = publish(place, buyer, task_id).ok()
    assert sent["deposit_id"] == quote["deposit_id"]
    assert wallet.units == 9_500_000 and deposits(task_id) == ["open"]


@pytest.mark.rule("O-10")
def test_a_quote_that_was_replaced_and_is_sent_all_the_same_goes_back(place: Shop) -> None:
    world, buyer = place.world, place.buyer(dollars=10)
    wallet = Cold.of(world, 10, wei=10**18)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    place.publish(buyer, task_id, amount="0.50").ok()
    treasury = install.treasury()
    terms = terms_of(quote, place.gig.id)
    wallet.send(treasury.approve(10**12), treasury.deposit_for(terms))
    eventually(lambda: deposits(task_id) == ["refunded", "open"])
    assert wallet.units == 10_000_000 and units(buyer) == 9_500_000
    assert place.task(buyer, task_id)["status"] == "claimed"


@pytest.mark.rule("O-10")
def test_the_operator_pays_gas_for_so_many_a_day(
    place: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer = place.buyer(dollars=10)
    hot = buyer.wallet_id  # type: ignore[attr-defined]
    wallet = Cold.of(place.world, 10)
    _no_gas(buyer)
    settings = replace(install.current().settings, SPONSOR_GAS=True, SPONSOR_GAS_DAILY=2)
    # The buyer pays his own gas unless the install says otherwise.
    task_id = place.draft(buyer)
    told = publish(place, buyer, task_id, amount="0.50", wallet_alias_id=hot)
    assert told.refused(402, "insufficient_funds")["short"] == ["gas"]
    monkeypatch.setattr(install.current(), "settings", settings)
    assert publish(place, buyer, task_id, amount="0.50", wallet_alias_id=hot).ok()["published"]
    assert units(buyer) == 9_500_000
    # The same number holds for what he has signed elsewhere.
    second, third = place.draft(buyer), place.draft(buyer)
    signed = wallet.sign(ask(place, buyer, second, wallet).ok())
    publish(place, buyer, second, authorization=signed).ok()
    signed = wallet.sign(ask(place, buyer, third, wallet).ok())
    told = publish(place, buyer, third, authorization=signed).refused(429, "rate_limited")
    assert told["retry_after"] > 0 and place.task(buyer, third)["status"] == "draft"
    told = publish(place, buyer, third, amount="0.50", wallet_alias_id=hot)
    assert told.refused(402, "insufficient_funds")["short"] == ["gas"]


def _no_gas(buyer: Person) -> None:
    for one in buyer.get("/wallets")["wallets"]:
        install.treasury().chain.request("anvil_setBalance", one["evm_address"], "0x0")


@pytest.mark.case("F23")
@pytest.mark.rule("O-10")
@pytest.mark.rule("O-02")
def test_of_one_payment_exactly_one_order_is_funded(place: Shop) -> None:
    world, buyer, other = place.world, place.buyer(), place.buyer()
    wallet = Cold.of(world, 50, wei=10**18)
    tasks = [place.draft(buyer) for _ in range(5)]
    quote = ask(place, buyer, tasks[0], wallet, 10).ok()
    treasury, terms = install.treasury(), terms_of(quote, place.gig.id)
    hashes = wallet.send(treasury.approve(10**12), treasury.deposit_for(terms))
    eventually(lambda: deposits(tasks[0]) == ["open"])
    # Its hash buys nothing, however it is spelled and whoever says it, five times at once.
    tx_hash = hashes[-1]
    for said in (tx_hash, tx_hash.upper(), f" {tx_hash} "):
        for name in ("tx_hash", "transaction_hash"):
            given = {"amount": 10, name: said}
            answers = at_once(5, lambda n: publish(place, buyer, tasks[n], **given))  # noqa: B023
            assert all(one.refused(400)["errors"][name] for one in answers)
        signed = {"authorization": {"signature": said}}
        answers = at_once(5, lambda n: publish(place, buyer, tasks[n], **signed))  # noqa: B023
        # The first is paid for anyway, and only has to be handed over.
        assert [one.status for one in answers[1:]] == [409] * 4
        assert {one.json["reason"] for one in answers[1:]} == {"no_quote"}
    eventually(lambda: place.task(buyer, tasks[0])["status"] == "claimed")
    assert [place.task(buyer, one)["status"] for one in tasks[1:]] == ["draft"] * 4

    # Another payer's deposit on these terms is refused by the contract, and funds nothing.
    thief = Cold.of(world, 20, wei=10**18)
    second = ask(place, buyer, tasks[1], wallet, 10).ok()
    theirs = terms_of(second, place.gig.id)
    thief.send(treasury.approve(10**12))
    with pytest.raises(Exception, match="Only the depositor"):
        treasury.chain.estimate_gas(thief.address, treasury.deposit_for(theirs))
    # Less than was quoted, or more, is another deposit, of no order: its vendor is told.
    unlike = [replace(theirs, units=units) for units in (9_999_999, 10_000_001)]
    wallet.send(*(treasury.deposit_for(one) for one in unlike))
    # Plain transfers are gifts; what goes into a shop's pot, or into another contract, is neither.
    wallet.send(treasury.transfer_usdc(treasury.address, 1_000_000))
    thief.send(treasury.transfer_usdc(treasury.address, 1_000_000))
    wallet.send(treasury.deposit(place.gig.id, 1_000_000))
    wrong = _another_treasury(wallet)
    wallet.send(wrong.approve(10**12), wrong.deposit_for(theirs))
    told = eventually(lambda: len(found := _unknown(place)) == 2 and found)
    assert sorted(told) == [Decimal("9.999999"), Decimal("10.000001")]
    publish(place, other, tasks[1]).refused(404)
    publish(place, buyer, tasks[1]).refused(400, "amount_required")
    assert deposits(tasks[1]) == ["planned"]
    assert place.task(buyer, tasks[1])["status"] == "draft"
    rows = buyer.get("/orders")["orders"]
    assert [(row["task_id"], row["state"]) for row in rows] == [(tasks[0], "open")]
    with db.reading():
        assert Escrow.select().where(Escrow.status == "open").count() == 1


def _another_treasury(wallet: Cold) -> Treasury:
    """The same contract at another address, which is not this install's."""
    assert wallet.world.chain is not None
    chain = Chain(wallet.world.chain.rpc_url)
    usdc = install.treasury().usdc_address
    data = artifact("Treasury").creation([usdc, wallet.address, 1000, *[wallet.address] * 3])
    deploy.send_and_wait(chain, wallet.key, [Call(None, data)], gas=6_000_000)
    address = contract_address(wallet.address, chain.nonce(wallet.address) - 1)
    assert chain.code(address)
    return Treasury(chain, address, usdc)


def _unknown(place: Shop) -> list[Decimal]:
    """What was deposited for the shop that no order of it knows of, as its vendor is told."""
    events = place.vendor.get(f"{place.path}/events?limit=200")["events"]
    return [one["data"]["amount"] for one in events if one["type"] == "deposit.unknown"]


def test_nobody_but_its_buyer_is_quoted_an_order(place: Shop) -> None:
    buyer, other = place.buyer(), place.buyer()
    wallet = Cold.of(place.world, 1)
    task_id = place.draft(buyer)
    ask(place, other, task_id, wallet).refused(404, "not_found")
    ask(place, place.vendor, task_id, wallet).refused(403, "not_permitted")
    ask(place, buyer, task_id, wallet, "0.49").refused(400, "below_list_price")
    body = {"amount": "0.50", "wallet_address": install.treasury().address}
    path = f"{place.path}/tasks/{task_id}/publish/quote"
    assert "wallet_address" in buyer.call("POST", path, body).refused(400)["errors"]
    free = shop(place.world)
    body = {"amount": "0", "wallet_address": wallet.address}
    member = free.buyer()
    path = f"{free.path}/tasks/{free.draft(member)}/publish/quote"
    member.call("POST", path, body).refused(409, "free_order")


def twin(signature: str) -> str:
    """The other form of the same signature, which the token refuses: (r, n - s), v flipped."""
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    given = bytes.fromhex(signature[2:])
    s = order - int.from_bytes(given[32:64], "big")
    return "0x" + given[:32].hex() + s.to_bytes(32, "big").hex() + f"{27 + 28 - given[64]:02x}"


@pytest.mark.rule("O-10")
def test_the_twin_of_a_signature_is_refused_and_spoils_nothing(place: Shop) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    good = wallet.sign(quote)
    bad = {"signature": twin(good["signature"])}
    publish(place, buyer, task_id, authorization=bad).refused(400, "invalid")
    publish(place, buyer, task_id, authorization=good).ok()
    assert wallet.units == 9_500_000


@pytest.mark.rule("O-10")
def test_after_a_change_of_the_fee_another_quote_is_at_the_new_one(place: Shop) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet, "1").ok()
    treasury_call(place.world, "setFeeBps", 2000)
    told = publish(place, buyer, task_id, authorization=wallet.sign(quote)).refused(
        409, "fee_moved"
    )
    assert "quote" in told["error"]
    again = ask(place, buyer, task_id, wallet, "1").ok()
    assert again["split"]["fee_bps"] == 2000 and again["deposit_id"] != quote["deposit_id"]
    publish(place, buyer, task_id, authorization=wallet.sign(again)).ok()
    assert wallet.units == 9_000_000
