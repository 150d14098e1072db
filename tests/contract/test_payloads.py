"""A task's body is kept to the byte and given back so (T-01, H-11)."""

from __future__ import annotations

import pytest

from tests.contract.scene import all_hold, everything
from tests.world import Answer, Gig, World

MOST = 2_000_000
JSON = "application/json"

# (content type, body)
KEPT: list[tuple[str, bytes]] = [
    ("text/plain", b""),
    ("text/plain", b"x"),
    ("text/plain", b" "),
    ("text/plain", b"\n"),
    ("text/plain", b"\r\n line \r\n\r\n\ttab\x0b\x0c\x7f\x01 "),
    ("text/plain; charset=utf-8", "é e\u0301 Ω 漢字".encode()),
    (
        "text/plain",
        "\N{GRINNING FACE}\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0010ffff".encode(),
    ),
    ("text/plain", "\u2028\u2029\u0085\ufeffx\ufffd\ufffe".encode()),
    ("text/plain", "\ufeffbegins with a mark".encode()),
    (
        "text/plain",
        "\u202eright to left \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627".encode(),
    ),
    ("text/plain", b"'; DROP TABLE task; -- %s ? :x {} $1 \\0 \\x00 \\u0000"),
    ("text/html", b"<!doctype html><script>alert('x')</script><p>&amp;&nbsp;\r\n</p>"),
    ("application/x-www-form-urlencoded", b"a=1&a=2&b=%00&c=%zz"),
    (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1',
    ),
    ("application/octet-stream", b"{ no json"),
    ("application/x-ndjson", b'{"a": 1}\n{"a": 2}\n'),
    (JSON, b""),
    (JSON, b'  {"b" : 1,\r\n\t"a":[ 2.50, 1E+2 ]}  \n'),
    (JSON, b'{"a": 1, "a": 2}'),
    (JSON, b'{"a": 123456789012345678901234567890, "b": 1e999999999999999999999999}'),
    (JSON, b'{"a": "\\u0000", "b": "\\ud800", "c": "\\u00e9"}'),
    (JSON, b"[" * 500 + b"]" * 500),
    (JSON, b"null"),
    (JSON, b'"text"'),
    (JSON, b"-0.0"),
    ("application/ld+json; charset=utf-8", b'{"@id": 1}'),
    ("", b"no content type"),
]


def sent(world: World, gig: Gig, content_type: str, body: bytes) -> Answer:
    headers = {"content-type": content_type} if content_type else {}
    path = f"/inbound/webhook/{gig.id}?token={gig.token}"
    return world.call("POST", path, raw=body, headers=headers)


