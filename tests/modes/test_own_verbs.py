"""Verbs of a mode's own: who may use one, from where, and what comes of a faulty mode."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock
from engine.rules import times
from jobs import actors
from tests.contract.scene import everything
from tests.modes.trial_mode import FAULTS
from tests.world import Answer, Gig, Person, World, at_once

pytestmark = [pytest.mark.rule("G-03"), pytest.mark.usefixtures("trial")]


def use(gig: Gig, person: Person, task_id: str, verb: str, **body: Any) -> Answer:
    return person.call("POST", f"{gig.path}/tasks/{task_id}/do/{verb}", body)


def mode_of(gig: Gig, person: Person, task_id: str) -> Any:
    return person.get(f"{gig.path}/tasks/{task_id}")["task"]["mode"]


def number(person: Person) -> int:
    found: int = person.get("/auth/me")["number"]
    return found


def test_a_verb_is_its_roles_and_from_its_stages_and_tells_where_the_task_is(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker, stranger = world.worker(gig), world.person()
    task_id = world.task(gig)
    use(gig, gig.owner, task_id, "take").refused(403)
    use(gig, stranger, task_id, "take").refused(403, "not_joined")
    assert use(gig, worker, task_id, "take").ok() == {"success": True, "stage": "held"}
    refusal = use(gig, world.worker(gig), task_id, "take").refused(404)
    refusal = use(gig, worker, task_id, "take").refused(409, "wrong_stage")
    assert refusal["stage"] == "held"
    refusal = use(gig, worker, task_id, "fly").refused(404, "not_found")
    assert "take, pass, finish" in refusal["error"]
    refusal = use(gig, stranger, task_id, "fly").refused(404, "not_found")
    assert refusal["error"].endswith("are: poke, fail."), "no more than he may use himself"
    hidden = world.gig(distribution="incoming")
    refusal = use(hidden, stranger, world.task(hidden, subject="Plan"), "fly").refused(
        404, "not_found"
    )
    assert "incoming" not in refusal["error"] and "plan" not in refusal["error"]
    assert use(gig, worker, task_id, "poke").ok() == {"poked": True}
    use(gig, worker, "TASK_NONE", "poke").refused(404, "not_found")
    (told,) = [
        one["data"]
        for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        if one["type"] == "task.acted" and one["data"]["verb"] == "take"
    ]
    assert told == {"verb": "take", "from": "new", "to": "held"}


def test_the_body_is_read_by_the_verbs_schema(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    task_id = world.task(gig)
    use(gig, worker, task_id, "take").ok()
    wrong = use(gig, worker, task_id, "finish", text=1, txet="x").refused(400)["errors"]
    assert wrong == {"text": "give a text", "txet": "Unknown field; did you mean `text`?"}
    missing = use(gig, worker, task_id, "finish").refused(400)["errors"]
    assert missing == {"text": "Missing data for required field"}
    use(gig, worker, task_id, "poke", extra=1).refused(400)
    use(gig, worker, task_id, "poke", mailbox_id="MBX_OTHER").refused(403)
    use(gig, worker, task_id, "poke", mailbox_id=worker.mailbox["id"]).ok()  # type: ignore[attr-defined]


def test_only_who_has_it_in_hand_uses_what_is_his(world: World) -> None:
    gig = world.gig(distribution="trial", task_timeout=60)
    holder, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    use(gig, holder, task_id, "finish", text="x").refused(404)
    use(gig, holder, task_id, "take").ok()
    use(gig, other, task_id, "finish", text="x").refused(404)
    use(gig, gig.owner, task_id, "finish", text="x").refused(403)
    clock.advance(60)
    use(gig, holder, task_id, "finish", text="x").refused(410, "claim_lost")
    actors.sweep()
    use(gig, holder, task_id, "finish", text="x").refused(410, "claim_lost")


def test_a_plan_may_hand_in_a_proof_that_is_reviewed_as_any(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    task_id = world.task(gig)
    use(gig, worker, task_id, "take").ok()
    assert use(gig, worker, task_id, "finish", text="all done").ok()["stage"] == "done"
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert (proof["status"], proof["proofs"]) == ("pending", ["all done"])
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    use(gig, worker, task_id, "finish", text="again").refused(409, "wrong_state")


def test_a_task_is_passed_to_the_account_with_a_number(world: World) -> None:
    gig = world.gig(distribution="trial")
    one, other, outsider = world.worker(gig), world.worker(gig), world.person()
    task_id = world.task(gig)
    use(gig, one, task_id, "take").ok()
    for nobody in (0, 10**15, number(outsider)):
        refusal = use(gig, one, task_id, "pass", to=nobody).refused(400, "invalid")
        assert list(refusal["errors"]) == ["to"]
    use(gig, one, task_id, "pass", to=number(other)).ok()
    assert mode_of(gig, other, task_id)["reader"] == "holder"
    use(gig, one, task_id, "pass", to=number(one)).refused(404)


def test_two_who_pass_each_other_their_tasks_again_and_again_both_come_through(
    world: World,
) -> None:
    gig = world.gig(distribution="trial")
    people = [world.worker(gig), world.worker(gig)]
    numbers = [number(one) for one in people]
    tasks = [world.task(gig), world.task(gig)]
    for who, task_id in zip(people, tasks, strict=True):
        use(gig, who, task_id, "take").ok()

    def swap(side: int) -> list[int]:
        statuses = []
        for turn in range(12):
            me = (side + turn) % 2
            answer = use(gig, people[me], tasks[side], "pass", to=numbers[1 - me])
            statuses.append(answer.status)
        return statuses

    assert at_once(2, swap) == [[200] * 12] * 2


def test_twenty_pokes_at_once_are_twenty(world: World) -> None:
    gig = world.gig(distribution="trial")
    workers = [world.worker(gig) for _ in range(4)]
    task_id = world.task(gig)
    at_once(20, lambda n: use(gig, workers[n % 4], task_id, "poke").ok())
    assert mode_of(gig, gig.owner, task_id)["pokes"] == 20


@pytest.mark.rule("H-07")
def test_the_same_key_uses_a_verb_once(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    task_id = world.task(gig)
    path = f"{gig.path}/tasks/{task_id}/do/poke"

    def poke(_: int) -> Answer:
        return worker.call("POST", path, {}, headers={"idempotency-key": "k"})

    for answer in [*at_once(4, poke), poke(0)]:
        assert answer.json == {"poked": True} or answer.json["reason"] == "in_progress"
    assert mode_of(gig, worker, task_id)["pokes"] == 1


def test_a_task_that_is_no_workers_has_no_verbs(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    draft, task_id = world.task(gig, draft="true"), world.task(gig)
    use(gig, gig.owner, draft, "poke").refused(409, "wrong_state")
    use(gig, worker, draft, "poke").refused(404)
    deleted, later = world.task(gig), clock.now() + 60 * clock.SECOND
    gig.owner.call("DELETE", f"{gig.path}/queue/{deleted}").ok()
    use(gig, gig.owner, deleted, "poke").refused(404)
    not_due = world.task(gig, not_before=times.iso_ms(later))
    for person in (gig.owner, worker):
        refusal = use(gig, person, not_due, "poke").refused(409, "wrong_state")
        assert refusal["not_before"] == times.iso_ms(later)
    clock.advance(60)
    use(gig, worker, not_due, "poke").ok()
    gig.owner.patch(gig.path, {"status": "closed"})
    use(gig, worker, task_id, "take").refused(409, "gig_closed")
    use(gig, gig.owner, task_id, "poke").ok()


@pytest.mark.rule("H-05")
def test_a_faulty_mode_is_told_of_by_its_name_and_leaves_no_trace(world: World) -> None:
    gig = world.gig(distribution="trial")
    task_id = world.task(gig)
    before = everything()
    for how in (*FAULTS, "raise"):
        refusal = use(gig, gig.owner, task_id, "fail", how=how).refused(503, "mode_fault")
        assert (refusal["mode"], "secret" in str(refusal)) == ("trial", False), how
        assert everything() == before, how
    use(gig, gig.owner, task_id, "fail", how="refuse").refused(409, "not_today")


def test_a_plans_price_is_for_whom_the_task_is_given_after_it(world: World) -> None:
    gig = world.gig(distribution="trial", price=2)
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    use(gig, gig.owner, task_id, "price", units=3_000_000).ok()
    use(gig, one, task_id, "take").ok()
    use(gig, gig.owner, task_id, "price", units=1_500_000).ok()

    def price(person: Person) -> Any:
        return person.get(f"{gig.path}/tasks/{task_id}")["task"]["price"]

    assert price(one) == 3
    use(gig, one, task_id, "pass", to=number(other)).ok()
    assert price(other) == 1.5
