"""What a sender says under the names that a mode has of its own (T-03)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.world import Gig, World

pytestmark = [pytest.mark.rule("T-03"), pytest.mark.usefixtures("trial")]


def fields_of(gig: Gig, task_id: str) -> Any:
    return gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["mode"]["fields"]


def test_own_names_come_from_the_query_each_as_its_schema_says(world: World) -> None:
    gig = world.gig(distribution="trial")
    task_id = world.task(
        gig,
        priority="hard",
        note="so be it",
        parts=3,
        weight="2.50",
        fragile="true",
        colours="red, blue",
        by="2026-10-19T09:00:00Z",
        budget="4.99",
    )
    assert fields_of(gig, task_id) == {
        "priority": "hard",
        "note": "so be it",
        "parts": 3,
        "weight": Decimal("2.50"),
        "fragile": True,
        "colours": ["red", "blue"],
        "by": "2026-10-19T09:00:00Z",
        "budget": Decimal("4.99"),
    }
    assert fields_of(gig, world.task(gig)) == {"priority": "soft"}


def test_every_bad_field_is_named_whether_it_is_the_modes_or_everybodys(world: World) -> None:
    gig = world.gig(distribution="trial")
    wrong = {"priority": "5", "parts": "1.5", "fragile": "yes", "budget": "6", "price": "x"}
    told = world.send(gig, note="n", colours="magenta", **wrong).refused(400, "invalid")["errors"]
    assert told["priority"] == "one of soft, hard"
    assert told["parts"] == "give a whole number"
    assert told["fragile"] == "give true or false"
    assert told["budget"] == "at most 5"
    assert told["note"] == "give 2 to 20 characters"
    assert told["colours"] == "give at most 6 characters"
    assert "price" in told
    late = world.send(gig, note="no way").refused(400, "invalid")
    assert late["errors"] == {"note": "not this one"}


def test_a_name_that_the_mode_does_not_declare_is_refused_with_those_that_it_takes(
    world: World,
) -> None:
    gig = world.gig(distribution="trial")
    told = world.send(gig, zzz=1).refused(400, "invalid")["errors"]["zzz"]
    assert told.startswith("Unknown field; the mode trial takes subject, tags, price, ")
    assert "budget" in told
    assert "reserved_for" not in told
    assert "token" not in told
    near = world.send(gig, bugdet=1).refused(400)["errors"]["bugdet"]
    assert near == "Unknown field; did you mean `budget`?"
    other = world.gig()
    assert "budget" in world.send(other, budget=1).refused(400)["errors"]
    world.send(gig, reserved_for="x@example.com").refused(400)


def test_an_own_word_takes_a_common_ones_place_and_goes_with_assign_to(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    sent = world.send(gig, priority="hard", assign_to=worker.email).ok()
    assert sent["status"] == "assigned"
    shown = worker.get(f"{gig.path}/tasks/{sent['message_id']}")["task"]
    assert (shown["mode"]["stage"], shown["mode"]["reader"]) == ("held", "holder")
    assert "fields" not in shown["mode"]


def test_a_json_body_may_say_them_too_and_the_query_goes_before_it(world: World) -> None:
    gig = world.gig(distribution="trial")
    said = {"priority": "hard", "parts": 2, "budget": 1.25, "anything": {"else": None}}
    task_id = world.task(gig, json.dumps(said), parts=7)
    assert fields_of(gig, task_id) == {"priority": "hard", "parts": 7, "budget": 1.25}
    shown = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert json.loads(shown["payload"]) == said
    refusal = world.send(gig, '{"parts": true, "note": "\\u0000 ", "weight": "1"}')
    assert sorted(refusal.refused(400, "invalid")["errors"]) == ["note", "parts", "weight"]
    nulls = '{"note": null, "parts": null, "by": null, "priority": null, "budget": null}'
    assert fields_of(gig, world.task(gig, nulls)) == {"priority": "soft", "note": None}
    for payload in (
        "[1]",
        "plain",
        '{"parts": ',
        "[" * 70 + "]" * 70,
        '{"a":' * 99 + "1" + "}" * 99,
    ):
        assert fields_of(gig, world.task(gig, payload)) == {"priority": "soft"}


def test_a_plus_that_was_not_encoded_is_meant_in_a_time_of_the_query(world: World) -> None:
    gig = world.gig(distribution="trial")
    path = f"/inbound/webhook/{gig.id}?token={gig.token}"
    for by in ("2031-03-04T09:00:00+02:00", "2031-03-04T09:00:00%2B02:00"):
        answer = world.call("POST", f"{path}&by={by}&note=a+b", raw=b"")
        told = fields_of(gig, answer.ok()["message_id"])
        assert (told["by"], told["note"]) == ("2031-03-04T09:00:00+02:00", "a b")
    world.send(gig, '{"by": "2031-03-04T09:00:00 02:00"}').refused(400)


def test_an_external_id_stands_for_its_own_fields_as_well(world: World) -> None:
    gig = world.gig(distribution="trial")
    first = world.task(gig, external_id="a", parts=1, weight="1.0")
    assert world.task(gig, external_id="a", parts=1, weight="1.0") == first
    world.send(gig, external_id="a", parts=2, weight="1.0").refused(409, "external_id_mismatch")


def test_a_draft_keeps_changes_and_publishes_them(world: World) -> None:
    gig = world.gig(distribution="trial")
    draft = world.task(gig, '{"parts": 2}', draft="true", note="first")
    path = f"{gig.path}/tasks/{draft}"
    (listed,) = gig.owner.get(f"{gig.path}/drafts")["drafts"]
    assert listed["fields"] == {"priority": "soft", "note": "first", "parts": 2}

    changed = gig.owner.patch(f"{path}/draft", {"note": "second", "priority": "hard"})["draft"]
    assert changed["fields"] == {"priority": "hard", "note": "second", "parts": 2}
    cleared = gig.owner.patch(f"{path}/draft", {"priority": None, "note": None, "parts": 4})
    assert cleared["draft"]["fields"] == {"priority": "soft", "note": None, "parts": 4}
    rewritten = gig.owner.patch(f"{path}/payload", {"payload": {"parts": 9}})["draft"]
    assert rewritten["fields"]["parts"] == 9
    wrong = gig.owner.call("PATCH", f"{path}/draft", {"parts": 0, "colour": "red"})
    assert wrong.refused(400)["errors"] == {
        "parts": "from 1 to 9",
        "colour": "Unknown field; did you mean `colours`?",
    }
    gig.owner.post(f"{path}/publish")
    assert fields_of(gig, draft) == {"priority": "soft", "note": None, "parts": 9}


@pytest.mark.rule("T-07")
def test_rows_of_a_file_say_them_as_json_and_as_text(world: World) -> None:
    gig = world.gig(distribution="trial")
    path = f"{gig.path}/tasks/bulk"
    lines = '{"payload": {"parts": 1}, "note": "one"}\n{"parts": "2"}\n{"note": null, "tags": null}'
    done = gig.owner.call(
        "POST", path, raw=lines.encode(), headers={"content-type": "application/x-ndjson"}
    )
    first, second, third, _ = map(json.loads, done.text.splitlines())
    assert fields_of(gig, first["message_id"]) == {"priority": "soft", "note": "one", "parts": 1}
    assert second["errors"] == {"parts": "give a whole number"}
    assert fields_of(gig, third["message_id"]) == {"priority": "soft", "note": None}

    rows = "payload,parts,colours,priority\nx,2,red,\ny,,,hard\n"
    done = gig.owner.call("POST", path, raw=rows.encode(), headers={"content-type": "text/csv"})
    first, second, _ = map(json.loads, done.text.splitlines())
    assert fields_of(gig, first["message_id"]) == {
        "priority": "soft",
        "parts": 2,
        "colours": ["red"],
    }
    assert fields_of(gig, second["message_id"]) == {"priority": "hard"}


def test_each_copy_has_what_was_said_of_its_template(world: World) -> None:
    gig = world.gig(distribution="trial_solo")
    worker = world.worker(gig)
    world.task(gig, parts=5)
    (copy,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    assert fields_of(gig, copy["id"]) == {"priority": "soft", "parts": 5}


@pytest.mark.rule("G-03")
def test_the_list_of_modes_tells_of_fields_and_verbs_in_dollars(world: World) -> None:
    listed = world.call("GET", "/modes").ok()["modes"]
    (mode,) = [one for one in listed if one["name"] == "trial"]
    assert mode["fields"]["budget"] == {"type": "number", "format": "money", "maximum": 5}
    assert mode["fields"]["parts"] == {"type": "integer", "minimum": 1, "maximum": 9}
    (verb,) = [one for one in mode["verbs"] if one["name"] == "pass"]
    assert (verb["fields"], verb["required"]) == ({"to": {"type": "integer"}}, ["to"])
