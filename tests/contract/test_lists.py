"""Counts and pages: how many a poll takes, and lists that are walked to their end (Q-04, H-06)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from engine.db import db
from engine.models.event import Event
from engine.models.proof import Proof
from engine.models.task import Task
from tests.contract.scene import Scene, all_hold, everything
from tests.world import Person, World, at_once

PAGE = 7
COUNTS = ["0", "21", "-1", '"2"', "true", "false", "1.5", "2.0", "null", "1e1", "[]", "{}", '""']


@pytest.mark.rule("Q-04")
def test_a_poll_takes_1_to_20_and_no_other_count(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for _ in range(23):
        world.task(gig)
    before = everything()
    poll = f"{gig.path}/queue/poll"

    def refused(count: str) -> None:
        body, headers = f'{{"count": {count}}}'.encode(), {"content-type": "application/json"}
        told = worker.call("POST", poll, raw=body, headers=headers).refused(400)
        assert list(told["errors"]) == ["count"]

    all_hold([*COUNTS, "9" * 19, "9" * 30], refused)
    assert everything() == before
    taken = [worker.post(poll, body) for body in ({"count": 1}, {}, {"count": 20})]
    assert [polled["count"] for polled in taken] == [1, 2, 20]
    assert [len(polled["tasks"]) for polled in taken] == [1, 2, 20]
    assert worker.post(poll)["tasks"] == []


BAD_PAGES = [
    *(("limit", text) for text in ("0", "201", "-1", "abc", "1.5", "1e1", "", "٣", " 5", "9" * 30)),
    *(
        ("cursor", text)
        for text in ("", "x", "null", "0", "e30.x", "é", "x" * 20_000, "W10", ".", "*")
    ),
]


@pytest.mark.rule("H-06")
def test_a_page_that_is_none_is_refused_by_name_in_every_list(world: World) -> None:
    gig = world.gig()

    def refused(path: str) -> None:
        for name, text in BAD_PAGES:
            told = gig.owner.call("GET", f"{path}?{name}={quote(text)}").refused(400)
            assert list(told["errors"]) == [name]

    all_hold([f"{gig.path}/{name}" for name in ("queue", "proofs", "rollups")], refused)
    for text in ("-1", "x", "1.5", "9" * 30, "9223372036854775808", "", " 1", "1_0", "٣", "1e1"):
        told = gig.owner.call("GET", f"{gig.path}/events?after={quote(text)}").refused(400)
        assert list(told["errors"]) == ["after"]
    assert gig.owner.get(f"{gig.path}/events?after=9223372036854775807")["events"] == []


@pytest.mark.rule("H-06")
def test_a_cursor_opens_the_list_that_gave_it_and_no_other(world: World) -> None:
    scene = Scene.of(world)
    second = world.gig(scene.owner)
    world.task(scene.gig)
    cursor = scene.owner.get(f"{scene.gig.path}/queue?limit=1")["next_cursor"]
    assert scene.owner.get(f"{scene.gig.path}/queue?cursor={cursor}")["next_cursor"] is None
    middle = len(cursor) // 2
    tampered = [
        cursor[:-1],
        cursor + "A",
        cursor[:middle] + ("A" if cursor[middle] != "A" else "B") + cursor[middle + 1 :],
        cursor.swapcase(),
        cursor.partition(".")[0],
        f".{cursor}",
    ]
    for path, texts in (
        (f"{scene.gig.path}/queue", tampered),
        (f"{second.path}/queue", [cursor]),
        (f"{scene.gig.path}/proofs", [cursor]),
        (f"{scene.gig.path}/rollups", [cursor]),
    ):
        for text in texts:
            told = scene.owner.call("GET", f"{path}?cursor={text}").refused(400)
            assert list(told["errors"]) == ["cursor"]


def walk(
    person: Person, path: str, name: str, between: Callable[[int], Any], key: str = "id"
) -> list[str]:
    """The ids of a whole list, page by page; `between` runs after each page."""
    found: list[str] = []
    cursor, number = "", 0
    while cursor is not None:
        page = person.get(f"{path}?limit={PAGE}{f'&cursor={cursor}' if cursor else ''}")
        assert len(page[name]) == PAGE or page["next_cursor"] is None, "short only at the end"
        found += [row[key] for row in page[name]]
        cursor = page["next_cursor"]
        between(number)
        number += 1
    return found


@pytest.mark.rule("H-06")
@pytest.mark.case("F12")
def test_250_tasks_of_one_instant_are_each_listed_once_while_others_come(world: World) -> None:
    gig = world.gig()
    at_once(5, lambda _: [world.task(gig) for _ in range(50)])
    db.write(lambda: Task.update(created_at=1).execute())
    wanted = {row["id"] for row in gig.owner.get(f"{gig.path}/queue?limit=200")["tasks"]}
    added: list[str] = []

    def more(number: int) -> None:
        if number < 10:
            added.append(world.task(gig, priority=0))
            added.append(world.task(gig))

    found = walk(gig.owner, f"{gig.path}/queue", "tasks", more)

    assert len(found) == len(set(found)), "no row twice"
    assert wanted <= set(found) and len(set(found) - set(added)) == 250
    # What came before the page is not shown any more; what came behind it is.
    assert set(added[1::2]) <= set(found) and not set(added[::2]) & set(found)


@pytest.mark.rule("H-06")
@pytest.mark.rule("H-15")
@pytest.mark.case("F12")
def test_proofs_and_events_of_one_instant_are_each_listed_once(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)

    def prove(_: int) -> str:
        body = {"task_identifier": world.task(gig)}
        proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
        return proof_id

    wanted = {prove(number) for number in range(40)}
    db.write(lambda: Proof.update(submitted_at=1).execute())
    db.write(lambda: Event.update(at=1).execute())
    for person in (gig.owner, worker):
        found = walk(person, f"{gig.path}/proofs", "proofs", lambda n: n < 3 and prove(n))
        assert len(found) == len(set(found)) and wanted <= set(found)

    seen: list[int] = []
    position = 0
    while True:
        page = gig.owner.get(f"{gig.path}/events?after={position}&limit={PAGE}")
        seen += [event["seq"] for event in page["events"]]
        if len(page["events"]) < PAGE:
            break
        position = page["next_after"]
    assert seen == sorted(set(seen))
    with db.reading():
        assert len(seen) == Event.select().where(Event.gig_id == gig.id).count()


@pytest.mark.rule("H-06")
def test_filters_hold_before_pages_are_cut(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for number in range(24):
        body = {"task_identifier": world.task(gig)}
        proof = worker.post(f"{gig.path}/proofs", body)["proof"]
        if number % 3 == 0:
            gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    page = gig.owner.get(f"{gig.path}/proofs?status=approved&limit=5")
    assert len(page["proofs"]) == 5
    rest = gig.owner.get(f"{gig.path}/proofs?status=approved&cursor={page['next_cursor']}")
    assert len(rest["proofs"]) == 3 and rest["next_cursor"] is None
    gig.owner.call("GET", f"{gig.path}/proofs?status=paid").refused(400)
    assert gig.owner.get(f"{gig.path}/proofs?task=none")["proofs"] == []
