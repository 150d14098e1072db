"""What a link opens without a key, and how often (H-12)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock
from engine.db import db
from engine.ids import new_token
from tests.contract.links import place
from tests.contract.scene import everything
from tests.contract.shares import token_of
from tests.processes import Layout, Starter, start_stack
from tests.world import Answer, World, at_once

__all__ = ["start_stack"]

MINUTE = 60


def _ask(world: World, token: str) -> Answer:
    return world.call("GET", f"/public/invite-info?token={token}")


def limited(answer: Answer, limit: str) -> None:
    told = answer.refused(429, "rate_limited")
    assert told["limit"] == limit
    seconds = int(answer.headers["retry-after"])
    assert 1 <= seconds == told["retry_after"] <= MINUTE
    assert answer.headers["ratelimit"].startswith(f'"{limit}";r=0;t=')


@pytest.mark.rule("H-12")
@pytest.mark.rule("G-05")
def test_an_invites_link_tells_what_it_is_to_and_uses_nothing_up(world: World) -> None:
    gig = world.gig(title="Birds", terms="Be kind.", price="2.01", notes="the owner's notes")
    gig.owner.patch("/auth/me", {"display_name": "Ada"})
    body = {"max_uses": 2, "email": "bound@example.com", "label": "For Bob"}
    bound = gig.owner.post(f"{gig.path}/invites", body)["invite"]["token"]
    whole = {
        "gig_id": gig.id,
        "title": "Birds",
        "terms": "Be kind.",
        "status": "active",
        "distribution": "queue",
        "join_policy": "invite",
        "requires_approval": False,
        "owner_name": "Ada",
    }
    for token, more in (
        (gig.invite, {"label": "", "email_bound": False, "uses_left": None}),
        (bound, {"label": "For Bob", "email_bound": True, "uses_left": 2}),
    ):
        for _ in range(2):
            answer = _ask(world, token)
            told: dict[str, Any] = answer.ok()["invite"]
            assert str(told.pop("price")) == "2.01" and told.pop("list_price") is None
            assert told == {**whole, **more}
            assert "bound@example.com" not in answer.text
    world.worker(gig)
    gig.owner.patch(gig.path, {"status": "closed"})
    assert _ask(world, gig.invite).ok()["invite"]["status"] == "closed"


@pytest.mark.rule("H-12")
@pytest.mark.rule("G-05")
def test_an_unknown_or_revoked_invite_is_not_found_and_one_used_up_is_gone(world: World) -> None:
    gig = world.gig()
    once = gig.owner.post(f"{gig.path}/invites", {"max_uses": 1})["invite"]["token"]
    assert _ask(world, once).ok()["invite"]["uses_left"] == 1
    world.worker(gig, invite=once)
    assert "used up" in _ask(world, once).refused(410, "gone")["error"]
    gig.owner.call("DELETE", f"{gig.path}/invites/{gig.invite}").ok()
    for token in (gig.invite, gig.token, new_token(), once.swapcase(), f"{once}%20", "%C3%A9"):
        assert "Check the link" in _ask(world, token).refused(404, "not_found")["error"]
    for query in ("", "?token=", f"?token={'x' * 101}", f"?token={once}&token={once}"):
        told = world.call("GET", f"/public/invite-info{query}").refused(400, "invalid")
        assert list(told["errors"]) == ["token"]


@pytest.mark.rule("H-12")
def test_a_token_opens_thirty_times_a_minute_and_an_address_asks_sixty_times(world: World) -> None:
    one, other, third = (world.gig().invite for _ in range(3))
    answers = at_once(31, lambda _: _ask(world, one))
    assert sorted(answer.status for answer in answers) == [200] * 30 + [429]
    (refused,) = [answer for answer in answers if answer.status == 429]
    limited(refused, "token")
    # A link that was passed around does not close the others.
    for _ in range(29):
        _ask(world, other).ok()
    for token in (other, third, new_token()):
        limited(_ask(world, token), "address")
    clock.advance(MINUTE)
    for token in (one, other, third):
        _ask(world, token).ok()


@pytest.mark.rule("H-12")
def test_ten_unknown_tokens_shut_an_address_out_for_the_rest_of_the_minute(world: World) -> None:
    gig = world.gig()
    for _ in range(9):
        _ask(world, new_token()).refused(404)
    _ask(world, gig.invite).ok()
    clock.advance(20)
    _ask(world, new_token()).refused(404)
    for token in (gig.invite, new_token(), gig.invite):
        answer = _ask(world, token)
        limited(answer, "unknown tokens")
        # The rest of that minute, not a new one.
        assert int(answer.headers["retry-after"]) <= MINUTE - 20
    clock.advance(MINUTE - 20)
    _ask(world, gig.invite).ok()


@pytest.mark.rule("H-12")
def test_of_many_guesses_at_once_ten_are_answered(world: World) -> None:
    answers = at_once(16, lambda _: _ask(world, new_token()))
    assert sorted(answer.status for answer in answers) == [404] * 10 + [429] * 6


@pytest.mark.rule("H-12")
def test_what_is_counted_holds_no_token(world: World) -> None:
    gig = world.gig()
    before = everything()
    _ask(world, gig.invite).ok()
    after = everything()
    assert {name for name in before if before[name] != after[name]} == {"counter"}
    with db.reading():
        kept = [key for (key,) in db.rows("SELECT key FROM counter")]
    assert len(kept) == 2 and not any(gig.invite in key for key in kept)


@pytest.mark.rule("H-12")
@pytest.mark.rule("R-07")
def test_the_limits_and_the_end_of_a_link_hold_across_processes(start_stack: Starter) -> None:
    stack = start_stack(Layout("postgres", serve=2), LOG_LEVEL="info")
    gig = stack.gig()
    worker = stack.worker(gig)
    first, task_id = token_of(worker), stack.task(gig)

    def ask(token: str, via: int, path: str = "invite-info") -> Answer:
        return stack.call("GET", f"/public/{path}?token={token}", via=via)

    for number in range(10):
        ask(new_token(), number, ("invite-info", "mailbox-info")[number % 2]).refused(404)
    for via in (0, 1):
        limited(ask(gig.invite, via), "unknown tokens")
        limited(ask(first, via, "mailbox-info"), "unknown tokens")
    for token, path in ((gig.invite, "invite-info"), (first, "mailbox-info")):
        stack.advance(MINUTE)
        answers = at_once(31, lambda number, of=(token, path): ask(of[0], number, of[1]))
        assert sorted(answer.status for answer in answers) == [200] * 30 + [429]
    stack.advance(MINUTE)
    old, renew = first, f"{gig.path}/mailboxes/{place(worker)}/regenerate-token"
    for via in (0, 1, 0):
        new = worker.call("POST", renew, via=via).ok()["share_token"]
        ask(old, via + 1, "mailbox-info").refused(404)
        ask(new, via + 1, "mailbox-info").ok()
        old = new
    body = {"share_token": new, "task_identifier": task_id}
    answers = at_once(16, lambda n: stack.call("POST", "/public/submit-proof", body, via=n))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 15
    assert stack.complaints() == []
    said = "".join(process.log.read_text() for process in stack.processes)
    assert '"path": "/api/public/invite-info"' in said
    assert not [token for token in (gig.invite, first, new) if token in said]
