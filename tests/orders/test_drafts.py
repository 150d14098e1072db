"""Draft orders: how a buyer saves one, who sees it, and who changes it until it is paid for."""

from __future__ import annotations

from typing import Any

import pytest

from engine import order_drafts
from engine.db import db
from engine.models.event import Event
from engine.models.task import Task
from tests.contract.scene import all_hold, everything
from tests.shop import Shop, shop
from tests.world import Person, World, at_once

MODE = "inbound_order"
EVERYBODY = ("buyer", "vendor", "other buyer", "member", "stranger")


def _people(place: Shop) -> dict[str, Person]:
    """The buyer whose order it is, and all others who might want to do something with it."""
    people = {
        "buyer": place.buyer(),
        "vendor": place.vendor,
        "other buyer": place.buyer(),
        "member": place.buyer(),
        "stranger": place.world.person("stranger"),
    }
    place.draft(people["other buyer"], "of the other")
    return people


def _set(task_id: str, **columns: Any) -> None:
    db.write(lambda: Task.update(**columns).where(Task.id == task_id).execute())


def _door(place: Shop, key: str | None, query: str, token: str | None = None) -> Any:
    path = f"/inbound/webhook/{place.gig.id}?token={token or place.gig.token}{query}"
    headers = {"content-type": "text/plain", **({} if key is None else {"x-api-key": key})}
    return place.world.call("POST", path, raw=b"one haiku", headers=headers)


@pytest.mark.rule("O-03")
def test_the_door_wants_the_token_then_a_key_then_a_place_in_the_shop(world: World) -> None:
    place = shop(world)
    buyer, stranger = place.buyer(), world.person()
    away = place.buyer()
    path = f"{place.path}/mailboxes/{away.mailbox['id']}"  # type: ignore[attr-defined]
    place.vendor.patch(path, {"status": "inactive"})
    before = everything()
    rows = (
        # token, key, query; status and reason.
        ("wrong", None, "&draft=true", 403, "wrong_token"),
        ("wrong", "mk_wrong", "&draft=true", 403, "wrong_token"),
        ("wrong", buyer.key, "", 403, "wrong_token"),
        (None, None, "&draft=true", 401, "no_key"),
        (None, None, "", 401, "no_key"),
        (None, "mk_wrong", "&draft=true", 401, "bad_key"),
        (None, stranger.key, "&draft=true", 403, "not_a_member"),
        # What the mode never does it says to everybody who has a key.
        (None, stranger.key, "", 409, MODE),
        (None, place.vendor.key, "", 409, MODE),
        (None, away.key, "&draft=true", 403, "not_a_member"),
        (None, place.vendor.key, "&draft=true", 409, "own_shop"),
        (None, buyer.key, "", 409, MODE),
        (None, buyer.key, "&draft=false", 409, MODE),
    )

    def holds(row: tuple[str | None, str | None, str, int, str]) -> None:
        token, key, query, status, reason = row
        _door(place, key, query, token).refused(status, reason)

    all_hold(rows, holds)
    assert everything() == before


