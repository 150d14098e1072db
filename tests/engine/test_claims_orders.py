"""Which task comes first: the four orders, ageing, own reservations, a change of the order."""

from __future__ import annotations

import pytest

from engine import commands, entries, rekeying
from engine.db import db
from engine.models.command import Command
from engine.models.gig import Gig as GigRow
from engine.models.task import Task
from engine.rules.queue_order import MAX_AGING_SECONDS, MAX_PRIORITY
from tests.engine.holding import mailbox_id, poll, reserve
from tests.world import Gig, Person, World

PRIORITIES = (1000, 5, 1000, 0, 9_999_999_999, 5)


def _send(world: World, gig: Gig, priorities: tuple[int, ...] = PRIORITIES) -> list[str]:
    return [world.task(gig, priority=priority) for priority in priorities]


def _listed(gig: Gig, person: Person | None = None) -> list[str]:
    answer = (person or gig.owner).get(f"{gig.path}/queue")
    return [task["id"] for task in answer["tasks"]]


def _later(world: World, seconds: int) -> None:
    world.call("POST", "/dev/clock/advance", {"seconds": seconds}).ok()


def _wake(world: World, command: Command) -> Command:
    """Let a command run that waits for its time."""
    _later(world, 600)
    commands.run(command.id)
    return commands.peek(command.id)


@pytest.mark.rule("Q-01")
@pytest.mark.parametrize("order", ["fifo", "priority", "lifo"])
def test_a_poll_follows_priority_and_arrival_and_lifo_is_the_exact_reverse(
    world: World, order: str
) -> None:
    gig = world.gig(queue_order=order)
    worker = world.worker(gig)
    sent = _send(world, gig)
    expected = [sent[number] for number in (3, 1, 5, 0, 2, 4)]
    if order == "lifo":
        expected.reverse()

    assert _listed(gig) == expected
    assert poll(gig, worker, 4) == expected[:4]
    # What comes in meanwhile has its place among the rest.
    first, last = world.task(gig, priority=4), world.task(gig, priority=MAX_PRIORITY)
    if order == "lifo":
        assert poll(gig, worker) == [last, expected[4], first, expected[5]]
    else:
        assert poll(gig, worker) == [first, *expected[4:], last]


@pytest.mark.rule("Q-01")
def test_a_random_gig_hands_out_every_task_once_and_ignores_priorities(world: World) -> None:
    gig = world.gig(queue_order="random")
    workers = [world.worker(gig) for _ in range(2)]
    sent = [world.task(gig, priority=number) for number in range(40)]

    got = [task_id for number in range(10) for task_id in poll(gig, workers[number % 2], 5)]

    assert sorted(got) == sorted(sent)
    # One in 40! orders is the one they were sent in.
    assert got != sent


@pytest.mark.rule("Q-03")
@pytest.mark.parametrize("order", ["fifo", "lifo", "random"])
def test_own_reservations_come_first_whatever_the_order_and_the_filter(
    world: World, order: str
) -> None:
    gig = world.gig(queue_order=order)
    worker, other = world.worker(gig), world.worker(gig)
    shared = [world.task(gig, tags="video", priority=0) for _ in range(2)]
    mine, his = world.task(gig, tags="text"), world.task(gig, tags="video", priority=0)
    reserve(gig, worker, mine)
    reserve(gig, other, his)

    body = {"count": 1, "tags": ["video"]}
    (first,) = worker.post(f"{gig.path}/queue/poll", body)["tasks"]
    assert (first["id"], first["reserved_for_me"]) == (mine, True)
    got = worker.post(f"{gig.path}/queue/poll", {"count": 20, "tags": ["video"]})["tasks"]
    assert {task["id"] for task in got} == set(shared)
    assert {task["reserved_for_me"] for task in got} == {False}
    assert poll(gig, other) == [his]


@pytest.mark.rule("Q-03")
@pytest.mark.rule("M-05")
def test_a_reservation_costs_a_slot_of_both_limits(world: World) -> None:
    gig = world.gig(
        default_max_open_tasks=2, default_rate_limit_count=2, default_rate_limit_minutes=60
    )
    worker = world.worker(gig)
    reserved = [world.task(gig) for _ in range(3)]
    for task_id in reserved:
        reserve(gig, worker, task_id)
    world.task(gig, priority=0)

    answer = worker.post(f"{gig.path}/queue/poll", {"count": 5})
    assert [task["id"] for task in answer["tasks"]] == reserved[:2]
    assert answer["rate_limit"]["remaining"] == answer["open_tasks"]["remaining"] == 0


@pytest.mark.rule("Q-03")
def test_who_is_named_again_for_what_he_once_declined_is_offered_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(gig, worker) == []
    reserve(gig, worker, task_id)
    assert poll(gig, worker) == [task_id]


