"""A copy to each worker (U-01, `free_for_all`)."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from engine import commands, fan_out, fan_out_steps, waiting_delivery
from engine.db import db
from engine.errors import Refused
from engine.models.command import Command
from engine.models.task import Task
from tests.processes import Broken, Layout, Stack, Starter, start_stack
from tests.push.people import change, crowd, hand_in, inbound, limit, rung, waiting
from tests.world import World, at_once, eventually

__all__ = ["start_stack"]


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three are many already, and a command makes two copies at a time."""
    monkeypatch.setattr(fan_out, "INLINE", 2)
    monkeypatch.setattr(fan_out_steps, "CHUNK", 2)


def _copies(task_id: str) -> list[Task]:
    with db.reading():
        return list(Task.select().where(Task.source_task_id == task_id).order_by(Task.number))


@pytest.mark.rule("U-01")
@pytest.mark.rule("T-02")
def test_everybody_who_matches_and_is_free_has_a_copy_of_his_own(world: World) -> None:
    gig = world.gig(distribution="free_for_all", default_max_open_tasks=1)
    first, second, full, paused, filtered = (world.worker(gig) for _ in range(5))
    second_place = first.call(
        "POST", f"{gig.path}/mailboxes", {"invite": gig.invite, "new": True}
    ).ok()["mailbox"]["id"]
    change(paused, gig, paused=True)
    change(filtered, gig, filter_tags=["other"])
    world.task(gig, assign_to=full.mailbox["id"])  # type: ignore[attr-defined]
    sent = world.send(gig, "work", tags="mine").ok()
    assert (sent["status"], sent["targets"]) == ("forwarded", 2)
    assert sent["message_ids"] == inbound(first) + inbound(second)
    assert inbound(paused) == inbound(filtered) == []
    assert first.get(f"/mailboxes/{second_place}/inbound")["tasks"] == []
    template = gig.owner.get(f"{gig.path}/tasks/{sent['message_id']}")["task"]
    assert template["status"] == "forwarded"
    # Each hands in his own, and each is paid.
    for worker in (first, second):
        proof_id = hand_in(worker, gig, inbound(worker)[0])
        gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "approve"})


@pytest.mark.rule("U-01")
@pytest.mark.rule("U-04")
def test_while_all_are_paused_or_full_it_waits_and_then_goes_to_those_who_are_free(
    world: World,
) -> None:
    gig = world.gig(distribution="free_for_all", default_max_open_tasks=1)
    first, second, third = (world.worker(gig) for _ in range(3))
    held = world.send(gig).ok()["message_ids"]
    with rung(world):
        sent = world.send(gig).ok()
        assert sent["status"] == "waiting" and waiting(gig) == [sent["message_id"]]
        hand_in(second, gig, held[1])
    assert [len(inbound(one)) for one in (first, second, third)] == [1, 2, 1]
    assert waiting(gig) == []
    template = gig.owner.get(f"{gig.path}/tasks/{sent['message_id']}")["task"]
    assert template["status"] == "forwarded"


@pytest.mark.rule("U-01")
def test_a_copy_that_is_let_go_of_ends_and_is_no_other_workers(world: World) -> None:
    gig = world.gig(distribution="free_for_all")
    first, second = world.worker(gig), world.worker(gig)
    world.send(gig).ok()
    (copy,) = inbound(first)
    gig.owner.post(f"{gig.path}/tasks/{copy}/recycle")
    assert inbound(first) == [] and len(inbound(second)) == 1
    (other,) = inbound(second)
    proof_id = hand_in(second, gig, other)
    body = {"action": "reject", "rejection_tag": "incomplete"}
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", body)
    assert inbound(first) == inbound(second) == [] and waiting(gig) == []
    # What the owner gave to one comes back to him, and is copied to nobody.
    given = world.task(gig, assign_to=first.mailbox["id"])  # type: ignore[attr-defined]
    gig.owner.post(f"{gig.path}/tasks/{given}/recycle")
    assert gig.owner.get(f"{gig.path}/tasks/{given}")["task"]["status"] == "unassigned"


@pytest.mark.rule("G-04")
def test_the_day_counts_the_price_of_each_copy(world: World) -> None:
    gig = world.gig(distribution="free_for_all", price="2", webhook_daily_spend="9")
    for _ in range(2):
        world.worker(gig)
    assert [world.send(gig).ok()["status"] for _ in range(3)] == ["forwarded", "forwarded", "draft"]
    limit(gig, world.worker(gig), status="inactive")
    assert world.send(gig, price="0.25").ok()["targets"] == 2


