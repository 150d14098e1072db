"""The list of what is routed to a worker: order, filters, size (I-01, I-03)."""

from __future__ import annotations

import re
import time

import pytest

from engine import desks, modes
from engine.db import db
from engine.models.mailbox import Mailbox
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.operations import Caller
from tests.contract.scene import all_hold
from tests.incoming.world import done, gig, items, send, use
from tests.world import Gig, Person, World

MANY = 10_000


@pytest.mark.rule("I-01")
def test_the_most_pressing_come_first_and_then_the_oldest(world: World) -> None:
    one, other = gig(world), gig(world)
    worker = world.worker(one)
    world.worker(other, worker)
    words = ("low", "normal", "urgent", "high", "urgent", "low", "normal")
    sent = [
        send(world, (one, other)[number % 2], {"title": str(number), "priority": word})
        for number, word in enumerate(words)
    ]
    # Two of one second, and one that is older than those before it.
    for number, at in ((2, 5_900), (4, 5_100), (0, 4_000), (5, 3_000)):
        db.write(Task.update(created_at=at).where(Task.id == sent[number]).execute)
    assert [found["title"] for found in items(worker)] == ["2", "4", "3", "1", "6", "5", "0"]


@pytest.mark.rule("I-01")
def test_what_was_accepted_is_listed_where_it_is_asked_for(world: World) -> None:
    place = gig(world)
    worker = world.worker(place)
    for verbs in ([], ["plan"], ["start"], ["start", "complete"]):
        send(world, place)
        newest = max(items(worker), key=lambda one: one["id"])
        for verb in verbs:
            body = {"plan": {"plannedStart": "2026-10-19T14:00"}, "complete": {"response": "x"}}
            done(use(worker, newest["id"], verb, body.get(verb)))
    statuses = {
        query: [one["status"] for one in worker.get(f"/v1/incoming{query}")]
        for query in ("", "?includeAccepted=false", "?includeAccepted=true")
    }
    every = ["floating", "planned", "inprogress", "completed"]
    assert list(statuses.values()) == [["floating"], ["floating"], every]

    def refused(query: str) -> None:
        worker.call("GET", f"/v1/incoming?{query}").refused(400)

    wrong = ["includeAccepted=yes", "includeAccepted=True", "includeAccepted=1", "includeAccepted="]
    wrong += ["includeaccepted=true", "limit=5", "includeAccepted=true&includeAccepted=true"]
    all_hold(wrong, refused)


@pytest.mark.rule("I-04")
def test_a_closed_mailbox_shows_nothing_and_its_work_goes_to_others(world: World) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    send(world, place)
    has, waits = (worker, other) if items(worker) else (other, worker)
    (seen,) = items(has)
    done(use(has, seen["id"], "plan", {"plannedStart": "2026-10-19T14:00"}))
    has.call("DELETE", f"{place.path}/mailboxes/{has.mailbox['id']}").ok()  # type: ignore[attr-defined]
    assert items(has, accepted=True) == []
    (passed,) = items(waits, accepted=True)
    assert passed == {**seen, "etag": passed["etag"]} and passed["etag"] != seen["etag"]


def _fill(place: Gig, worker: Person, count: int) -> None:
    """Many items of one worker, copied from the one that he has."""
    with db.reading():
        mailbox = Mailbox.get(Mailbox.account_id == worker.id, Mailbox.gig_id == place.id)
        task = Task.get(Task.mailbox_id == mailbox.id)
        item = ModeItem.get(ModeItem.task_id == task.id)
    numbers = (
        "generate_series(1, ?)"
        if db.is_postgres
        else "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "SELECT i FROM n)"
    )
    columns = [one.column_name for one in Task._meta.sorted_fields if one.name != "number"]
    told = {"id": "n.i || task.id", "created_at": "task.created_at + n.i"}
    read = ", ".join(told.get(name, f"task.{name}") for name in columns)
    listed = ", ".join(f'"{name}"' for name in columns)

    def write() -> None:
        db.rows(
            f"INSERT INTO task ({listed}) SELECT {read} FROM task, {numbers} AS n(i) "
            "WHERE task.id = ?"
            if db.is_postgres
            else f"INSERT INTO task ({listed}) SELECT {read} FROM task, {numbers} AS n "
            "WHERE task.id = ?",
            (count, task.id),
        )
        db.rows(
            "INSERT INTO mode_item (task_id, stage, rank, memo, revision) "
            "SELECT id, ?, number % 4, ?, id FROM task WHERE mailbox_id = ? AND id <> ?",
            (item.stage, "{}", mailbox.id, task.id),
        )

    db.write(write)


@pytest.mark.rule("I-01")
def test_ten_thousand_are_listed_by_one_indexed_query(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    worker.patch("/v1/me/schedule", {"hours": {"mon": [["09:00", "17:00"]]}})
    for person in (worker, other):
        told = {"estimated_minutes": 15}
        send(world, place, told, assign_to=person.mailbox["id"])  # type: ignore[attr-defined]
        _fill(place, person, MANY - 1)
    if db.is_postgres:
        db.write(lambda: db.rows("ANALYZE"))
    asked: list[tuple[str, list[object]]] = []
    rows = db.rows

    def counted(sql: str, params: object = ()) -> object:
        asked.append((sql, list(params)))  # type: ignore[call-overload]
        return rows(sql, params)  # type: ignore[arg-type]

    monkeypatch.setattr(db, "rows", counted)
    caller = Caller(worker.id)
    desk = next(name for name, mode in modes.installed().items() if mode.info.desk)
    begun = time.perf_counter()
    found = desks.listed(caller, desk, [])
    engine_ms = (time.perf_counter() - begun) * 1000
    monkeypatch.undo()
    assert len(found) == MANY
    assert [found[0]["suggestedStart"], found[-1]["suggestedStart"]].count(None) == 0
    of_tasks = [one for one in asked if "mode_item" in one[0]]
    # The account, the clock, and one for all items.
    assert len(of_tasks) == 1 and len(asked) <= 4
    (statement, params) = of_tasks[0]
    used = _indexes(statement, params)
    assert used >= {"mailbox", "task", "mode_item"}, used
    begun = time.perf_counter()
    assert len(items(worker)) == MANY
    whole_ms = (time.perf_counter() - begun) * 1000
    print(f"10,000 items: engine {engine_ms:.0f} ms, whole {whole_ms:.0f} ms")


def _indexes(statement: str, params: list[object]) -> set[str]:
    """The tables that the plan reads through an index; it reads none of these whole."""

    def explain() -> str:
        if not db.is_postgres:
            return "\n".join(
                str(row[3]) for row in db.rows(f"EXPLAIN QUERY PLAN {statement}", params)
            )
        # Half of the rows are his here, so that reading all would be quick; can it do without?
        db.rows("SELECT set_config('enable_seqscan', 'off', true)")
        return "\n".join(row[0] for row in db.rows(f"EXPLAIN {statement}", params))

    plan = db.write(explain)
    if not db.is_postgres:
        assert not re.search(r"SCAN (task|mode_item)\b", plan), plan
        return set(re.findall(r"SEARCH (\w+) USING", plan))
    assert "Seq Scan on task" not in plan and "Seq Scan on mode_item" not in plan, plan
    return set(re.findall(r"Scan (?:using \w+ )?on (\w+)", plan)) | {
        name.partition("_")[0] for name in re.findall(r"Bitmap Index Scan on (\w+)", plan)
    }
