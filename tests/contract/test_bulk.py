"""Many tasks in one call (T-07)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import simplejson

from engine.db import db
from engine.models.task import QueueEntry, Task
from tests.contract.scene import all_hold, everything
from tests.contract.test_sending import in_an_hour, place, polled, row
from tests.contract.webhooks import URL
from tests.world import Answer, Gig, World, at_once

NDJSON, CSV = "application/x-ndjson", "text/csv"


def send(
    gig: Gig, text: str | bytes, kind: str = NDJSON, query: str = "", **headers: str
) -> Answer:
    raw = text.encode() if isinstance(text, str) else text
    path = f"{gig.path}/tasks/bulk{query}"
    return gig.owner.call("POST", path, raw=raw, headers={"content-type": kind, **headers})


def ndjson(*rows: Any) -> str:
    return "".join(f"{simplejson.dumps(one, use_decimal=True)}\n" for one in rows)


def table(*rows: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for one in rows for name in one))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def lines(answer: Answer) -> tuple[list[Any], Any]:
    """The lines of the rows, and the totals."""
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == NDJSON
    *found, last = [simplejson.loads(line, use_decimal=True) for line in answer.text.splitlines()]
    assert list(last) == ["totals"]
    return found, last["totals"]


def count() -> int:
    with db.reading():
        return int(Task.select().count())


@pytest.mark.rule("T-07")
def test_each_row_is_sent_as_the_webhook_would_have_sent_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig, webhook=URL)
    at = in_an_hour(world)
    rows: list[dict[str, Any]] = [
        {"payload": "plain"},
        {"payload": '<p>é \r\n\n, "quoted"</p>', "content_type": "text/html", "subject": "s, s"},
        {"payload": "x", "tags": "a, b", "price": "2.01", "priority": 7},
        {"payload": "x", "price": "tbd", "availability": "reserved"},
        {"payload": "x", "reserved_for": worker.email, "not_before": at},
        {"payload": "x", "availability": "view_only"},
        {"payload": "x", "assign_to": place(worker)},
        {"payload": "x", "draft": "true", "external_id": "mine"},
    ]
    as_json = [{**one, **({"draft": True} if "draft" in one else {})} for one in rows]
    for gig_of_kind, kind, text in (
        (gig, NDJSON, ndjson(*as_json)),
        (world.gig(gig.owner), CSV, table(*rows)),
    ):
        if kind == CSV:
            world.worker(gig_of_kind, worker, webhook=URL)
            other = place(worker)
            text = text.replace(rows[6]["assign_to"], other)
        found, totals = lines(send(gig_of_kind, text, kind))
        assert totals == {"rows": 8, "taken": 8, "refused": 0}
        assert [one["status"] for one in found] == [
            "queued",
            "queued",
            "queued",
            "reserved",
            "reserved",
            "view_only",
            "assigned",
            "draft",
        ]
        for told, sent in zip(found, rows, strict=True):
            task = row(told["message_id"])
            assert task.payload == sent["payload"]
            assert task.content_type == sent.get("content_type", "text/plain")
            assert task.tags == (["a", "b"] if "tags" in sent else [])
            assert task.external_id == sent.get("external_id")
        third, fourth = row(found[2]["message_id"]), row(found[3]["message_id"])
        assert (third.price_units, third.priority, fourth.price_tbd) == (2_010_000, 7, True)
        assert found[4]["reserved_for"] == place(worker)
    assert [one["event"] for one in worker.get("/deliveries")["deliveries"]] == [
        "task.assigned"
    ] * 2


@pytest.mark.rule("T-07")
def test_a_payload_of_a_json_row_may_be_any_json(world: World) -> None:
    gig = world.gig()
    values: list[Any] = ["", "text", 1, 2.50, True, [1, {"a": None}], {"b": "é\u2028"}, {}]
    found, _ = lines(send(gig, ndjson(*({"payload": one} for one in values), {})))
    for told, value in zip(found, values, strict=False):
        task = row(told["message_id"])
        if isinstance(value, str):
            assert (task.payload, task.content_type) == (value, "text/plain")
        else:
            assert (simplejson.loads(task.payload), task.content_type) == (
                value,
                "application/json",
            )
    assert row(found[-1]["message_id"]).payload == ""
    exact = '{"payload": {"price": 2.50, "n": 1E+2}, "tags": ["a", "b, c"], "price": 0.000001}\n'
    (told,), _ = lines(send(gig, exact))
    task = row(told["message_id"])
    assert task.payload == '{"price": 2.50, "n": 1E+2}'
    assert (task.tags, task.price_units) == (["a", "b, c"], 1)


# What a row's own members may not be, a payload may (H-11).
PAYLOADS = [
    '{"a":2,"b":[1,2]}',
    '{ "a" :\t2 }',
    "null",
    "1e400",
    '{"twice": 1, "twice": 2}',
    '["\\u0000", "\\ud800", "\\u00e9\\/"]',
    "[" * 100 + "]" * 100,
    "9" * 200,
]


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-11")
def test_a_payload_of_json_is_kept_to_the_byte_as_the_webhook_keeps_it(world: World) -> None:
    gig = world.gig()
    rows = "".join(
        f'{{"external_id": "{at}" , "payload" : {text} , "subject": "s"}}\n'
        for at, text in enumerate(PAYLOADS)
    )
    found, _ = lines(send(gig, rows))
    for at, (told, text) in enumerate(zip(found, PAYLOADS, strict=True)):
        task = row(told["message_id"])
        assert (task.payload, task.content_type) == (text, "application/json")
        again = world.call(
            "POST",
            f"/inbound/webhook/{gig.id}?token={gig.token}&external_id={at}&subject=s",
            raw=text.encode(),
            headers={"content-type": "application/json"},
        ).ok()
        assert again["message_id"] == told["message_id"]


# (a line, the reason and the fields that are told)
BAD_ROWS: list[tuple[str, str, list[str]]] = [
    ("{", "invalid", ["body"]),
    ("[]", "invalid", ["body"]),
    ("1", "invalid", ["body"]),
    ('{"price": 1, "price": 2}', "invalid", ["price"]),
    ('{"payload": "a\\u0000b"}', "invalid", ["payload"]),
    ('{"price": "1,5"}', "invalid", ["price"]),
    ('{"price": NaN}', "invalid", ["body"]),
    ('{"price": "NaN"}', "invalid", ["price"]),
    ('{"price": 0.0000001}', "invalid", ["price"]),
    ('{"price": -1}', "invalid", ["price"]),
    ('{"price": true}', "invalid", ["price"]),
    (f'{{"tags": ["{"x" * 257}"]}}', "invalid", ["tags"]),
    (f'{{"tags": "{",".join(str(n) for n in range(26))}"}}', "invalid", ["tags"]),
    ('{"priority": -1}', "invalid", ["priority"]),
    ('{"priority": 1.5}', "invalid", ["priority"]),
    ('{"priority": 10000000000}', "invalid", ["priority"]),
    ('{"priority": 1e3}', "invalid", ["priority"]),
    ('{"priority": "5"}', "invalid", ["priority"]),
    ('{"urgency": 1, "Tags": "a"}', "invalid", ["Tags", "urgency"]),
    ('{"token": "x"}', "invalid", ["token"]),
    ('{"draft": "true"}', "invalid", ["draft"]),
    ('{"draft_id": "TASK_1"}', "invalid", ["draft_id"]),
    ('{"draft": true, "draft_id": "TASK_1"}', "not_found", []),
    ('{"not_before": "2030-01-01T00:00:00"}', "invalid", ["not_before"]),
    ('{"assign_to": "nobody"}', "assignee_not_found", ["assign_to"]),
    ('{"reserved_for": "nobody"}', "not_found", ["reserved_for"]),
    ('{"assign_to": "x", "priority": 1}', "invalid", ["priority"]),
    ('{"payload": "{", "content_type": "application/json"}', "invalid", ["payload"]),
    ('{"payload": {}, "content_type": "text/html"}', "invalid", ["content_type"]),
    ('{"external_id": ""}', "invalid", ["external_id"]),
    ('{"payload": "other", "external_id": "good"}', "external_id_mismatch", []),
]


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-05")
def test_a_bad_row_is_told_by_its_line_and_does_not_stop_the_good_ones(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    good = '{"payload": "good"}'
    text = '{"payload": "g", "external_id": "good"}\n' + "".join(
        f"{bad}\n\n{good}\r\n" for bad, _, _ in BAD_ROWS
    )
    found, totals = lines(send(gig, text.encode() + b'{"payload": "\xff"}\n' + good.encode()))
    many = len(BAD_ROWS)
    assert totals == {"rows": 2 * many + 3, "taken": many + 2, "refused": many + 1}
    assert [one["line"] for one in found[1::2][:many]] == [2 + 3 * n for n in range(many)]

    def told(one: tuple[Any, tuple[str, str, list[str]]]) -> None:
        line, (_, reason, fields) = one
        assert (line["status"], line["reason"]) == ("refused", reason), line
        assert sorted(line.get("errors", {})) == fields and line["error"]

    all_hold(zip(found[1::2][:many], BAD_ROWS, strict=True), told)
    assert {one["status"] for one in found[::2]} == {"queued"}
    assert (found[-2]["reason"], found[-2]["errors"]) == (
        "invalid",
        {"body": "not UTF-8 at byte 13"},
    )
    assert count() == many + 2
    taken = [one["message_id"] for one in found if one["status"] == "queued"]
    assert polled(gig, worker) == taken[:20]


@pytest.mark.rule("T-07")
def test_a_bad_row_of_a_csv_file_is_told_by_the_line_that_it_begins_on(world: World) -> None:
    gig = world.gig()
    text = (
        "\ufeffpayload, price ,tags\r\n"
        'one,1,"a,b"\r\n'
        '"two\r\nlines",2\r\n'
        "\r\n"
        "three,x,\r\n"
        "four,4,,\r\n"
        '"=1+1",,\r\n'
        "nul\0,1,\r\n"
    )
    found, totals = lines(send(gig, text, f"{CSV}; charset=utf-8; header=present"))
    assert totals == {"rows": 6, "taken": 3, "refused": 3}
    assert [(one["line"], one["status"]) for one in found] == [
        (2, "queued"),
        (3, "queued"),
        (6, "refused"),
        (7, "refused"),
        (8, "queued"),
        (9, "refused"),
    ]
    assert [list(one["errors"]) for one in found if "errors" in one] == [
        ["price"],
        ["row"],
        ["payload"],
    ]
    tasks = [row(one["message_id"]) for one in found if one["status"] == "queued"]
    assert [task.payload for task in tasks] == ["one", "two\r\nlines", "=1+1"]
    assert [task.tags for task in tasks] == [["a", "b"], [], []]
    assert [task.price_units for task in tasks] == [1_000_000, 2_000_000, None]


# (content type, body, status, what is told of)
BAD_FILES: list[tuple[str, bytes, int, str | None]] = [
    (NDJSON, b"", 400, "body"),
    (NDJSON, b"\n \r\n", 400, "body"),
    (CSV, b"", 400, "body"),
    (CSV, b"payload\n", 400, "body"),
    (CSV, b"payload,urgency\nx,1\n", 400, "urgency"),
    (CSV, b"payload,payload\nx,y\n", 400, "payload"),
    (CSV, b"payload,\nx,y\n", 400, ""),
    (CSV, b'payload\n"open\n', 400, "body"),
    (CSV, b'payload\n"a"b\n', 400, "body"),
    (CSV, b"payload\n\xff\n", 400, "body"),
    ("application/json", b"{}", 415, None),
    ("text/plain", b"{}", 415, None),
    ("", b"{}", 415, None),
    (NDJSON, b"{}\n" * 10_001, 413, None),
    (NDJSON, b"x" * 9_000_001, 413, None),
]


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-05")
def test_a_file_that_cannot_be_read_is_refused_whole(world: World) -> None:
    gig = world.gig()
    before = everything()

    def refused(one: tuple[str, bytes, int, str | None]) -> None:
        kind, body, status, field = one
        for key in ({}, {"idempotency-key": "k"}):
            told = send(gig, body, kind, **key).refused(status)
            assert field is None or list(told["errors"]) == [field]

    all_hold(BAD_FILES, refused)
    send(gig, "{}", **{"content-encoding": "gzip"}).refused(415)
    assert send(gig, b"{}\n" * 10_001).json["max_rows"] == 10_000
    for query in ("?dry_run=yes", "?dry_run=1", "?dry_run", "?dry=true"):
        send(gig, "{}", query=query).refused(400)
    assert everything() == before


@pytest.mark.rule("T-07")
def test_a_dry_run_adds_up_what_the_rows_cost_and_writes_nothing(world: World) -> None:
    gig = world.gig(price="2.50", distribution="queue_solo", max_claims_per_task=3)
    worker = world.worker(gig, webhook=URL)
    world.task(gig, "x", external_id="there")
    before = everything()
    text = ndjson(
        {"payload": "the gig's"},
        {"price": "0.000001", "external_id": "twice"},
        {"price": "tbd"},
        {"price": 5, "assign_to": worker.email},
        {"price": 100, "draft": True},
        {"price": "x"},
        {"payload": "other", "external_id": "there"},
    )
    for key in ({}, {"idempotency-key": "k"}):
        found, totals = lines(send(gig, text, query="?dry_run=true", **key))
        assert [one["status"] for one in found] == [
            "queued",
            "queued",
            "queued",
            "assigned",
            "draft",
            "refused",
            "refused",
        ]
        assert not any("message_id" in one for one in found)
        # Three copies of each but of what is given to one worker.
        assert {name: str(value) for name, value in totals.items()} == {
            "rows": "7",
            "taken": "5",
            "refused": "2",
            "price": "20.000003",
            "fee": "None",
            "cost": "20.000003",
        }
        assert everything() == before
    assert lines(send(gig, text, query="?dry_run=false"))[1]["taken"] == 5


@pytest.mark.rule("T-07")
@pytest.mark.rule("T-04")
@pytest.mark.rule("H-07")
def test_a_file_that_is_sent_again_makes_nothing_twice(world: World) -> None:
    gig = world.gig()
    text = ndjson(
        *({"payload": f"{n}"} for n in range(150)), {"external_id": "own"}, {"price": "x"}
    )
    key = {"idempotency-key": "file-1"}
    first = send(gig, text, **key)
    assert lines(first)[1] == {"rows": 152, "taken": 151, "refused": 1}
    again = send(gig, text, **key)
    assert (again.text, again.headers["idempotency-replayed"]) == (first.text, "true")
    assert again.headers["content-type"] == NDJSON and count() == 151
    send(gig, f"{text}\n", **key).refused(422, "idempotency_mismatch")
    send(gig, text, query="?dry_run=false", **key).refused(422, "idempotency_mismatch")
    # A day later the key is free, and what has an id of its own is still the same task.
    world.call("POST", "/dev/clock/advance", {"seconds": 25 * 3600}).ok()
    later, totals = lines(send(gig, text, **key))
    assert totals["taken"] == 151 and count() == 301
    assert later[150]["message_id"] == lines(first)[0][150]["message_id"]


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-07")
def test_a_key_under_which_nothing_was_taken_is_free_again(world: World) -> None:
    gig = world.gig()
    key = {"idempotency-key": "k"}
    assert lines(send(gig, '{"price": "x"}', **key))[1]["refused"] == 1
    assert lines(send(gig, "{}", **key))[1]["taken"] == 1


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-07")
@pytest.mark.case("F13")
def test_one_file_sent_by_many_at_once_under_one_key_is_taken_once(world: World) -> None:
    gig = world.gig()
    text = ndjson(*({"payload": f"{n}"} for n in range(250)))
    answers = at_once(4, lambda _: send(gig, text, **{"idempotency-key": "k"}))
    assert len({one.text for one in answers}) == 1
    assert count() == 250
    with db.reading():
        assert QueueEntry.select().count() == 250


@pytest.mark.rule("T-07")
@pytest.mark.rule("T-04")
def test_files_that_share_rows_in_other_orders_never_wait_for_each_other(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(3)]
    rows = [{"payload": f"{n}", "external_id": f"e{n}"} for n in range(120)]
    rows += [
        {"payload": "x", "external_id": f"a{n}", "assign_to": place(workers[n % 3])}
        for n in range(30)
    ]
    files = [ndjson(*rows), ndjson(*reversed(rows)), table(*rows[::3], *rows[1::3], *rows[2::3])]

    def act(number: int) -> Any:
        if number == 3:
            return [polled(gig, workers[0]) for _ in range(3)]
        return lines(send(gig, files[number], CSV if number == 2 else NDJSON))[1]["taken"]

    answers = at_once(4, act)
    assert answers[:3] == [150] * 3 and count() == 150


@pytest.mark.rule("T-07")
@pytest.mark.rule("G-04")
@pytest.mark.rule("G-08")
def test_it_is_the_owner_who_sends_so_the_tokens_limits_do_not_count(world: World) -> None:
    gig = world.gig(price="1", webhook_max_price="2", webhook_daily_spend="3")
    found, _ = lines(send(gig, ndjson({"price": 50}, {"price": 50})))
    assert [one["status"] for one in found] == ["queued", "queued"]
    for _ in range(3):
        assert world.send(gig).ok()["status"] == "queued"
    assert world.send(gig).ok()["status"] == "draft"
    gig.owner.patch(gig.path, {"status": "closed"})
    (told,), totals = lines(send(gig, "{}"))
    assert (told["reason"], totals["taken"]) == ("gig_closed", 0)


@pytest.mark.rule("T-07")
@pytest.mark.parametrize("many", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_rows_are_taken_in_the_order_of_the_file(world: World, many: int) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    text = ndjson(*({"payload": "x", "external_id": f"{n}"} for n in range(many)))
    found, totals = lines(send(gig, text))
    assert totals == {"rows": many, "taken": many, "refused": 0}
    assert [one["line"] for one in found] == list(range(1, many + 1))
    assert polled(gig, worker) == [one["message_id"] for one in found[:20]]
