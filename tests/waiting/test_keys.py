"""Idempotency-Key, one request after another (H-07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine import idempotency
from engine.chain.keys import new_key
from engine.chain.local import LocalChain
from engine.db import db
from engine.models.access import OneTimePassword, StoredAnswer
from engine.models.account import Account
from engine.models.command import Command
from engine.models.gig import Gig as GigRow
from engine.models.wallet import Wallet
from tests.world import ADMIN_KEY, Answer, Person, World, approved_proof, eventually

DAY = 86_400
# What belongs to this very exchange and not to the answer.
LEFT_OUT = {"content-length", "date", "idempotency-replayed", "connection", "x-request-id"}


def headers_of(answer: Answer) -> dict[str, str]:
    pairs = answer.headers.items()
    return {name.lower(): value for name, value in pairs if name.lower() not in LEFT_OUT}


def same(first: Answer, again: Answer) -> None:
    assert (again.status, again.text) == (first.status, first.text)
    assert headers_of(again) == headers_of(first)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def keyed(person: Person, key: str, path: str, body: Any = None, method: str = "POST") -> Answer:
    return person.call(method, path, body, headers={"idempotency-key": key})


def count(table: Any) -> int:
    with db.reading():
        return int(table.select().count())


@pytest.mark.rule("H-07")
def test_the_same_key_gets_the_same_answer_for_a_day_and_then_runs_again(world: World) -> None:
    owner = world.person("owner")
    first = keyed(owner, "k-1", "/gigs", {"title": "One"})
    same(first, keyed(owner, "k-1", "/gigs", {"title": "One"}))
    keyed(owner, "k-1", "/gigs", {"title": "Two"}).refused(422, "idempotency_mismatch")
    same(first, keyed(owner, '"k-1"', "/gigs", {"title": "One"}))

    world.call("POST", "/dev/clock/advance", {"seconds": DAY - 60}).ok()
    same(first, keyed(owner, "k-1", "/gigs", {"title": "One"}))
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    later = keyed(owner, "k-1", "/gigs", {"title": "Two"})

    assert later.status == 201 and later.json["gig"]["id"] != first.json["gig"]["id"]
    assert "idempotency-replayed" not in later.headers
    assert count(GigRow) == 2


@pytest.mark.rule("H-07")
def test_a_key_belongs_to_one_account_one_path_and_one_method(world: World) -> None:
    owner, other = world.person("owner"), world.person("other")
    body = {"title": "One"}
    mine = keyed(owner, "k", "/gigs", body).ok()
    theirs = keyed(other, "k", "/gigs", body)
    assert theirs.status == 201 and "idempotency-replayed" not in theirs.headers
    assert theirs.json["gig"]["id"] != mine["gig"]["id"]
    # Not even that the key is known is told to others.
    assert keyed(other, "k", "/gigs", {"title": "Three"}).json["reason"] == "idempotency_mismatch"
    keyed(world.person(), "k", "/gigs", {"title": "Four"}).ok()
    path = f"/gigs/{mine['gig']['id']}"
    assert keyed(owner, "k", f"{path}/rotate-token").status == 200
    assert keyed(owner, "k", path, {"title": "Two"}, "PATCH").json["gig"]["title"] == "Two"
    assert keyed(owner, "k", f"{path}/invites", {}).status == 201
    world.call("POST", "/gigs", body, headers={"idempotency-key": "k"}).refused(401)
    wrong = {"idempotency-key": "k", "x-api-key": owner.key + "x"}
    world.call("POST", "/gigs", body, headers=wrong).refused(401)


@pytest.mark.rule("H-07")
def test_a_gigs_webhook_and_the_admins_calls_have_keys_of_their_own(world: World) -> None:
    gig = world.gig()

    def send(payload: bytes, key: str = "order-1", **more: str) -> Answer:
        path = f"/inbound/webhook/{gig.id}?token={more.get('token', gig.token)}"
        return world.call("POST", path, raw=payload, headers={"idempotency-key": key})

    first = send(b"a")
    same(first, send(b"a"))
    send(b"b").refused(422, "idempotency_mismatch")
    assert send(b"a", "order-2").json["message_id"] != first.json["message_id"]
    send(b"a", token="wrong").refused(403)

    def provision(admin_key: str) -> Answer:
        headers = {"idempotency-key": "p", "x-admin-key": admin_key}
        body = {"email": "new@example.com"}
        return world.call("POST", "/admin/users/provision", body, headers=headers)

    made = provision(ADMIN_KEY)
    assert made.status == 201 and made.json["api_key"]
    same(made, provision(ADMIN_KEY))
    provision("another").refused(403)


@pytest.mark.rule("H-07")
def test_what_a_key_may_look_like(world: World) -> None:
    owner = world.person("owner")
    wrong = ["", " ", '"', '""', '"a', 'a"', "a,b", "a\x7f", "\xe9", "x" * 256, '"a" "b"', '" a"']
    for key in wrong:
        told = keyed(owner, key, "/wallets", {}).refused(400)
        assert list(told["errors"]) == ["Idempotency-Key"], key
    for number, key in enumerate(["x" * 255, "a b", "!#$%&'()*+-./:;<=>?@[]^_`{|}~"], 1):
        for _ in range(2):
            keyed(owner, key, "/wallets", {}).ok()
        assert count(Wallet) == number
    # A GET has no use for one, whatever it looks like.
    owner.call("GET", "/gigs/mine", headers={"idempotency-key": "a,b"}).ok()


@pytest.mark.rule("H-07")
def test_a_refusal_is_not_kept(world: World) -> None:
    gig = world.gig()
    worker, owner = world.worker(gig), gig.owner
    task_id = world.task(gig)
    proof = {"task_identifier": task_id, "proofs": ["done"]}

    def mended(refused: Callable[[], Answer], status: int, mend: Callable[[], Any]) -> None:
        for _ in range(2):
            refused().refused(status)
        mend()
        answer = refused()
        assert answer.status < 300 and "idempotency-replayed" not in answer.headers, answer.text
        same(answer, refused())

    late = world.person("late")
    join = f"{gig.path}/mailboxes"
    limited = owner.post(f"{gig.path}/invites", {"max_uses": 1})["invite"]["token"]
    world.person().post(join, {"invite": limited})
    keyed(late, "j", join, {"invite": limited}).refused(409)
    keyed(late, "j", join, {"invite": "wrong"}).refused(403)
    keyed(late, "j", join, {"invite": gig.invite}).ok()

    def close(status: str) -> Any:
        return owner.patch(gig.path, {"status": status})

    close("closed")
    mended(lambda: keyed(worker, "p", f"{gig.path}/proofs", proof), 409, lambda: close("active"))
    keyed(owner, "g", "/gigs", {"title": 1}).refused(400)
    keyed(owner, "g", "/gigs", {"title": "Right"}).ok()
    keyed(owner, "n", "/nowhere", {}).refused(404)
    keyed(owner, "n", "/gigs/mine", {}).refused(405)
    # Without a chain a rollup is 503, again and again.
    for _ in range(2):
        answer = keyed(owner, "r", f"{gig.path}/rollups", {})
        assert answer.status == 503 and "idempotency-replayed" not in answer.headers


@pytest.mark.rule("H-07")
def test_an_answer_of_ours_that_failed_is_not_kept_and_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from web.routes import gigs as route

    owner = world.person("owner")
    with monkeypatch.context() as patch:
        patch.setattr(route.views, "gig_view", lambda *_, **__: 1 / 0)
        assert keyed(owner, "g", "/gigs", {"title": "One"}).status == 500
    assert count(GigRow) == count(StoredAnswer) == 0
    keyed(owner, "g", "/gigs", {"title": "One"}).ok()
    assert count(GigRow) == count(StoredAnswer) == 1


@pytest.mark.rule("H-07")
@pytest.mark.rule("Q-05")
def test_an_empty_poll_took_no_effect_so_its_repeat_looks_again(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    path = f"{gig.path}/queue/poll"
    for query in ("", "?wait=1"):
        assert keyed(worker, "k", path + query, {}).json["tasks"] == []
    assert count(StoredAnswer) == 0
    sent = world.task(gig)
    first = keyed(worker, "k", path, {})
    assert [task["id"] for task in first.json["tasks"]] == [sent]
    same(first, keyed(worker, "k", path, {}))


@pytest.mark.rule("H-07")
@pytest.mark.rule("H-12")
@pytest.mark.rule("H-14")
def test_a_key_makes_no_try_and_no_request_free_of_its_limit(world: World) -> None:
    email = "guessed@example.com"
    world.call("POST", "/auth/send-otp", {"email": email}).ok()
    body = {"email": email, "code": "no"}
    with db.reading():
        before = OneTimePassword.get().tries
    statuses = []
    for number in range(70):
        body["code"] = f"{number:06d}"
        headers = {"idempotency-key": f"guess-{number}"}
        statuses.append(world.call("POST", "/auth/verify-otp", body, headers=headers).status)
    with db.reading():
        tries = [row.tries for row in OneTimePassword.select()]
    assert before == 0 and tries == [5]
    assert statuses[-1] == 429 and set(statuses) == {403, 429}


@pytest.mark.rule("H-07")
def test_what_is_stored_tells_no_secret(world: World) -> None:
    gig_owner, body = world.person("owner"), {"title": "One"}
    gig = keyed(gig_owner, "a", "/gigs", body).ok()
    made = keyed(gig_owner, "b", "/auth/keys", {"label": "another"}).ok()
    worker = world.person("worker")
    invite = gig["gig"]["invite_url"].rpartition("=")[2] if "invite_url" in gig["gig"] else ""
    joined = keyed(worker, "c", f"/gigs/{gig['gig']['id']}/mailboxes", {"invite": invite}).ok()
    secrets = [gig["webhook_secret"], made["key"], joined["webhook_secret"]]
    secrets += [gig_owner.key, worker.key, gig["gig"]["webhook"].rpartition("=")[2]]

    with db.reading():
        stored = repr(db.rows("SELECT * FROM stored_answer"))

    assert count(StoredAnswer) == 3
    assert [one for one in secrets if one in stored] == []


@pytest.mark.rule("H-07")
@pytest.mark.rule("H-02")
def test_a_lesser_key_of_the_account_is_not_shown_what_another_was_answered(world: World) -> None:
    owner = world.person("owner")
    keyed(owner, "k", "/auth/keys", {"label": "full"}).ok()
    lesser = owner.post("/auth/keys", {"label": "lesser", "scopes": ["tasks:read"]})["key"]
    headers = {"idempotency-key": "k", "x-api-key": lesser}
    world.call("POST", "/auth/keys", {"label": "full"}, headers=headers).refused(403)


@pytest.mark.rule("H-07")
def test_a_key_stays_while_its_command_runs_and_for_a_day_after_that(
    backend: tuple[str, str], chain: LocalChain
) -> None:
    """However late it is: a key that is forgotten would send the money twice."""
    world = World(*backend, chain=chain)
    person, to = world.person(), new_key()[1]
    path = f"/wallets/{world.funded_wallet(person, 10)}/transfer"

    def ask() -> Answer:
        headers = {"idempotency-key": "k", "prefer": "wait=0"}
        return person.call("POST", path, {"to_address": to, "amount": "2"}, headers=headers)

    def days_later(days: float) -> None:
        world.call("POST", "/dev/clock/advance", {"seconds": int(days * DAY)}).ok()
        idempotency.forget_old()

    def transfers() -> int:
        with db.reading():
            return int(Command.select().where(Command.kind == "wallet.transfer").count())

    try:
        # Nobody works yet, so it waits.
        assert ask().status == 202
        for _ in range(3):
            days_later(1.5)
            ask().refused(409, "in_progress")
        assert transfers() == 1
        world.start()
        paid = eventually(lambda: (answer := ask()).status == 200 and answer)
        days_later(0.9)
        assert ask().ok() == paid.json and world.usdc_units(to) == 2_000_000
        assert transfers() == 1
        days_later(0.2)
        assert ask().status == 202
        eventually(lambda: world.usdc_units(to) == 4_000_000)
        assert transfers() == 2
    finally:
        world.stop()


@pytest.mark.rule("H-07")
@pytest.mark.rule("H-08")
def test_a_rollup_that_failed_runs_again_under_its_key_and_one_that_paid_is_told_again(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="5")
    worker = world.worker(gig)
    approved_proof(world, gig, worker)
    path = f"{gig.path}/rollups"

    for _ in range(2):
        keyed(gig.owner, "pay", path, {}).refused(400, "pot_short")
    # As a command of which the caller was told that it is under way.
    headers = {"idempotency-key": "later", "prefer": "respond-async"}
    told = gig.owner.call("POST", path, {}, headers=headers)
    assert told.status == 202
    location = told.headers["location"].removeprefix("/api")
    while (state := gig.owner.get(location))["status"] not in ("done", "failed"):
        pass
    assert state["status"] == "failed" and state["error"]["reason"] == "pot_short"
    gig.owner.call("POST", path, {}, headers={"idempotency-key": "later"}).refused(400, "pot_short")

    world.fund(gig, "20")
    paid = keyed(gig.owner, "pay", path, {})
    assert paid.status == 200 and len(paid.json["rollups"]) == 1
    # The pot has changed since, and what was answered has not.
    world.fund(gig, "7")
    for _ in range(2):
        same(paid, keyed(gig.owner, "pay", path, {}))
    keyed(gig.owner, "pay", path, {"x": 1}).refused(422, "idempotency_mismatch")
    assert world.usdc_units(worker.mailbox["wallet_address"]) == 5_000_000  # type: ignore[attr-defined]
    with db.reading():
        assert Account.select().count() == 2
