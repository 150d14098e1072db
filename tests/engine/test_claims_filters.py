"""Filters on a poll and on the queue's list (Q-04)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from engine import facets
from engine.db import db
from engine.models.gig import Gig as GigRow
from engine.models.task import Task
from engine.rules import tag_matching
from tests.engine.holding import poll
from tests.world import Gig, Person, World, at_once

# name: how it is sent. The gig's own price is 2.50.
TASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain 1": {"price": "1"},
    "plain 5": {"price": "5.000001"},
    "tbd": {"price": "tbd"},
    "short": {"tags": "shortform,video"},
    "Short": {"tags": "ShortForm", "price": "3"},
    "long": {"tags": "longform", "price": "tbd"},
    "type": {"tags": "type:interested,ÄRGER"},
}
TAGGED = {"short", "Short", "long", "type"}
ROWS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(TASKS)),
    ({"tags": []}, set(TASKS)),
    ({"tags": " , "}, set(TASKS)),
    ({"accept_tbd": True}, set(TASKS)),
    ({"tags": ["form"]}, {"short", "Short", "long"}),
    ({"tags": ["SHORT"]}, {"short", "Short"}),
    ({"tags": ["ärger"]}, {"type"}),
    ({"tags": "long, video"}, {"short", "long"}),
    ({"tags": ["short", "video"], "tag_mode": "all"}, {"short"}),
    ({"tags": ["form", "nothing"], "tag_mode": "all"}, set()),
    ({"tags": ["short"], "tag_match": "prefix"}, {"short", "Short"}),
    ({"tags": ["form"], "tag_match": "prefix"}, set()),
    ({"tags": ["type:"], "tag_match": "prefix"}, {"type"}),
    ({"tags": ["shortform"], "tag_match": "exact"}, {"short", "Short"}),
    ({"tags": ["short"], "tag_match": "exact"}, set()),
    # Nothing stands for anything else, and no match reaches from one tag into the next.
    ({"tags": ["%"]}, set()),
    ({"tags": ["_"]}, set()),
    ({"tags": ["shortform\nvideo"]}, set()),
    ({"price_min": "2.50"}, {"plain", "plain 5", "tbd", "short", "Short", "long", "type"}),
    ({"price_max": "2.50"}, {"plain", "plain 1", "tbd", "short", "long", "type"}),
    ({"price_max": "2.499999"}, {"plain 1", "tbd", "long"}),
    ({"price_min": 3, "price_max": 5}, {"Short", "tbd", "long"}),
    ({"price_min": "5.000001"}, {"plain 5", "tbd", "long"}),
    ({"price_min": 3, "accept_tbd": False}, {"plain 5", "Short"}),
    ({"accept_tbd": False}, set(TASKS) - {"tbd", "long"}),
    ({"tags": ["form"], "price_min": 3}, {"Short", "long"}),
    ({"tags": ["form"], "price_min": 3, "accept_tbd": False}, {"Short"}),
]


def _send(world: World, gig: Gig) -> dict[str, str]:
    return {world.task(gig, name, **query): name for name, query in TASKS.items()}


def _polled(gig: Gig, worker: Person, **wanted: Any) -> Any:
    return worker.post(f"{gig.path}/queue/poll", {"count": 20, **wanted})


@pytest.mark.rule("Q-04")
@pytest.mark.parametrize("order", ["fifo", "lifo", "random"])
def test_a_poll_is_offered_what_its_filter_lets_pass_and_nothing_else(
    world: World, order: str
) -> None:
    gig = world.gig(queue_order=order)
    names = _send(world, gig)
    place = list(TASKS) if order == "fifo" else list(reversed(TASKS))
    for wanted, expected in ROWS:
        worker = world.worker(gig)
        answer = _polled(gig, worker, **wanted)
        got = [names[task["id"]] for task in answer["tasks"]]
        assert set(got) == expected, wanted
        if order != "random":
            assert got == sorted(got, key=place.index), wanted
        unfiltered = expected == set(TASKS)
        assert answer["filter_applied"] is not unfiltered, wanted
        # Free for the next one; he has a cursor of his own.
        for task in answer["tasks"]:
            worker.post(f"{gig.path}/queue/{task['id']}/decline")
        assert _polled(gig, worker, **wanted)["count"] == 0


@pytest.mark.rule("Q-04")
def test_the_rule_in_python_is_the_rule_in_sql() -> None:
    for wanted, expected in ROWS:
        tags = wanted.get("tags", [])
        if isinstance(tags, str) or not tags or {"price_min", "accept_tbd"} & set(wanted):
            continue
        match, mode = wanted.get("tag_match", "substring"), wanted.get("tag_mode", "any")
        found = {
            name
            for name, query in TASKS.items()
            if tag_matching.matches(
                [tag for tag in query.get("tags", "").split(",") if tag], tags, match, mode
            )
        }
        assert found == expected, wanted
    assert tag_matching.matches([], [], "exact", "all")


@pytest.mark.rule("Q-04")
@pytest.mark.rule("H-06")
def test_the_queue_s_list_is_filtered_before_it_is_paged(world: World) -> None:
    gig = world.gig()
    member = world.worker(gig)
    names = _send(world, gig)
    for wanted, expected in ROWS:
        if set(wanted) - {"tags", "tag_match", "tag_mode"}:
            continue
        tags = wanted.get("tags", "")
        query = {name: value for name, value in wanted.items() if name != "tags"}
        query["tag"] = tags if isinstance(tags, str) else ",".join(tags)
        for reader in (gig.owner, member):
            assert _pages(gig, reader, names, query) == [n for n in TASKS if n in expected], wanted


def _pages(gig: Gig, reader: Person, names: dict[str, str], query: dict[str, Any]) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        more = {**query, "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = reader.get(f"{gig.path}/queue?{urlencode(more)}")
        assert len(page["tasks"]) == 2 or page["next_cursor"] is None
        found += [names[task["id"]] for task in page["tasks"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


@pytest.mark.rule("Q-04")
def test_members_read_the_queue_without_what_only_its_owner_sees(world: World) -> None:
    gig = world.gig()
    member, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, external_id="mine")
    other.post(f"{gig.path}/queue/{task_id}/decline")
    (owners,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
    (members,) = member.get(f"{gig.path}/queue")["tasks"]
    assert (owners["declined_count"], owners["external_id"]) == (1, "mine")
    assert {"declined_count", "external_id", "private_details", "mailbox_id"}.isdisjoint(members)
    world.person().call("GET", f"{gig.path}/queue").refused(403, "not_joined")


@pytest.mark.rule("Q-04")
def test_a_change_of_tags_price_or_the_gig_s_price_is_what_counts(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    one, other = world.task(gig), world.task(gig, price="9", tags="video")
    gig.owner.patch(f"{gig.path}/tasks/{one}/tags", {"tags": ["video"]})
    gig.owner.patch(f"{gig.path}/tasks/{other}/price", {"price": "1"})
    gig.owner.patch(gig.path, {"price": "7"})
    got = _polled(gig, worker, tags=["video"], price_min=2)["tasks"]
    assert [task["id"] for task in got] == [one]
    assert poll(gig, worker) == [other]


@pytest.mark.rule("Q-04")
def test_a_filtered_poll_finds_the_one_behind_many_of_other_classes(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for number in range(70):
        world.task(gig, tags=f"a,{number}", price=f"{1 + number % 7}")
    wanted = world.task(gig, tags="needle")
    got = _polled(gig, worker, tags=["needle"])["tasks"]
    assert [task["id"] for task in got] == [wanted]
    # And of one class more than the look at it takes in, with all of the first declined.
    same = [world.task(gig, tags="same") for _ in range(65)]
    for task_id in same[:62]:
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    got = _polled(gig, worker, tags=["same"], tag_match="exact")["tasks"]
    assert [task["id"] for task in got] == same[62:]


@pytest.mark.rule("Q-04")
def test_near_unique_prices_share_classes_and_are_told_apart_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "EXACT_PRICES", 3)
    gig = world.gig()
    prices = ["10", "10.10", "10.20", "10.30", "10.31", "10.32", "10.60", "0.000001", "99"]
    sent = {world.task(gig, price=price): price for price in prices}
    with db.reading():
        assert db.scalar("SELECT count(*) FROM facet") < len(prices)
    for low, high, expected in (
        ("10.30", "10.32", prices[3:6]),
        ("10.31", "10.31", ["10.31"]),
        ("10.31", None, ["10.31", "10.32", "10.60", "99"]),
        (None, "10", ["10", "0.000001"]),
        ("10.33", "10.59", []),
    ):
        worker = world.worker(gig)
        bounds = {"price_min": low, "price_max": high}
        told = {name: bound for name, bound in bounds.items() if bound is not None}
        got = [task["id"] for task in _polled(gig, worker, **told)["tasks"]]
        assert [sent[task_id] for task_id in got] == expected
        for task_id in got:
            worker.post(f"{gig.path}/queue/{task_id}/decline")


@pytest.mark.rule("Q-04")
def test_a_band_holds_its_price_and_is_narrow() -> None:
    for price in (*range(200), 999_999, 1_000_000, 2_500_000, 2**40 + 12_345, 2**63 - 1):
        low, high = facets.band(price)
        assert low <= price <= high
        assert (high - low) * 16 <= max(low, 16)
        assert facets.band(low) == facets.band(high) == (low, high)


@pytest.mark.rule("Q-04")
def test_the_longest_tags_that_may_be_sent_have_a_class(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    tags = [f"{number:02d}" + "ä" * 254 for number in range(25)]
    task_id = world.task(gig)
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/tags", {"tags": tags})
    got = _polled(gig, worker, tags=tags, tag_mode="all", tag_match="exact")["tasks"]
    assert [task["id"] for task in got] == [task_id]


@pytest.mark.rule("Q-04")
def test_many_who_make_the_same_class_at_once_make_one(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    at_once(8, lambda n: [world.task(gig, tags="new,ones", price=f"{m}") for m in (1, 2)])
    with db.reading():
        assert db.scalar("SELECT count(*) FROM facet") == 2
    assert _polled(gig, worker, tags=["new"], price_max=1)["count"] == 8


@pytest.mark.rule("Q-04")
def test_a_class_that_was_taken_back_is_not_remembered(world: World) -> None:
    """A process must not give its tasks to a class that nobody else can see."""
    gig = world.gig()
    world.task(gig)

    class Broken(Exception):
        pass

    def make(fail: bool) -> int:
        row = GigRow.get(GigRow.id == gig.id)
        task = Task(tags=["once"], price_tbd=False, price_units=None)
        made = facets.id_of(row, task)
        if fail:
            raise Broken
        return made

    with pytest.raises(Broken):
        db.write(lambda: make(True))
    made = db.write(lambda: make(False))
    with db.reading():
        assert db.rows("SELECT id FROM facet") == [(made,)]