@pytest.mark.rule("H-08")
@pytest.mark.rule("U-01")
@pytest.mark.usefixtures("few_at_once")
def test_many_copies_are_made_by_a_command_that_the_sender_may_wait_for(world: World) -> None:
    gig = world.gig(distribution="free_for_all")
    workers = [world.worker(gig) for _ in range(7)]
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=one"
    quick = {"prefer": "wait=0", "content-type": "text/plain"}
    accepted = world.call("POST", path, raw=b"work", headers=quick)
    assert accepted.status == 202
    # Until its end the repeat of it waits for the same command.
    assert world.call("POST", path, raw=b"work", headers=quick).json == accepted.json
    world.start()
    again = world.call("POST", path, raw=b"work", headers={"content-type": "text/plain"}).ok()
    assert (again["status"], again["targets"]) == ("forwarded", 7)
    assert again["message_ids"] == [inbound(worker)[0] for worker in workers]
    status = gig.owner.get(f"/commands/{accepted.json['command_id']}")
    assert status["result"] == again


@pytest.mark.rule("H-08")
@pytest.mark.usefixtures("few_at_once")
def test_the_command_run_again_and_twice_at_once_gives_nobody_a_second_copy(world: World) -> None:
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 8)
    sent = world.call(
        "POST",
        f"/inbound/webhook/{gig.id}?token={gig.token}",
        raw=b"work",
        headers={"prefer": "wait=0", "content-type": "text/plain"},
    )
    with db.reading():
        command = Command.get(Command.id == sent.json["command_id"])
    done = at_once(3, lambda _: fan_out_steps.step(command))
    assert isinstance(done[0], commands.Done)
    assert {one.result["targets"] for one in done} == {9}
    made = _copies(command.arguments["task_id"])
    assert len(made) == len({copy.mailbox_id for copy in made}) == 9


@pytest.mark.rule("A-02")
@pytest.mark.usefixtures("few_at_once")
def test_deleting_the_task_stops_what_is_still_to_be_copied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 5)
    sent = _quick(world, gig)
    with db.reading():
        command = Command.get(Command.id == sent["command_id"])
    task_id = command.arguments["task_id"]
    copy_to, calls = fan_out.copy_to, []

    def then_delete(*given: Any) -> Any:
        made = copy_to(*given)
        calls.append(made.served)
        return made

    monkeypatch.setattr(fan_out, "copy_to", then_delete)
    gig.owner.call("DELETE", f"{gig.path}/tasks/{task_id}").ok()
    with pytest.raises(Refused) as refused:
        fan_out_steps.step(command)
    assert refused.value.code == "task_cancelled" and not any(calls)
    assert _copies(task_id) == []
    assert gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"] == "cancelled"


def _quick(world: World, gig: Any) -> Any:
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    path = f"/inbound/webhook/{gig.id}?token={gig.token}"
    return world.call("POST", path, raw=b"work", headers=headers).json


@pytest.mark.rule("U-04")
@pytest.mark.usefixtures("few_at_once")
def test_where_all_have_become_full_meanwhile_the_task_waits(world: World) -> None:
    gig = world.gig(distribution="free_for_all", default_max_open_tasks=1)
    worker = world.worker(gig)
    others = crowd(worker, 3)
    with rung(world):
        told = _quick(world, gig)
        # What its owner gives somebody counts as held, and makes him full.
        for one in (worker.mailbox["id"], *others):
            world.task(gig, assign_to=one)
        ended = _run(told)
        assert ended["status"] == "waiting" and waiting(gig) == [ended["message_id"]]
        hand_in(worker, gig, inbound(worker)[0])
    assert len(_copies(ended["message_id"])) == 1 and waiting(gig) == []


def _run(told: Any) -> Any:
    """Run the command to its end, as a worker process does; its result."""
    commands._handlers.setdefault(fan_out.KIND, fan_out_steps.step)
    commands.run(told["command_id"])
    return commands.result_of(told["command_id"])


@pytest.mark.rule("U-04")
@pytest.mark.usefixtures("few_at_once")
def test_while_many_are_given_one_task_what_comes_later_waits(world: World) -> None:
    gig = world.gig(distribution="free_for_all", default_max_open_tasks=1)
    worker = world.worker(gig)
    crowd(worker, 4)
    first, second = _quick(world, gig), _quick(world, gig)
    assert second["status"] == "waiting"
    assert waiting_delivery.deliver(gig.id) == 0
    with rung(world) as bells:
        assert _run(first)["targets"] == 5
        # Everybody has the older one, so nobody is free; the bell was rung all the same.
        assert gig.id in bells and waiting(gig) == [second["message_id"]]
        hand_in(worker, gig, inbound(worker)[0])
    assert len(_copies(second["message_id"])) == 1


@pytest.mark.rule("G-08")
@pytest.mark.usefixtures("few_at_once")
def test_closing_the_gig_stops_what_is_still_to_be_copied_until_it_is_open_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 3)
    sent = _quick(world, gig)
    copy_to = fan_out_steps._copy_to

    def then_close(*given: Any) -> Any:
        made = copy_to(*given)
        gig.owner.patch(gig.path, {"status": "closed"})
        return made

    monkeypatch.setattr(fan_out_steps, "_copy_to", then_close)
    told = _run(sent)
    monkeypatch.undo()
    assert told["status"] == "waiting" and waiting(gig) == [told["message_id"]]
    assert len(_copies(told["message_id"])) == 2
    with rung(world):
        gig.owner.patch(gig.path, {"status": "active"})
    assert len({copy.mailbox_id for copy in _copies(told["message_id"])}) == 4
    assert waiting(gig) == []