@pytest.mark.rule("Q-08")
@pytest.mark.case("F07")
def test_a_low_task_waits_no_longer_than_its_steps_times_the_ageing(world: World) -> None:
    """Priority 1003 behind ever new ones of 1000: ahead of all that arrive 3 × 60 s after it."""
    gig = world.gig(queue_aging_seconds=60)
    worker = world.worker(gig)
    low = world.task(gig, priority=1003)
    arrived: dict[str, int] = {}
    order: list[str] = []
    for minute in range(8):
        arrived |= {world.task(gig, priority=1000): minute for _ in range(4)}
        order += poll(gig, worker, 2)
        _later(world, 60)
    order += poll(gig, worker, 20)

    before = order[: order.index(low)]
    after = order[order.index(low) + 1 :]
    assert {arrived[task_id] for task_id in before} == {0, 1, 2}
    assert {arrived[task_id] for task_id in after} == {3, 4, 5, 6, 7}
    assert len(before) == 12


@pytest.mark.rule("Q-08")
@pytest.mark.case("F07")
def test_without_ageing_the_order_is_strict(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    low = world.task(gig, priority=1001)
    for _ in range(10):
        world.task(gig, priority=1000)
        _later(world, 86_400)
        assert poll(gig, worker, 1) != [low]
    assert poll(gig, worker, 1) == [low]


@pytest.mark.rule("Q-08")
@pytest.mark.rule("Q-01")
def test_a_change_of_the_order_reorders_what_waits_for_those_who_have_looked_past_it(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    sent = _send(world, gig)
    # His cursor stands behind the first three.
    for task_id in (sent[3], sent[1], sent[5]):
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(gig, worker, 1) == [sent[0]]

    gig.owner.patch(gig.path, {"queue_order": "lifo"})
    assert _listed(gig) == [sent[4], sent[2], sent[5], sent[1], sent[3]]
    assert poll(gig, worker, 1) == [sent[4]]

    gig.owner.patch(gig.path, {"queue_order": "priority", "queue_aging_seconds": 1})
    late = world.task(gig, priority=1000)
    assert poll(gig, worker) == [sent[2], late]
    assert poll(gig, world.worker(gig)) == [sent[3], sent[1], sent[5]]


@pytest.mark.rule("Q-01")
def test_what_is_reserved_is_reordered_too(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(3)]
    for task_id in sent:
        reserve(gig, worker, task_id)
    gig.owner.patch(gig.path, {"queue_order": "lifo"})
    assert poll(gig, worker) == sent[::-1]


@pytest.mark.rule("Q-01")
def test_a_long_queue_is_reordered_in_pieces_and_a_straggler_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekeying, "CHUNK", 3)
    gig = world.gig()
    sent = [world.task(gig) for _ in range(11)]
    gig.owner.patch(gig.path, {"queue_order": "lifo"})
    with db.reading():
        (command,) = Command.select().where(Command.kind == rekeying.KIND)

    commands.run(command.id)
    assert _listed(gig) == sent[::-1]
    # A task that was being sent just then has a key of the order before.
    db.write(lambda: _give_key(sent[4], 7))
    assert _wake(world, commands.peek(command.id)).status == "done"
    assert _listed(gig) == sent[::-1]


def _give_key(task_id: str, key: int) -> None:
    number = db.scalar("SELECT number FROM task WHERE id = ?", (task_id,))
    db.rows("UPDATE queue_entry SET sort_key = ? WHERE task_number = ?", (key, number))


@pytest.mark.rule("Q-01")
@pytest.mark.parametrize("order", ["fifo", "lifo"])
@pytest.mark.parametrize("ageing", [None, 1, MAX_AGING_SECONDS])
def test_the_key_is_the_same_in_sql(world: World, order: str, ageing: int | None) -> None:
    made = world.gig()
    priorities = (0, 1, 1000, MAX_PRIORITY)
    numbers = [world.task(made, priority=priority) for priority in priorities]
    gig = GigRow(id=made.id, queue_order=order, queue_aging_seconds=ageing)
    with db.reading():
        for task_id in numbers:
            task = Task.get(Task.id == task_id)
            sql = f"SELECT {rekeying.key_sql(gig)} FROM task WHERE id = ?"
            assert db.scalar(sql, (task_id,)) == entries.key_of(gig, task)


def test_a_mailbox_that_is_named_polls_and_another_ones_is_refused(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    path = f"{gig.path}/queue/poll"
    worker.call("POST", path, {"mailbox_id": mailbox_id(other)}).refused(403, "not_joined")
    answer = worker.post(path, {"mailbox_id": mailbox_id(worker)})
    assert (answer["mailbox_id"], answer["count"]) == (mailbox_id(worker), 1)