@pytest.mark.rule("O-03")
def test_nothing_that_no_order_has_is_passed_over_at_the_door(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    own = buyer.mailbox["id"]  # type: ignore[attr-defined]
    rows = {
        "price": "0.50",
        "assign_to": own,
        "reserved_for": own,
        "availability": "open",
        "priority": "1",
        "not_before": "2030-01-01T00:00:00Z",
    }
    for field, value in (*rows.items(), ("price", "tbd"), ("price", "0")):
        refused = place.save(buyer, **{field: value}).refused(409, MODE)
        assert set(refused["errors"]) == {field}
    refused = place.save(buyer, draft="false", price="1").refused(409, MODE)
    assert set(refused["errors"]) == {"draft", "price"}
    # What is wrong in itself is said to be that.
    place.save(buyer, price="dear").refused(400, "invalid")
    place.save(buyer, nonsense="1").refused(400, "invalid")
    assert buyer.get(f"{place.path}/drafts")["drafts"] == []


@pytest.mark.rule("H-02")
def test_a_key_is_only_looked_at_in_a_shop(world: World) -> None:
    gig = world.gig()
    path = f"/inbound/webhook/{gig.id}?token={gig.token}"
    for key in ("mk_wrong", world.person().key):
        answer = world.call("POST", path, raw=b"x", headers={"x-api-key": key})
        assert answer.ok()["status"] == "queued"


@pytest.mark.rule("H-07")
def test_a_repeated_key_of_one_buyer_is_answered_again_and_anothers_is_his_own(
    world: World,
) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    path = f"/inbound/webhook/{place.gig.id}?token={place.gig.token}&draft=true"

    def send(person: Person) -> Any:
        headers = {"idempotency-key": "once", "content-type": "text/plain"}
        return person.call("POST", path, raw=b"one haiku", headers=headers)

    first, again, others = send(buyer), send(buyer), send(other)
    assert again.ok() == first.ok() and again.headers["idempotency-replayed"] == "true"
    assert others.ok()["message_id"] != first.json["message_id"]
    headers = {"idempotency-key": "once", "content-type": "text/plain"}
    world.call("POST", path, raw=b"one haiku", headers=headers).refused(401, "no_key")


@pytest.mark.rule("O-08")
def test_a_closed_shop_takes_no_new_drafts_and_lets_old_ones_be_edited(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer, external_id="mine")
    place.vendor.patch(place.path, {"status": "closed"})
    place.save(buyer).refused(409, "shop_closed")
    place.save(buyer, draft_id=task_id).refused(409, "shop_closed")
    # A repeat asks what became of the first, which came in time.
    assert place.save(buyer, external_id="mine").ok()["message_id"] == task_id
    buyer.patch(f"{place.path}/tasks/{task_id}/payload", {"payload": "two haiku"})
    buyer.call("DELETE", f"{place.path}/tasks/{task_id}/draft").ok()


@pytest.mark.rule("T-04")
def test_an_external_id_is_one_order_of_one_buyer_for_ever(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    first = place.save(buyer, external_id="order-1").ok()
    assert place.save(buyer, external_id="order-1").ok() == first
    own = place.save(buyer, "something else", external_id="order-1")
    assert own.refused(409, "external_id_mismatch")["message_id"] == first["message_id"]
    for payload in ("one haiku", "something else"):
        taken = place.save(other, payload, external_id="order-1")
        assert "message_id" not in taken.refused(409, "external_id_mismatch")
        assert first["message_id"] not in taken.text and buyer.email not in taken.text
    place.publish(buyer, first["message_id"]).ok()
    assert place.save(buyer, external_id="order-1").ok() == first
    assert other.get(f"{place.path}/drafts")["drafts"] == []


@pytest.mark.rule("T-04")
def test_two_that_save_one_external_id_at_once_make_one_order(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    for round_ in range(4):
        name = f"order-{round_}"
        people = (buyer, buyer, other, buyer)
        told = at_once(
            4, lambda n, name=name, people=people: place.save(people[n], external_id=name)
        )
        made = {one.json["message_id"] for one in told if one.status == 200}
        assert len(made) == 1, [one.text for one in told]
        refused = [one for one in told if one.status != 200]
        for one in refused:
            one.refused(409, "external_id_mismatch")
        assert len(refused) in (1, 3)
    with db.reading():
        assert Task.select().where(Task.gig_id == place.gig.id).count() == 4


@pytest.mark.rule("T-05")
def test_a_draft_is_saved_again_by_its_id_and_by_nobody_else(world: World) -> None:
    place = shop(world, default_task_tags=["haiku"])
    buyer, other = place.buyer(), place.buyer()
    task_id = place.draft(buyer, subject="Spring")
    told = place.save(buyer, "two haiku", draft_id=task_id, subject="Autumn").ok()
    assert (told["message_id"], told["updated"]) == (task_id, True)
    (shown,) = buyer.get(f"{place.path}/drafts")["drafts"]
    assert (shown["payload"], shown["subject"], shown["tags"]) == ("two haiku", "Autumn", ["haiku"])
    before = everything()
    place.save(other, "mine now", draft_id=task_id).refused(404, "not_found")
    place.save(other, "mine now", draft_id="TASK_none").refused(404, "not_found")
    place.save(place.vendor, "mine now", draft_id=task_id).refused(409, "own_shop")
    place.save(buyer, draft_id=task_id, external_id="new").refused(400, "invalid")
    assert everything() == before
    place.publish(buyer, task_id).ok()
    place.save(buyer, "after all", draft_id=task_id).refused(409, MODE)


@pytest.mark.rule("O-06")
def test_who_sees_the_orders_that_are_not_sent(world: World) -> None:
    place = shop(world)
    people = _people(place)
    buyer, other = people["buyer"], people["other buyer"]
    ids = {state: place.draft(buyer, state) for state in ("draft", "unfunded", "withdrawn")}
    for state, task_id in ids.items():
        _set(task_id, status=state)
    for state in ("undoing", "claimed", "submitted", "approved", "cancelled"):
        _set(place.draft(buyer, state), status=state)
    (others,) = [one["id"] for one in other.get(f"{place.path}/drafts")["drafts"]]
    unsent = list(ids.values())
    wanted = {"buyer": unsent, "vendor": [others, *unsent], "other buyer": [others], "member": []}
    for name, expected in wanted.items():
        shown = people[name].get(f"{place.path}/drafts")["drafts"]
        assert [one["id"] for one in shown] == expected, name
        assert all(one["status"] in ids for one in shown)
    people["stranger"].call("GET", f"{place.path}/drafts").refused(403, "not_joined")
    # Page by page as in one.
    first = place.vendor.get(f"{place.path}/drafts?limit=2")
    rest = place.vendor.get(f"{place.path}/drafts?limit=2&cursor={first['next_cursor']}")
    assert [one["id"] for one in first["drafts"] + rest["drafts"]] == [others, *unsent]


# What somebody may do to an order: the call, its body.
CALLS: dict[str, tuple[str, str, Any]] = {
    "payload": ("PATCH", "payload", {"payload": "rewritten", "subject": "New"}),
    "private details": ("PATCH", "private-details", {"private_details": "for you"}),
    "delete": ("DELETE", "draft", None),
    "draft": ("PATCH", "draft", {"payload": "rewritten"}),
}
# The states of an order → what the buyer, the vendor, another buyer, a member and a stranger are
# told; the same for each of these calls but where a line of its own says so.
_DRAFT = "200 403 404 404 403"
_ON_ITS_WAY = "409 403 404 404 403"
_SENT = "409 409 409 409 403"
MAY: dict[tuple[str, str], str] = {
    **{("any", state): _DRAFT for state in ("draft", "withdrawn")},
    **{("any", state): _ON_ITS_WAY for state in ("unfunded", "undoing")},
    **{("any", state): _SENT for state in ("claimed", "submitted", "approved", "rejected")},
    ("any", "cancelled"): "404 404 404 404 403",
    # It is the record of what was sent.
    ("delete", "withdrawn"): "409 403 404 404 403",
    # The mode has no such call, whoever asks.
    ("draft", "any"): "409 409 409 409 409",
}


@pytest.mark.rule("O-06")
@pytest.mark.parametrize("call", CALLS)
def test_who_may_change_an_order_in_which_state(world: World, call: str) -> None:
    place = shop(world)
    people = _people(place)
    method, name, body = CALLS[call]
    states = {state for _, state in MAY} - {"any"}

    def holds(state: str) -> None:
        wanted = MAY.get((call, state)) or MAY.get((call, "any")) or MAY[("any", state)]
        told = []
        # The buyer last, since he may have his way.
        for who in reversed(EVERYBODY):
            if who == "stranger" or not told or told[-1] != 200:
                task_id = place.draft(people["buyer"])
                _set(task_id, status=state)
            answer = people[who].call(method, f"{place.path}/tasks/{task_id}/{name}", body)
            told.append(answer.status)
            if answer.status == 403:
                answer.refused(403, "not_joined" if who == "stranger" else "not_draft_writer")
            if answer.status == 409:
                moving = state in ("unfunded", "undoing") and call != "draft"
                refused = answer.refused(409, "in_progress" if moving else MODE)
                assert not moving or refused["retry_after"] == 1
        assert " ".join(map(str, reversed(told))) == wanted

    all_hold(sorted(states), holds)


@pytest.mark.rule("O-06")
def test_a_rewritten_draft_is_what_both_sides_read_and_what_is_sent(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    path = f"/inbound/webhook/{place.gig.id}?token={place.gig.token}&draft=true"
    task_id = buyer.post(path, {"order": "one haiku"})["message_id"]
    tasks = f"{place.path}/tasks/{task_id}"
    told = buyer.patch(f"{tasks}/payload", {"payload": {"order": "two"}, "subject": "Two"})
    assert told["draft"]["payload"] == '{"order": "two"}' and told["draft"]["subject"] == "Two"
    assert told["draft"]["content_type"] == "application/json" and told["updated"] is True
    told = buyer.patch(f"{tasks}/payload", {"payload": "two haiku, please"})
    assert told["draft"]["content_type"] == "text/plain" and told["draft"]["subject"] == "Two"
    buyer.patch(f"{tasks}/payload", {"subject": "Three"})
    buyer.patch(f"{tasks}/private-details", {"private_details": "the door code is 1234"})
    for bad in ({}, {"price": 1}, {"subject": "x" * 501}, {"payload": "x" * 2_000_001}):
        assert buyer.call("PATCH", f"{tasks}/payload", bad).status in (400, 413), bad
    for person in (buyer, place.vendor):
        shown = place.task(person, task_id)
        assert (shown["payload"], shown["subject"]) == ("two haiku, please", "Three")
        assert shown["private_details"] == "the door code is 1234"
    place.publish(buyer, task_id).ok()
    shown = place.task(place.vendor, task_id)
    assert (shown["id"], shown["payload"]) == (task_id, "two haiku, please")
    # No event repeats what only two may read.
    with db.reading():
        logged = str([one.data for one in Event.select()])
    assert "1234" not in logged and "two haiku" not in logged


@pytest.mark.rule("T-05")
def test_the_owner_of_any_other_gig_rewrites_the_body_of_a_draft(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig, "first", draft="true")
    path = f"{gig.path}/tasks/{task_id}/payload"
    told = gig.owner.patch(path, {"payload": "second", "subject": "Anew"})
    assert (told["status"], told["message_id"], told["updated"]) == ("draft", task_id, True)
    assert (told["draft"]["payload"], told["draft"]["subject"]) == ("second", "Anew")
    assert "is_my_order" not in told["draft"] and "funded_total" not in told["draft"]
    worker.call("PATCH", path, {"payload": "mine"}).refused(403, "not_permitted")
    gig.owner.post(f"{gig.path}/tasks/{task_id}/publish")
    gig.owner.call("PATCH", path, {"payload": "third"}).refused(409, "not_draft")


@pytest.mark.rule("O-06")
def test_a_deleted_draft_is_gone_for_both_sides_and_for_the_link(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    tasks = f"{place.path}/tasks/{task_id}"
    buyer.patch(f"{tasks}/private-details", {"private_details": "the door code is 1234"})
    token = buyer.patch(f"{tasks}/comments-policy", {"policy": "public"})["public_token"]
    link = f"/public/order?gig={place.gig.id}&task={task_id}&token={token}"
    world.call("GET", link).ok()
    buyer.call("DELETE", f"{tasks}/draft").ok()
    buyer.call("DELETE", f"{tasks}/draft").refused(404)
    world.call("GET", link).refused(404, "not_found")
    for person in (buyer, place.vendor):
        person.call("GET", tasks).refused(404)
        person.call("GET", f"{tasks}/comments").refused(404)
        person.call("POST", f"{tasks}/comments", {"body": "Hello?"}).refused(404)
        assert person.get(f"{place.path}/drafts")["drafts"] == []
    for where in ("dashboard", "export.jsonl?what=tasks"):
        kept = place.vendor.call("GET", f"{place.path}/{where}")
        assert kept.status == 200 and "one haiku" not in kept.text and "1234" not in kept.text
    place.publish(buyer, task_id).refused(404)


@pytest.mark.rule("O-06")
def test_a_buyer_who_is_shut_out_keeps_his_own_drafts_and_saves_no_new_one(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    task_id, sent = place.draft(buyer), place.order(other)
    path = f"{place.path}/mailboxes/{buyer.mailbox['id']}"  # type: ignore[attr-defined]
    place.vendor.patch(path, {"status": "inactive"})
    place.save(buyer).refused(403, "not_a_member")
    place.save(buyer, draft_id=task_id).refused(403, "not_a_member")
    assert [one["id"] for one in buyer.get(f"{place.path}/drafts")["drafts"]] == [task_id]
    assert place.task(buyer, task_id)["is_my_order"] is True
    # No order of others is his to see any more.
    for below in ("", "/comments"):
        buyer.call("GET", f"{place.path}/tasks/{sent}{below}").refused(404)
    buyer.patch(f"{place.path}/tasks/{task_id}/payload", {"payload": "once more"})
    buyer.call("DELETE", f"{place.path}/tasks/{task_id}/draft").ok()


RACES = {"rewrite": ("PATCH", "payload", {"payload": "late"}), "delete": ("DELETE", "draft", None)}


@pytest.mark.rule("O-06")
@pytest.mark.parametrize("what", RACES)
def test_what_is_changed_as_it_is_published_is_sent_so_or_refused(world: World, what: str) -> None:
    place = shop(world)
    buyer = place.buyer()
    method, name, body = RACES[what]
    for _ in range(6):
        task_id = place.draft(buyer, "early")
        tasks = f"{place.path}/tasks/{task_id}"

        def race(number: int, task_id: str = task_id, tasks: str = tasks) -> Any:
            if number == 0:
                return place.publish(buyer, task_id)
            return buyer.call(method, f"{tasks}/{name}", body)

        sent, changed = at_once(2, race)
        assert {sent.status, changed.status} <= {200, 404, 409}, (sent.text, changed.text)
        if what == "delete":
            assert sorted((sent.status, changed.status)) in ([200, 404], [200, 409])
            shown = buyer.call("GET", tasks)
            assert (shown.status == 200) == (sent.status == 200)
        else:
            assert sent.status == 200
            told = "late" if changed.status == 200 else "early"
            assert place.task(place.vendor, task_id)["payload"] == told


@pytest.mark.rule("O-06")
def test_two_who_save_a_draft_again_at_once_leave_one_of_both_whole(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    for round_ in range(4):
        words = [f"{round_}-{number}" for number in range(4)]

        def save(number: int, words: list[str] = words) -> Any:
            return place.save(buyer, words[number], draft_id=task_id, subject=words[number])

        told = at_once(4, save)
        assert [one.status for one in told] == [200] * 4, [one.text for one in told]
        shown = place.task(buyer, task_id)
        assert shown["payload"] == shown["subject"] and shown["payload"] in words


@pytest.mark.rule("T-05")
def test_a_buyer_has_so_many_unsent_orders_in_a_shop_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_drafts, "MOST_DRAFTS", 2)
    place = shop(world, "0")
    buyer, other = place.buyer(), place.buyer()
    first = place.draft(buyer, "first")
    place.draft(buyer, "second")
    _door(place, buyer.key, "&draft=true").refused(409, "too_many_drafts")
    # One that he has is saved again, and those of others are not counted.
    _door(place, buyer.key, f"&draft=true&draft_id={first}").ok()
    place.draft(other, "of the other")
    buyer.post(f"{place.path}/tasks/{first}/publish")
    _door(place, buyer.key, "&draft=true").ok()