@pytest.mark.rule("H-08")
@pytest.mark.usefixtures("few_at_once")
def test_what_could_not_be_copied_for_good_waits_again_for_those_without_a_copy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 3)
    sent = _quick(world, gig)
    copy_to, tries = fan_out.copy_to, Counter[str]()

    def fail_later(*given: Any) -> Any:
        tries["made"] += 1
        if tries["made"] > 1:
            raise OSError("broken")
        return copy_to(*given)

    with monkeypatch.context() as broken:
        broken.setattr(fan_out, "copy_to", fail_later)
        broken.setattr(commands, "MOST_FAILURES", 1)
        _run(sent)
    with db.reading():
        command = Command.get(Command.id == sent["command_id"])
    task_id = command.arguments["task_id"]
    assert command.status == "failed" and waiting(gig) == [] and len(_copies(task_id)) == 2
    monkeypatch.setattr(fan_out, "INLINE", 100)
    at_once(2, lambda _: waiting_delivery.sweep())
    assert len({copy.mailbox_id for copy in _copies(task_id)}) == 4
    assert gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"] == "forwarded"
    # Others have their turns again.
    assert world.send(gig).ok()["targets"] == 4


@pytest.mark.rule("U-04")
@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("copies", [0, 2])
def test_what_fails_again_and_again_comes_to_an_end_and_holds_up_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 3)
    _quick(world, gig)
    (failing,) = _pending()
    task_id, copy_to = failing.arguments["task_id"], fan_out.copy_to

    def fail(gig: Any, template: Task, *given: Any) -> Any:
        if template.id == task_id and len(_copies(task_id)) >= copies:
            raise OSError("broken")
        return copy_to(gig, template, *given)

    monkeypatch.setattr(fan_out, "copy_to", fail)
    monkeypatch.setattr(commands, "MOST_FAILURES", 1)
    later = _quick(world, gig)
    assert later["status"] == "waiting"
    for _ in range(3):
        for command in _pending():
            _run({"command_id": command.id})
        at_once(2, lambda _: waiting_delivery.sweep())
    read = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert read["status"] == ("forwarded" if copies else "dropped")
    assert len(_copies(task_id)) == copies and len(_copies(later["message_id"])) == 4
    assert waiting(gig) == [] == _pending()
    told = gig.owner.get("/notifications")["notifications"]
    assert [one["kind"] for one in told].count("task.copies_failed") == 2


def _pending() -> list[Command]:
    with db.reading():
        return list(Command.select().where(Command.status == "pending"))


LAYOUTS = {"sqlite": Layout("sqlite"), "postgres": Layout("postgres", 1, 1, 1)}
COUNT = 350


@pytest.mark.rule("H-08")
@pytest.mark.rule("Z-04")
@pytest.mark.parametrize("name", LAYOUTS)
def test_killed_in_the_middle_each_still_gets_exactly_one(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig(distribution="free_for_all")
    _crowd_of(stack, stack.worker(gig), COUNT - 1)
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=one"
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    with suppress(*Broken):
        assert stack.call("POST", path, raw=b"work", headers=headers).status == 202

    def copies() -> int:
        return int(stack.rows("SELECT count(*) FROM task WHERE template_number IS NOT NULL")[0][0])

    eventually(copies, 60, "some have their copy")
    stack.kill()
    assert copies() < COUNT
    stack.start()
    stack.advance(60)
    headers["prefer"] = "wait=60"
    sent = eventually(
        lambda: _whole(stack.call("POST", path, raw=b"work", headers=headers)), 90, "all have it"
    )
    assert sent["targets"] == len(sent["message_ids"]) == COUNT
    per_mailbox = Counter(
        row[0]
        for row in stack.rows("SELECT mailbox_id FROM task WHERE template_number IS NOT NULL")
    )
    assert len(per_mailbox) == COUNT and set(per_mailbox.values()) == {1}
    told = stack.rows("SELECT count(*) FROM event WHERE type = 'task.pushed'")
    assert told[0][0] == COUNT
    assert stack.complaints() == []


def _crowd_of(stack: Stack, worker: Any, count: int) -> None:
    db.connect(stack.database_url)
    try:
        crowd(worker, count)
    finally:
        db.close()


def _whole(answer: Any) -> Any:
    return answer.json if answer.status == 200 else None


@pytest.mark.soak
@pytest.mark.rule("U-01")
def test_ten_thousand_workers_have_a_copy_each(world: World) -> None:
    world.start()
    gig = world.gig(distribution="free_for_all")
    crowd(world.worker(gig), 9_999)
    sent = _quick(world, gig)
    result = eventually(
        lambda: commands.finished(sent["command_id"]) and commands.result_of(sent["command_id"]),
        600,
        "all have it",
    )
    assert result["targets"] == len(set(result["message_ids"])) == 10_000