@pytest.mark.rule("T-01")
@pytest.mark.rule("H-11")
def test_a_payload_is_read_back_as_the_bytes_that_were_sent(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)

    def kept(row: tuple[str, bytes]) -> None:
        content_type, body = row
        task_id = sent(world, gig, content_type, body).ok()["message_id"]
        (listed,) = worker.get(f"{gig.path}/queue")["tasks"]
        (polled,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
        read = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
        for task in (listed, polled, read):
            assert task["payload"].encode() == body
            assert task["content_type"] == (content_type or "application/octet-stream")

    all_hold(KEPT, kept)


# (content type, body)
REFUSED: list[tuple[str, bytes]] = [
    ("text/plain", b"a\x00b"),
    ("text/plain", b"\x00"),
    ("text/plain", b"\xff"),
    ("text/plain", b"\xed\xa0\x80"),
    ("text/plain", b"\xc0\x80"),
    ("text/plain", "\N{GRINNING FACE}".encode()[:3]),
    ("text/plain; charset=latin-1", b"\xe9"),
    ("text/plain", "x".encode("utf-16")),
    (JSON, b"{"),
    (JSON, b"{'a': 1}"),
    (JSON, b'{"a": 1} x'),
    (JSON, b'{"a": NaN}'),
    (JSON, b"Infinity"),
    (JSON, b"[1,]"),
    (JSON, b'{"a": "\t"}'),
    (JSON, b'\xef\xbb\xbf{"a": 1}'),
    (JSON, b" "),
    (JSON, b"[" * 100_000),
    (JSON, b"[" * 100_000 + b"]" * 100_000),
    ("application/vnd.x+json", b"<html>"),
]


@pytest.mark.rule("T-01")
@pytest.mark.rule("H-11")
def test_what_cannot_be_kept_is_refused_and_makes_no_task(world: World) -> None:
    gig = world.gig()
    before = everything()

    def refused(row: tuple[str, bytes]) -> None:
        assert list(sent(world, gig, *row).refused(400)["errors"]) == ["payload"]

    all_hold(REFUSED, refused)
    assert everything() == before


@pytest.mark.rule("T-01")
@pytest.mark.rule("T-08")
def test_two_million_characters_are_kept_and_one_more_is_413(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    # Four bytes a character, so that characters are counted and not bytes.
    for character, more in (("\N{GRINNING FACE}", 0), ("x", 0)):
        text = character * (MOST - 1) + "é" + character * more
        task_id = sent(world, gig, "text/plain", text.encode()).ok()["message_id"]
        (listed,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
        assert listed["payload"] == text[:1000]
        assert listed["payload_truncated"] is True
        assert listed["payload_bytes"] == len(text.encode())
        (polled,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
        assert polled["id"] == task_id and polled["payload"] == text
        assert "payload_truncated" not in polled
        assert worker.get(f"{gig.path}/tasks/{task_id}")["task"]["payload"] == text
    before = everything()
    for text in ("x" * (MOST + 1), "\N{GRINNING FACE}" * (MOST + 1)):
        told = sent(world, gig, "text/plain", text.encode()).refused(413, "payload_too_large")
        assert (told["received_chars"], told["max_chars"]) == (MOST + 1, MOST)
    sent(world, gig, "text/plain", b"x" * 9_000_001).refused(413, "payload_too_large")
    assert everything() == before


@pytest.mark.rule("T-08")
def test_a_preview_begins_past_6000_characters(world: World) -> None:
    gig = world.gig()
    world.task(gig, "é" * 6000)
    world.task(gig, "é" * 6001)
    whole, preview = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert len(whole["payload"]) == 6000 and "payload_truncated" not in whole
    assert len(preview["payload"]) == 1000
    assert (preview["payload_truncated"], preview["payload_bytes"]) == (True, 12_002)


@pytest.mark.rule("T-01")
def test_what_shapes_a_task_comes_back_as_it_was_sent(world: World) -> None:
    gig = world.gig()
    subject = "é \u202e \N{GRINNING FACE} '\"<b>&amp;"
    tags = [f"tag {number}" for number in range(24)] + ["é" * 256]
    task_id = world.task(gig, "x", subject=subject, tags=",".join(tags), external_id="é/%00 ?")
    task = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert (task["subject"], task["tags"]) == (subject, tags)
    assert task["external_id"] == "é/%00 ?"


# (parameter, a value that is too much)
TOO_MUCH = [
    ("subject", "x" * 501),
    ("tags", ",".join(f"t{number}" for number in range(26))),
    ("tags", "x" * 257),
    ("external_id", ""),
    ("external_id", "x" * 256),
    *(("priority", text) for text in ("-1", "1.5", "10000000000", "1e3", "", "٣", " 5", "+5", "x")),
]


@pytest.mark.rule("T-03")
@pytest.mark.rule("T-01")
def test_what_shapes_a_task_wrongly_is_refused_by_name(world: World) -> None:
    gig = world.gig()
    before = everything()

    def refused(row: tuple[str, str]) -> None:
        told = world.send(gig, "x", **{row[0]: row[1]}).refused(400)
        assert list(told["errors"]) == [row[0]]

    all_hold(TOO_MUCH, refused)
    assert everything() == before
    for priority in ("0", "5", "9999999999", "0005"):
        made = world.send(gig, "x", priority=priority).ok()
        assert made["priority"] == int(priority)
    assert world.send(gig, "x").ok()["priority"] == 1000


@pytest.mark.rule("G-01")
def test_a_gig_takes_25_tags_of_256_characters(world: World) -> None:
    owner = world.person()
    tags = [f"{number}".rjust(256, "é") for number in range(25)]
    made = owner.post("/gigs", {"title": "A gig", "tags": tags})["gig"]
    assert owner.get(f"/gigs/{made['id']}")["gig"]["tags"] == tags
    for wrong, named in (([*tags, "x"], "tags"), ([tags[0] + "x"], "tags.0"), ([""], "tags.0")):
        told = owner.call("POST", "/gigs", {"title": "A gig", "tags": wrong}).refused(400)
        assert list(told["errors"]) == [named]
