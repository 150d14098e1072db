"""Wallets: proven by a signature, exclusive once proven, never seen from inside (Y-06, M-01)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from structlog.testing import capture_logs

from engine import install
from engine.chain.client import new_key
from engine.db import db
from engine.models.wallet import Wallet
from engine.rules import times
from tests.contract.scene import all_hold, everything
from tests.world import Answer, Person, World, at_once

CHALLENGE = re.compile(
    r"http://127\.0\.0\.1:8080 wants you to sign in with your Ethereum account:\n"
    r"(?P<address>0x[0-9a-fA-F]{40})\n\n"
    r"Prove that this address belongs to the account (?P<account>\S+)\. "
    r"This moves no money and costs nothing\.\n\n"
    r"URI: http://127\.0\.0\.1:8080\nVersion: 1\nChain ID: 1\nNonce: (?P<nonce>[A-Za-z0-9]{24})\n"
    r"Issued At: (?P<issued>\S+)\nExpiration Time: (?P<expires>\S+)\nRequest ID: (?P<wallet>\S+)"
)


class Outside:
    """A key that its owner keeps himself."""

    def __init__(self) -> None:
        self.key, self.address = new_key()

    def named_by(self, person: Person) -> str:
        """The id of a wallet of the person's with this address."""
        body = {"is_hot_wallet": False, "evm_address": self.address}
        wallet_id: str = person.post("/wallets", body)["wallet"]["id"]
        return wallet_id

    def sign(self, message: str) -> str:
        return (
            "0x"
            + bytes(Account.sign_message(encode_defunct(text=message), self.key).signature).hex()
        )

    def prove(self, person: Person, wallet_id: str) -> Answer:
        message = person.post(f"/wallets/{wallet_id}/challenge")["message"]
        return person.call(
            "POST", f"/wallets/{wallet_id}/verify", {"signature": self.sign(message)}
        )


def verified(person: Person) -> dict[str, bool]:
    return {one["id"]: one["verified"] for one in person.get("/wallets")["wallets"]}


@pytest.mark.rule("Y-06")
def test_a_hot_wallet_is_proven_from_the_start_and_an_external_one_is_not(world: World) -> None:
    person, outside = world.person(), Outside()
    hot = person.post("/wallets", {"label": "hot"})["wallet"]
    cold = person.post(
        "/wallets", {"is_hot_wallet": False, "evm_address": outside.address.lower()}
    )["wallet"]
    assert (hot["is_hot_wallet"], hot["verified"]) == (True, True)
    assert (cold["is_hot_wallet"], cold["verified"]) == (False, False)
    assert cold["evm_address"] == outside.address
    assert person.get("/wallets")["wallets"] == [hot, cold]
    with db.reading():
        kept = Wallet.get(Wallet.id == hot["id"])
    assert kept.verified_at == kept.created_at
    for path, body in (("challenge", None), ("verify", {"signature": "0x" + "0" * 130})):
        person.call("POST", f"/wallets/{hot['id']}/{path}", body).refused(409, "already_verified")


@pytest.mark.rule("M-01")
def test_a_challenge_names_the_install_the_account_the_address_and_its_end(world: World) -> None:
    person, outside = world.person(), Outside()
    wallet_id = outside.named_by(person)
    first, second = (person.post(f"/wallets/{wallet_id}/challenge") for _ in range(2))
    told = CHALLENGE.fullmatch(first["message"])
    assert told is not None, first["message"]
    assert told["address"] == outside.address and told["account"] == person.id
    assert told["wallet"] == wallet_id and told["expires"] == first["expires_at"]
    lasts = times.parse_ms(told["expires"]) - times.parse_ms(told["issued"])
    assert lasts == 10 * 60 * 1000
    again = CHALLENGE.fullmatch(second["message"])
    assert again is not None and again["nonce"] != told["nonce"]


