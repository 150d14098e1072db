"""What /docs and /api/openapi.json tell a newcomer: defaults, closed sets, anchors, near misses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import simplejson

import engine
import web
from engine import gig_settings
from engine.errors import Refused
from engine.states import TABLES
from tests.contract import described
from tests.contract.scene import all_hold
from tests.world import World
from web import errors
from web.schemas.states import states

# Answers whose `status` is a word of their own, or a number.
OPEN_SETS = {"Problem", "Submitted", "MailTaken"}


@pytest.fixture
def schemas(world: World) -> dict[str, Any]:
    told: dict[str, Any] = described.of(world.app).spec["components"]["schemas"]
    return told


def page_of(world: World) -> str:
    text: str = world.app.test_client().get("/docs").get_data(as_text=True)
    return text


def defaults(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: one["default"] for name, one in schema["properties"].items() if "default" in one}


@pytest.mark.rule("H-13")
@pytest.mark.rule("G-01")
def test_what_is_left_out_is_what_the_description_says(
    world: World, schemas: dict[str, Any]
) -> None:
    gig = world.gig(join_policy="open")
    owner, worker = gig.owner, world.person()
    optional = schemas["GigCreate"]["properties"].keys() - {"title"}
    assert defaults(schemas["GigCreate"]).keys() == optional
    assert len(optional) == len(gig_settings.DEFAULTS)
    made: list[tuple[str, dict[str, Any], set[str]]] = [
        ("GigCreate", owner.post("/gigs", {"title": "A gig"})["gig"], {"price_tbd"}),
        ("InviteCreate", owner.post(f"{gig.path}/invites")["invite"], set()),
        ("KeyCreate", owner.post("/auth/keys"), set()),
        ("WalletCreate", owner.post("/wallets")["wallet"], {"evm_address"}),
        ("Join", worker.post(f"{gig.path}/mailboxes")["mailbox"], {"new"}),
    ]

    def holds(row: tuple[str, dict[str, Any], set[str]]) -> None:
        name, answer, asked = row
        told = {key: one for key, one in defaults(schemas[name]).items() if key not in asked}
        assert told and {key: answer[key] for key in told} == told

    all_hold(made, holds)
    task = owner.get(f"{gig.path}/tasks/{world.task(gig)}")["task"]
    query = {
        one["name"]: one["schema"].get("default")
        for one in described.of(world.app).spec["paths"]["/api/inbound/webhook/{gig_id}"]["post"][
            "parameters"
        ]
        if one.get("in") == "query"
    }
    assert {name: task[name] for name in ("priority", "availability")} == {
        name: query[name] for name in ("priority", "availability")
    }


@pytest.mark.rule("H-13")
def test_every_state_in_an_answer_is_one_of_a_closed_set(schemas: dict[str, Any]) -> None:
    sets = [set(states(table)) for table in TABLES] + [{"ok"}, {"assigned"}, {"draft"}]
    # Orders that are not sent, and those of them whose brief is open to change.
    sets += [{"draft", "unfunded", "withdrawn"}, {"draft", "withdrawn"}]
    found = {
        (name, field): one
        for name, schema in schemas.items()
        for field, one in schema.get("properties", {}).items()
        if field in ("status", "previous_status", "gig_status") and name not in OPEN_SETS
    }
    assert len(found) > 15
    for place, one in found.items():
        if place[0] in ("GigPatch", "MailboxPatch"):
            continue
        assert set(one["enum"]) - {None} in sets, place


def _codes() -> set[str]:
    """Every reason that is written down at a refusal."""
    files = [file for one in (engine, web) for file in Path(one.__path__[0]).rglob("*.py")]
    text = "\n".join(file.read_text() for file in files)
    return set(re.findall(r'Refused\(\s*"([a-z_]+)"', text)) | set(errors.STATUS)


@pytest.mark.rule("H-04")
def test_every_type_that_a_refusal_names_has_its_anchor(world: World) -> None:
    page = page_of(world)
    anchors = set(re.findall(r'id="(\w+)"', page))
    codes = _codes()
    assert len(codes) > 90
    types = {errors.members(Refused(code, "Why."))["type"] for code in codes}
    assert {one.removeprefix("/docs#") for one in types} <= anchors
    gig = world.gig()
    task_id = world.task(gig)
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", {"assign_to": world.worker(gig).email})
    path = f"{gig.path}/tasks/{task_id}/availability"
    told = gig.owner.call("PATCH", path, {"availability": "open"}).refused(409)
    assert (told["reason"], told["type"]) == ("claimed", "/docs#conflict")
    assert gig.owner.call("GET", "/gigs/x").refused(404)["type"] == "/docs#not_found"


@pytest.mark.rule("H-13")
def test_the_docs_name_their_parts_and_every_page_and_no_rule(world: World) -> None:
    answer = world.app.test_client().get("/docs")
    page = answer.get_data(as_text=True)
    anchors = re.findall(r'id="(\w+)"', page)
    assert len(anchors) == len(set(anchors))
    contents = page.partition("<nav")[2].partition("</nav>")[0]
    assert {"group_gigs", "group_reviews", "pages", "refusals"} <= set(
        re.findall(r'href="#(\w+)"', contents)
    )
    for path in ("/claim/{gig_id}/{task_id}", "/join/{gig_id}", "/submit/{token}"):
        assert f"<dt><code>{path}</code></dt>" in page
    assert f"by default <code>{gig_settings.DEFAULT_REVIEW_TIMEOUT_SECONDS}</code>" in page
    (nonce,) = set(re.findall(r'nonce="([^"]+)"', page))
    assert f"script-src 'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
    spec = simplejson.dumps(described.of(world.app).spec)
    assert not re.findall(r"\b[A-Z]-\d\d\b", page + spec)


NEAR: list[tuple[str, str, Any, dict[str, str]]] = [
    ("POST", "/gigs", {"title": "A", "reviewTimeout": 1}, {"reviewTimeout": "review_timeout"}),
    ("PATCH", "{gig}", {"Titel": "A", "price_cents": 1}, {"Titel": "title", "price_cents": ""}),
    ("GET", "/gigs/mine?limitt=5", None, {"limitt": "limit"}),
    (
        "POST",
        "{gig}/proofs/bulk-review",
        {"reviews": [{"proof_id": "x", "action": "approve", "feedbak": "y"}]},
        {"reviews.0.feedbak": "feedback"},
    ),
    ("POST", "/gigs", {"title": "A", "x" * 100_000: 1, "a.b": 1}, {"x" * 60: "", "a.b": ""}),
]


@pytest.mark.rule("H-05")
def test_a_name_that_is_nearly_right_is_told_the_right_one(world: World) -> None:
    gig = world.gig()

    def holds(row: tuple[str, str, Any, dict[str, str]]) -> None:
        method, path, body, near = row
        told = gig.owner.call(method, path.replace("{gig}", gig.path), body).refused(400)
        assert told["errors"] == dict(_told(near))

    all_hold(NEAR, holds)
    fixed = gig.owner.call("PATCH", gig.path, {"distribution": "queue"}).refused(400)
    assert "fixed" in fixed["errors"]["distribution"]


def _told(near: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, meant in near.items():
        yield name, f"Unknown field; did you mean `{meant}`?" if meant else "Unknown field"
