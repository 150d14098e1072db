"""Taking a gig's rows out as files (T-07)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import simplejson

from engine import rows
from engine.db import db
from engine.ids import new_id
from engine.models.task import Task
from tests.contract.test_bulk import NDJSON
from tests.contract.test_sending import place
from tests.world import Gig, World, approved_proof

# Begins as a spreadsheet's formula does, or nearly so.
RUNS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y")']
STANDS = ["'=1", " =1", "1=1", "x", "\n=1", "é,\"\r\n'", "\u2028=1"]


def as_csv(gig: Gig, what: str = "tasks") -> list[dict[str, str]]:
    answer = gig.owner.call("GET", f"{gig.path}/export.csv?what={what}")
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == (f'attachment; filename="{gig.id}-{what}.csv"')
    return list(csv.DictReader(io.StringIO(answer.text, newline=""), strict=True))


def as_lines(gig: Gig, what: str = "tasks") -> list[dict[str, Any]]:
    answer = gig.owner.call("GET", f"{gig.path}/export.jsonl?what={what}")
    assert answer.status == 200 and answer.headers["content-type"] == NDJSON
    return [simplejson.loads(line, use_decimal=True) for line in answer.text.split("\n") if line]


@pytest.mark.rule("T-07")
def test_a_cell_that_a_spreadsheet_would_run_begins_with_an_apostrophe(world: World) -> None:
    gig = world.gig()
    for text in (*RUNS, *STANDS):
        world.task(gig, text, subject=text.replace("\r", ""), tags="=a,b")
    cells = [row["payload"] for row in as_csv(gig)]
    assert cells == [f"'{text}" for text in RUNS] + STANDS
    assert {row["tags"] for row in as_csv(gig)} == {"'=a,b"}
    assert [row["payload"] for row in as_lines(gig)] == [*RUNS, *STANDS]
    assert {tuple(row["tags"]) for row in as_lines(gig)} == {("=a", "b")}


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-09")
@pytest.mark.rule("H-10")
def test_a_row_says_all_of_a_task_in_dollars_and_in_utc(world: World) -> None:
    gig = world.gig(price="9")
    worker = world.worker(gig)
    sent = {"subject": "s", "tags": "a,b", "price": "2.01", "priority": 3, "external_id": "e"}
    first = world.task(gig, "one", **sent, not_before="2030-01-01T00:00:00+02:00")
    given = world.task(gig, "two", assign_to=place(worker), price="tbd")
    draft = world.task(gig, "three", draft="true", reserved_for=place(worker), price="0.000001")
    one, two, three = as_lines(gig)
    assert [one["id"], two["id"], three["id"]] == [first, given, draft]
    assert (one["status"], one["subject"], one["tags"]) == ("queued", "s", ["a", "b"])
    assert (str(one["price"]), one["price_tbd"], one["priority"]) == ("2.01", False, 3)
    assert (one["external_id"], one["not_before"]) == ("e", "2029-12-31T22:00:00.000Z")
    assert (two["status"], two["mailbox_id"], two["assigned_to"]) == (
        "claimed",
        place(worker),
        place(worker),
    )
    assert (two["price"], two["price_tbd"], three["status"]) == (None, True, "draft")
    assert three["reserved_for"] == place(worker) and str(three["price"]) == "0.000001"
    told = as_csv(gig)
    assert list(told[0]) == list(one)
    assert [row["price"] for row in told] == ["2.01", "", "0.000001"]
    assert told[0]["not_before"] == "2029-12-31T22:00:00.000Z"
    assert told[1]["price_tbd"] == "true" and told[1]["not_before"] == ""


@pytest.mark.rule("T-07")
@pytest.mark.rule("R-06")
def test_proofs_and_payouts_are_told_likewise(world: World) -> None:
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    body = {"task_identifier": task["id"], "proofs": ["=done", "b"], "private_note": "secret"}
    worker.post(f"{gig.path}/proofs", body)
    free = approved_proof(world, gig, worker, price="0")
    first, second = as_lines(gig, "proofs")
    assert first["task_identifier"] == task["id"] and first["proofs"] == ["=done", "b"]
    assert (first["private_note"], first["private_note_locked"]) == (None, True)
    assert (second["id"], second["status"], second["locked_price"]) == (free, "approved", 0)
    told = as_csv(gig, "proofs")
    assert (told[0]["proofs"], told[0]["locked_price"]) == ("'=done,b", "2.5")
    assert "secret" not in gig.owner.call("GET", f"{gig.path}/export.csv?what=proofs").text
    assert as_lines(gig, "payouts") == [] and as_csv(gig, "payouts") == []


@pytest.mark.rule("T-07")
def test_only_the_owner_takes_them_out_and_only_what_there_is(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for kind in ("csv", "jsonl"):
        for what in ("tasks", "proofs", "payouts"):
            worker.call("GET", f"{gig.path}/export.{kind}?what={what}").refused(403)
        gig.owner.call("GET", f"{gig.path}/export.{kind}?what=secrets").refused(400)
        gig.owner.call("GET", f"{gig.path}/export.{kind}").ok()
    gig.owner.call("GET", f"{gig.path}/export.xlsx").refused(404)
    assert as_csv(gig) == []


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-06")
@pytest.mark.case("F12")
def test_every_row_is_there_once_however_many_there_are_in_one_instant(world: World) -> None:
    gig = world.gig()
    with db.reading():
        task = Task.get(Task.id == world.task(gig))

    def add() -> None:
        values = [{**task.__data__, "id": new_id("TASK")} for _ in range(250)]
        for one in values:
            del one["number"]
        rows.insert(Task, *values)

    db.write(add)
    world.task(world.gig(), "another gig's")
    ids = [row["id"] for row in as_csv(gig)]
    assert len(ids) == len(set(ids)) == 251
    assert [row["id"] for row in as_lines(gig)] == ids