@pytest.mark.rule("M-01")
@pytest.mark.rule("Y-06")
def test_a_signature_proves_an_address_once_and_only_by_its_own_key(world: World) -> None:
    person, outside, other = world.person(), Outside(), Outside()
    wallet_id = outside.named_by(person)
    path = f"/wallets/{wallet_id}/verify"

    def verify(signature: str) -> Answer:
        return person.call("POST", path, {"signature": signature})

    verify("0x" + "1" * 130).refused(409, "no_challenge")
    stale = person.post(f"/wallets/{wallet_id}/challenge")["message"]
    message = person.post(f"/wallets/{wallet_id}/challenge")["message"]
    good = outside.sign(message)
    before = everything()
    rows = [
        (other.sign(message), 403, "wrong_signature"),
        (outside.sign(stale), 403, "wrong_signature"),
        (outside.sign(message + "\n"), 403, "wrong_signature"),
        ("0x" + "0" * 130, 403, "wrong_signature"),
        ("0x" + "f" * 130, 403, "wrong_signature"),
        (good[:-2] + "05", 403, "wrong_signature"),
        (good[:-2], 400, "invalid"),
        (good[2:], 400, "invalid"),
        (good + "\n", 400, "invalid"),
        ("", 400, "invalid"),
        ("0x" + "g" * 130, 400, "invalid"),
    ]
    all_hold(rows, lambda row: verify(row[0]).refused(row[1], row[2]))
    assert everything() == before
    assert verified(person) == {wallet_id: False}
    answer = verify(good).ok()["wallet"]
    assert answer["verified"] is True and verified(person) == {wallet_id: True}
    verify(good).refused(409, "already_verified")
    person.call("POST", f"/wallets/{wallet_id}/challenge").refused(409, "already_verified")
    # Named a second time, the address is his already; what he signed for the first is used up.
    twice = outside.named_by(person)
    outside.prove(person, twice).refused(409, "already_verified")
    assert verified(person) == {wallet_id: True, twice: False}
    # Some wallets leave out the 27.
    late = other.named_by(person)
    signed = other.sign(person.post(f"/wallets/{late}/challenge")["message"])
    short = signed[:-2] + f"{int(signed[-2:], 16) - 27:02x}"
    person.post(f"/wallets/{late}/verify", {"signature": short})


@pytest.mark.rule("M-01")
def test_a_challenge_is_over_after_ten_minutes(world: World) -> None:
    person, outside = world.person(), Outside()
    wallet_id = outside.named_by(person)
    message = person.post(f"/wallets/{wallet_id}/challenge")["message"]
    world.call("POST", "/dev/clock/advance", {"seconds": 600}).ok()
    signed = {"signature": outside.sign(message)}
    person.call("POST", f"/wallets/{wallet_id}/verify", signed).refused(409, "no_challenge")
    outside.prove(person, wallet_id).ok()


@pytest.mark.rule("M-01")
@pytest.mark.rule("M-04")
def test_an_address_is_one_accounts_alone_from_when_it_has_proven_it(world: World) -> None:
    first, second, outside, gig = world.person(), world.person(), Outside(), world.gig()
    own, foreign = outside.named_by(first), outside.named_by(second)
    address = {"wallet_address": outside.address}
    # While nobody has proven it, anybody may name it.
    early = world.worker(gig, second, **address)
    path = f"{gig.path}/mailboxes/{early.mailbox['id']}"  # type: ignore[attr-defined]
    outside.prove(first, own).ok()
    before = everything()
    late = world.person()
    body = {"is_hot_wallet": False, "evm_address": outside.address.lower()}
    join = {"invite": gig.invite, "wallet_address": outside.address.lower()}
    for answer in (
        late.call("POST", "/wallets", body),
        late.call("POST", f"{gig.path}/mailboxes", join),
    ):
        assert outside.address in answer.refused(409, "address_proven")["error"]
    # His account is new, and nothing else is.
    changed = {name for name, told in everything().items() if told != before[name]}
    assert changed <= {"account", "api_key", "counter"}
    # What was said before stands, and can be left but not taken again.
    second.patch(path, address)
    second.patch(path, {"wallet_address": Outside().address})
    second.call("PATCH", path, address).refused(409, "address_proven")
    outside.prove(second, foreign).refused(409, "address_proven")
    assert verified(second) == {foreign: False}
    # Its own account names it as often as it likes.
    world.worker(gig, first, **address)
    outside.named_by(first)
    hot = second.post("/wallets")["wallet"]["evm_address"]
    first.call("POST", "/wallets", {**body, "evm_address": hot}).refused(409, "address_proven")


