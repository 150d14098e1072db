"""What a comment may say: it comes back to the character, or is refused by name (T-09, H-11)."""

from __future__ import annotations

import pytest

from tests.contract.scene import all_hold, everything
from tests.contract.talking import Talk
from tests.world import World

BODIES = [
    "x",
    " ",
    "\n",
    "\ufeff",
    "null",
    "<script>alert(1)</script>",
    "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><!--",
    "<img src=x onerror=alert(1)>&lt;&amp;&#0;",
    "javascript:alert(1)",
    "'; DROP TABLE comment; --",
    "{{ 7 * 7 }} ${7*7} %s %(x)s ? :name \\ \\u0000",
    '=HYPERLINK("http://127.0.0.1/")',
    "a\u202eb\u2066c\u2069d",
    "line\u2028paragraph\u2029next\u0085end",
    "e\u0301 is not \u00e9",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪",
    "\x01\x07\x08\x1b[31m\x7f\x9f",
    "\ufffd\uffff\ufffe\U0010ffff",
    "  blanks before, after, and a tab\t\r\n",
    "x" * 4000,
    "😀" * 4000,
    "\u202e" * 4000,
]
# A body as it stands in JSON, which is none that a comment may have.
REFUSED = [
    '""',
    "null",
    "1",
    "true",
    '["x"]',
    '{"x": 1}',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"a\\udfff"',
    f'"{"x" * 4001}"',
    f'"{"😀" * 4001}"',
    f'"{"x" * 100_000}"',
]


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-11")
def test_a_body_comes_back_to_the_character_to_every_reader(world: World) -> None:
    talk = Talk.of(world, "public")

    def kept(body: str) -> None:
        assert talk.say("member", body)["body"] == body

    all_hold(BODIES, kept)
    for name in talk.people:
        answer = talk.people[name].call("GET", f"{talk.path}?limit=200")
        assert [one["body"] for one in answer.json["comments"]] == BODIES
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-11")
def test_what_is_no_body_is_refused_by_its_name_and_changes_nothing(world: World) -> None:
    talk = Talk.of(world, "public")
    headers = {"content-type": "application/json"}
    before = everything()

    def refused(text: str) -> None:
        raw = f'{{"body": {text}}}'.encode()
        told = talk.people["member"].call("POST", talk.path, raw=raw, headers=headers).refused(400)
        assert {name.partition(".")[0] for name in told["errors"]} == {"body"}

    all_hold(REFUSED, refused)
    for body in ({}, {"parent_id": None}):
        told = talk.people["member"].call("POST", talk.path, body).refused(400)
        assert list(told["errors"]) == ["body"]
    for name, values in {
        "private": ["yes", 1, 0, None, "true", []],
        "parent_id": ["", 1, True, [], "x" * 101, "\0"],
    }.items():
        for value in values:
            told = talk.call("member", **{name: value}).refused(400)
            assert list(told["errors"]) == [name]
    assert everything() == before


@pytest.mark.rule("T-09")
def test_a_parent_of_another_task_or_gig_is_none(world: World) -> None:
    talk = Talk.of(world, "public")
    elsewhere = Talk.of(world, "public", owner=talk.gig.owner)
    comment_id = talk.say("owner")["id"]
    beside = Talk(world, talk.gig, world.task(talk.gig), talk.people)
    beside.set("public")
    before = everything()
    for other in (beside, elsewhere):
        for wrong in (comment_id, comment_id.lower(), "x", "%", "' OR 1=1 --"):
            other.call("owner", parent_id=wrong).refused(404)
        other.delete("owner", comment_id).refused(404)
    assert everything() == before
