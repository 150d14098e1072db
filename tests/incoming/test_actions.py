"""What stands in the way of an action on planned work, and in which order (I-02, I-03)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.mode_item import ModeItem
from tests.contract.scene import all_hold, everything
from tests.incoming.world import done, gig, item, items, send, use
from tests.world import Person, World, at_once

PLAN = {"plannedStart": "2026-10-19T14:00:00"}
BODIES: dict[str, Any] = {
    "plan": PLAN,
    "start": {},
    "complete": {"response": "Done."},
    "reassign": {"assigneeId": 9},
}


def routed(world: World, **body: Any) -> tuple[Person, Any]:
    """A worker and the one item on his desk."""
    place = gig(world)
    worker = world.worker(place)
    send(world, place, body)
    return worker, item(worker)


@pytest.mark.rule("I-03")
def test_an_action_needs_the_items_revision_and_a_key_of_its_own(world: World) -> None:
    worker, seen = routed(world)
    tag = seen["etag"]
    before = everything()

    def refused(row: tuple[str | None, int]) -> None:
        given, status = row
        answer = use(worker, seen["id"], "plan", PLAN, etag=given)
        told = answer.refused(status)
        assert status != 412 or told["etag"] == tag

    bare = tag.strip('"')
    rows: list[tuple[str | None, int]] = [(None, 428)]
    rows += [(one, 412) for one in (f"W/{tag}", bare, f'"{bare[:-1]}x"', tag[:-1], "", ",", '""')]
    rows += [(f'"{bare.upper()}x"', 412), (f"{tag} {tag}", 412), (f"{tag}, *", 412), ("**", 412)]
    all_hold(rows, refused)
    use(worker, seen["id"], "plan", PLAN, etag=tag, key=None).refused(428, "precondition_required")
    use(worker, seen["id"], "plan", PLAN, etag=tag, key="a,b").refused(400)
    assert everything() == before
    for given in ("*", f'"x", {tag}', f'W/"x" , {tag},'):
        done(use(worker, seen["id"], "plan", PLAN, etag=given))
        db.write(lambda: ModeItem.update(stage="floating", revision=bare).execute())
    done(use(worker, seen["id"], "plan", PLAN, etag=tag))


@pytest.mark.rule("I-03")
@pytest.mark.rule("H-05")
def test_a_body_of_another_action_or_of_another_shape_is_refused(world: World) -> None:
    worker, seen = routed(world)
    before = everything()

    def refused(row: tuple[str, Any, list[str]]) -> None:
        verb, body, named = row
        told = use(worker, seen["id"], verb, body, etag=seen["etag"]).refused(400, "invalid")
        assert sorted(told["errors"]) == named

    rows: list[tuple[str, Any, list[str]]] = [
        ("start", PLAN, ["plannedStart"]),
        ("start", {"assigneeId": 9}, ["assigneeId"]),
        ("plan", {}, ["plannedStart"]),
        ("plan", {**PLAN, "assigneeId": 9}, ["assigneeId"]),
        ("plan", {"plannedstart": "x"}, ["plannedStart", "plannedstart"]),
        ("complete", {}, ["response"]),
        ("complete", {"response": ""}, ["response"]),
        ("complete", {"response": None}, ["response"]),
        ("complete", {"response": " \t\n\u00a0 "}, ["response"]),
        ("complete", {"response": "x" * 8001}, ["response"]),
        ("complete", {"response": "x", "actualEffortMinutes": 5}, ["actualEffortMinutes"]),
        ("reassign", {}, ["assigneeId"]),
        ("reassign", {"mailbox_id": "MBX_1", "assigneeId": 9}, ["mailbox_id"]),
    ]
    odd: list[Any] = [None, 5, [], "x" * 41]
    rows += [("plan", {"plannedStart": one}, ["plannedStart"]) for one in odd]
    rows += [("plan", {"plannedStart": one}, ["plannedStart"]) for one in ("soon", "2026-10-19")]
    rows += [
        ("plan", {"plannedStart": f"2026-10-19T14:00:00{zone}"}, ["plannedStart"])
        for zone in ("Z", "+02:00", ".5")
    ]
    rows += [("reassign", {"assigneeId": one}, ["assigneeId"]) for one in (0, -1, "9", 9.5, True)]
    # Nobody of the gig.
    rows += [("reassign", {"assigneeId": one}, ["assigneeId"]) for one in (10**9, 2**63 - 1)]
    all_hold(rows, refused)
    for raw, kind, status in (
        (b"[]", "application/json", 400),
        (b"{", "application/json", 400),
        (b"{}", "text/plain", 415),
    ):
        headers = {"content-type": kind, "if-match": "*", "idempotency-key": "raw"}
        path = f"/v1/incoming/{seen['id']}/start"
        worker.call("POST", path, raw=raw, headers=headers).refused(status)
    worker.call("POST", f"{path}?x=1", {}, headers={"if-match": "*"}).refused(400)
    assert everything() == before


@pytest.mark.rule("I-03")
@pytest.mark.rule("I-04")
def test_nobody_else_reads_or_acts(world: World) -> None:
    place = gig(world)
    worker, colleague = world.worker(place), world.worker(place)
    send(world, place, assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
    seen = item(worker)
    stranger = world.person("stranger")
    before = everything()
    for person in (colleague, place.owner, stranger):
        assert items(person, accepted=True) == []
        for verb, body in BODIES.items():
            use(person, seen["id"], verb, body).refused(404, "not_found")
    for number in ("0", "-1", "01", "9" * 19, "9" * 40, "x", "1.0", "%00", seen["etag"], "٣"):
        use(worker, number, "start").refused(404, "not_found")
    use(worker, seen["id"], "dance").refused(404)
    use(worker, seen["id"], "").refused(404)
    assert everything() == before


@pytest.mark.rule("I-03")
@pytest.mark.rule("H-02")
def test_keys_with_the_scopes_of_planning_do_what_these_say(world: World) -> None:
    worker, seen = routed(world)
    keys = {
        scope: worker.post("/auth/keys", {"scopes": [scope]})["key"]
        for scope in ("all", "tasks:read", "tasks:update")
    }

    def status(scope: str, method: str, path: str, body: Any = None) -> int:
        headers = {"x-api-key": keys[scope], "if-match": "*", "idempotency-key": f"as {scope}"}
        return world.call(method, path, body, headers=headers).status

    for path in ("/v1/incoming", "/v1/assignees", "/v1/me/schedule"):
        assert [status(one, "GET", path) for one in keys] == [200, 200, 403]
    path = "/v1/me/schedule"
    assert [status(one, "PATCH", path, {}) for one in keys] == [200, 403, 200]
    # Each key has its own stored answers, and another scope opens none of them.
    path = f"/v1/incoming/{seen['id']}/plan"
    assert [status(one, "POST", path, PLAN) for one in ("tasks:read", "tasks:update")] == [403, 204]
    assert status("tasks:read", "POST", path, PLAN) == 403
    for one in ("tasks:read", "tasks:update"):
        assert status(one, "GET", "/auth/me") == status(one, "POST", "/gigs", {}) == 403
    assert world.call("GET", "/v1/incoming").status == 401


@pytest.mark.rule("I-02")
def test_each_action_has_its_stages(world: World) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    number = other.get("/auth/me")["number"]
    bodies = {**BODIES, "reassign": {"assigneeId": number}}
    allowed = {
        "floating": {"plan", "start", "reassign"},
        "planned": {"start", "complete"},
        "inprogress": {"complete"},
        "completed": set(),
    }
    for stage, verbs in allowed.items():
        for verb, body in bodies.items():
            send(world, place, assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
            (seen,) = items(worker)
            for step in {
                "planned": ["plan"],
                "inprogress": ["start"],
                "completed": ["start", "complete"],
            }.get(stage, []):
                done(use(worker, seen["id"], step, bodies[step]))
            answer = use(worker, seen["id"], verb, body)
            if verb in verbs:
                done(answer)
            else:
                assert answer.refused(409, "wrong_stage")["stage"] == stage
            # Out of the way of the next.
            other_has = verb == "reassign" and verb in verbs
            owner = other if other_has else worker
            for step in ("start", "complete"):
                use(owner, seen["id"], step, bodies[step])
    assert items(worker) == [] and items(other) == []


@pytest.mark.rule("I-03")
def test_what_is_wrong_is_told_in_the_order_of_the_description(world: World) -> None:
    """Scope, body, headers, whose it is, revision, stage, and last what the values mean."""
    worker, seen = routed(world)
    limited = worker.post("/auth/keys", {"scopes": ["tasks:read"]})["key"]
    path = f"/v1/incoming/{seen['id']}/plan"
    world.call("POST", path, {"x": 1}, headers={"x-api-key": limited}).refused(403)
    use(worker, 10**9, "plan", {"x": 1}, etag=None, key=None).refused(400)
    told = use(worker, 10**9, "plan", PLAN, etag=None, key=None).refused(428)
    assert "If-Match" in told["error"]
    told = use(worker, 10**9, "plan", PLAN, etag="x", key=None).refused(428)
    assert "Idempotency-Key" in told["error"]
    use(worker, 10**9, "plan", PLAN, etag="x").refused(404)
    done(use(worker, seen["id"], "start"))
    leap = {"plannedStart": "2026-03-29T02:30"}
    worker.patch("/auth/me", {"timezone": "Europe/Berlin"})
    use(worker, seen["id"], "plan", leap, etag=seen["etag"]).refused(412, "precondition_failed")
    use(worker, seen["id"], "plan", leap).refused(409, "wrong_stage")
    place = gig(world)
    world.worker(place, worker)
    send(world, place)
    (fresh,) = items(worker)
    use(worker, fresh["id"], "plan", leap).refused(422, "no_such_local_time")


@pytest.mark.rule("I-03")
@pytest.mark.rule("H-07")
def test_a_repeat_is_answered_as_the_first_was_and_moves_nothing(world: World) -> None:
    worker, seen = routed(world)
    first = use(worker, seen["id"], "plan", PLAN, etag=seen["etag"], key="mine")
    assert "idempotency-replayed" not in done(first).headers
    planned = item(worker)
    done(use(worker, seen["id"], "start", etag=planned["etag"]))
    begun = item(worker)
    # By now the tag is stale and the stage another.
    for etag in (seen["etag"], begun["etag"], "*"):
        again = done(use(worker, seen["id"], "plan", PLAN, etag=etag, key="mine"))
        assert again.headers["idempotency-replayed"] == "true"
    assert item(worker) == begun
    other = {"plannedStart": "2026-10-20T14:00:00"}
    mismatch = use(worker, seen["id"], "plan", other, etag=seen["etag"], key="mine")
    mismatch.refused(422, "idempotency_mismatch")
    # A refusal took no effect, so its key is free.
    use(worker, seen["id"], "complete", {"response": "x"}, etag='"x"', key="new").refused(412)
    done(use(worker, seen["id"], "complete", {"response": "y"}, etag=begun["etag"], key="new"))


@pytest.mark.rule("I-03")
@pytest.mark.parametrize("verb", ["plan", "start"])
def test_of_ten_at_once_with_one_revision_one_is_made(world: World, verb: str) -> None:
    worker, seen = routed(world)
    body = BODIES[verb]
    answers = at_once(10, lambda _: use(worker, seen["id"], verb, body, etag=seen["etag"]))
    assert sorted(one.status for one in answers) == [204] + [412] * 9
    assert {one.json["etag"] for one in answers if one.status == 412} == {item(worker)["etag"]}


@pytest.mark.rule("I-03")
@pytest.mark.rule("H-07")
def test_ten_at_once_with_one_key_are_all_answered_and_have_one_effect(world: World) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    number = other.get("/auth/me")["number"]
    send(world, place, assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
    seen = item(worker)

    def acted() -> int:
        with db.reading():
            return int(db.scalar("SELECT count(*) FROM event WHERE type = 'task.acted'"))

    for verb, body in (("plan", PLAN), ("complete", {"response": "Done."})):
        before = acted()
        tag = item(worker)["etag"]
        answers = at_once(10, lambda _: use(worker, seen["id"], verb, body, etag=tag, key=verb))  # noqa: B023
        assert [done(one).status for one in answers] == [204] * 10
        assert acted() == before + 1
    # Also where the item is not the caller's any more once it is done.
    send(world, place, assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
    (seen,) = items(worker)
    give = {"body": {"assigneeId": number}, "etag": seen["etag"], "key": "give"}
    answers = at_once(10, lambda _: use(worker, seen["id"], "reassign", **give))
    assert [done(one).status for one in answers] == [204] * 10
    assert items(worker) == [] and len(items(other)) == 1