@pytest.mark.rule("M-01")
def test_of_two_accounts_that_prove_one_address_at_once_one_has_it(world: World) -> None:
    for _ in range(5):
        outside, people = Outside(), [world.person() for _ in range(4)]
        signed = []
        for person in people:
            wallet_id = outside.named_by(person)
            message = person.post(f"/wallets/{wallet_id}/challenge")["message"]
            signed.append((f"/wallets/{wallet_id}/verify", {"signature": outside.sign(message)}))
        answers = at_once(4, lambda n, of=people, how=signed: of[n].call("POST", *how[n]))
        assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]
        for answer in answers:
            if answer.status == 409:
                answer.refused(409, "address_proven")
        assert sum(any(verified(person).values()) for person in people) == 1


@pytest.mark.rule("H-07")
def test_a_proof_under_a_key_is_answered_again_and_not_proven_again(world: World) -> None:
    person, outside = world.person(), Outside()
    wallet_id = outside.named_by(person)
    message = person.post(f"/wallets/{wallet_id}/challenge")["message"]
    path, body = f"/wallets/{wallet_id}/verify", {"signature": outside.sign(message)}
    key = {"idempotency-key": "prove"}
    first, second = (person.call("POST", path, body, headers=key) for _ in range(2))
    assert first.ok() == second.ok() and second.headers["idempotency-replayed"] == "true"


@pytest.mark.rule("Y-06")
def test_no_answer_and_no_line_of_the_log_has_a_private_key(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = paying_world
    heard: list[str] = []
    plain = World.call

    def call(self: World, *args: Any, **options: Any) -> Answer:
        answer = plain(self, *args, **options)
        heard.append(f"{answer.text}{answer.headers}")
        return answer

    monkeypatch.setattr(World, "call", call)
    with capture_logs() as lines:
        gig = world.gig()
        world.fund(gig, "10")
        worker = world.worker(gig)
        wallet_id = world.funded_wallet(gig.owner, 5)
        path = f"/wallets/{wallet_id}"
        to = {"to_address": new_key()[1]}
        key = {"idempotency-key": "send"}
        for headers in (key, key, {}):
            gig.owner.call("POST", f"{path}/transfer", {**to, "amount": "2.5"}, headers=headers)
        gig.owner.call("POST", f"{path}/transfer", {**to, "amount": "1"}).refused(402)
        gig.owner.call("DELETE", path).refused(409, "wallet_in_use")
        gig.owner.call("POST", f"{path}/challenge").refused(409)
        for person in (gig.owner, worker):
            wallets = person.get("/wallets")["wallets"]
            for one in wallets:
                person.get(f"/wallets/{one['id']}/balances")
    with db.reading():
        hot = list(Wallet.select().where(Wallet.is_hot_wallet))
    keys = [install.current().keyring.decrypt(str(one.encrypted_key)) for one in hot]
    assert len(keys) == 3
    written = "\n".join([*heard, *map(repr, lines)]).lower()
    assert all(one.evm_address.lower() in written for one in hot)
    for private_key, one in zip(keys, hot, strict=True):
        digits = private_key.removeprefix("0x").lower()
        assert digits not in written and str(int(digits, 16)) not in written
        assert str(one.encrypted_key).lower() not in written
    with db.reading():
        tables = sorted(db.database.get_tables())
        stored = "\n".join(repr(db.rows(f'SELECT * FROM "{name}"')) for name in tables).lower()
    assert not [one for one in keys if one.removeprefix("0x") in stored]
