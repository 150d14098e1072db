"""A poll that waits for work (Q-06), and one whose answer was lost (Q-05)."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from tests.processes import Starter
from tests.waiting.callers import (
    LAYOUTS,
    SOON_SECONDS,
    parked,
    poll,
    send_and_leave,
    taken,
    waiting_poll,
)
from tests.world import at_once, eventually

MANY = 50
BODY = b'{"count": 1}'

pytestmark = pytest.mark.parametrize("name", LAYOUTS)


@pytest.mark.rule("Q-06")
def test_a_waiting_poll_is_answered_as_soon_as_a_task_fits(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig(review_timeout=-1)
    first, second = stack.worker(gig), stack.worker(gig)

    # A task that is sent, to another process than the one that is asked.
    for via in (0, 1):
        waiting = waiting_poll(first, gig, 30, via=via)
        parked()
        began = time.monotonic()
        sent = stack.call(
            "POST", f"/inbound/webhook/{gig.id}?token={gig.token}", raw=b"{}", via=1 - via
        ).ok()["message_id"]
        assert taken(waiting.answer()) == [sent]
        assert time.monotonic() - began < SOON_SECONDS

    # One that another has declined.
    waiting = waiting_poll(second, gig, 30, via=0)
    parked()
    assert not waiting.answered
    began = time.monotonic()
    first.call("POST", f"{gig.path}/queue/{sent}/decline", {}, via=1).ok()
    assert taken(waiting.answer()) == [sent]
    assert time.monotonic() - began < SOON_SECONDS

    # One whose proof was rejected, for anybody but him who has proven it.
    third = stack.worker(gig)
    body = {"task_identifier": sent, "proofs": ["done"]}
    proof = second.post(f"{gig.path}/proofs", body)["proof"]
    waiting = waiting_poll(third, gig, 30, via=1)
    parked()
    began = time.monotonic()
    gig.owner.call(
        "PATCH", f"{gig.path}/proofs/{proof['id']}", {"action": "reject", "requeue": True}, via=0
    ).ok()
    assert taken(waiting.answer()) == [sent]
    assert time.monotonic() - began < SOON_SECONDS
    assert stack.complaints() == []


@pytest.mark.rule("Q-06")
def test_how_long_a_poll_waits_is_what_it_says(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    worker = stack.worker(gig)

    assert taken(poll(worker, gig, 0)) == []
    waiting = waiting_poll(worker, gig, 2)
    assert taken(waiting.answer()) == []
    assert 1.9 < waiting.seconds < 2 + SOON_SECONDS
    for wrong in ("61", "-1", "x", "1.5", ""):
        told = worker.call("POST", f"{gig.path}/queue/poll?wait={wrong}", {}).refused(400)
        assert list(told["errors"]) == ["wait"]
    # Who may not poll is told so at once.
    stranger = stack.person()
    stranger.call("POST", f"{gig.path}/queue/poll?wait=60", {}).refused(403)
    assert stack.complaints() == []


@pytest.mark.rule("Q-06")
@pytest.mark.case("F02")
def test_nothing_is_claimed_for_one_who_has_hung_up(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    gone, other = stack.worker(gig), stack.worker(gig)
    path = f"{gig.path}/queue/poll?wait=60"

    for round_ in range(3):
        at_once(5, lambda n: send_and_leave(stack, gone, path, BODY, n % 2, stay=0.3))
        sent = stack.task(gig, str(round_))

        assert taken(poll(other, gig)) == [sent]
        task = gig.owner.get(f"{gig.path}/tasks/{sent}")["task"]
        assert task["mailbox_id"] == other.mailbox["id"]  # type: ignore[attr-defined]
    assert Counter(e["subject"]["id"] for e in stack.events(gig, "task.claimed")).total() == 3
    assert stack.complaints() == []


@pytest.mark.rule("Q-05")
@pytest.mark.case("F02")
def test_a_poll_whose_answer_was_lost_is_repeated_for_the_same_tasks(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    worker, other = stack.worker(gig), stack.worker(gig)
    sent = [stack.task(gig, str(n)) for n in range(4)]
    body, path = b'{"count": 2}', f"{gig.path}/queue/poll"
    headers = {"content-type": "application/json", "idempotency-key": "lost-1"}

    # Whether it was served or not before he left: the repeat decides.
    send_and_leave(stack, worker, path, body, 0, stay=0, **{"idempotency-key": "lost-1"})
    again = [worker.call("POST", path, raw=body, headers=headers, via=n) for n in (1, 0, 1)]

    assert len({answer.text for answer in again}) == 1
    assert taken(again[0]) == sent[:2]
    assert again[-1].headers["idempotency-replayed"] == "true"
    assert taken(poll(other, gig, count=20)) == sent[2:]
    # A waiting one as well, and after everything was killed.
    waiting = waiting_poll(worker, gig, 30, key="lost-2")
    parked()
    late = stack.task(gig, "late")
    assert taken(waiting.answer()) == [late]
    stack.restart()
    repeated = poll(worker, gig, 30, key="lost-2")
    assert taken(repeated) == [late]
    assert repeated.headers["idempotency-replayed"] == "true"
    claimed = Counter(e["subject"]["id"] for e in stack.events(gig, "task.claimed"))
    assert claimed == Counter([*sent, late])
    assert stack.complaints() == []


@pytest.mark.rule("Q-06")
def test_of_fifty_who_wait_one_gets_the_one_task_and_the_others_wait_on(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    people = [stack.worker(gig) for _ in range(MANY)]
    waiting = [waiting_poll(one, gig, 4, via=n) for n, one in enumerate(people)]
    parked()

    sent = stack.task(gig)

    eventually(lambda: any(one.answered for one in waiting), SOON_SECONDS, "somebody has it")
    answers = [one.answer() for one in waiting]
    assert Counter(tuple(taken(one)) for one in answers) == {(sent,): 1, (): MANY - 1}
    for one, answer in zip(waiting, answers, strict=True):
        assert taken(answer) or one.seconds > 3.8
    assert stack.complaints() == []


@pytest.mark.rule("Q-06")
def test_fifty_who_wait_and_fifty_tasks_find_each_other(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    people = [stack.worker(gig) for _ in range(MANY)]
    waiting = [waiting_poll(one, gig, 40, via=n) for n, one in enumerate(people)]
    parked()

    sent = at_once(10, lambda n: [stack.task(gig, f"{n}-{m}") for m in range(MANY // 10)])

    answers = [one.answer() for one in waiting]
    got = [task_id for answer in answers for task_id in taken(answer)]
    assert Counter(got) == Counter(task_id for some in sent for task_id in some)
    assert max(one.seconds for one in waiting) < 30
    assert stack.complaints() == []


@pytest.mark.rule("Q-06")
@pytest.mark.rule("D-01")
def test_one_who_declined_the_task_does_not_keep_it_from_those_behind_him(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    picky = [stack.worker(gig) for _ in range(8)]
    holder, last = stack.worker(gig), stack.worker(gig)
    sent = stack.task(gig)
    for one in picky:
        one.post(f"{gig.path}/queue/{sent}/decline", {})
    assert taken(poll(holder, gig)) == [sent]
    in_front = []
    for one in picky:
        in_front.append(waiting_poll(one, gig, 4, via=0))
        time.sleep(0.03)
    behind = waiting_poll(last, gig, 30, via=0)
    parked()

    holder.call("POST", f"{gig.path}/queue/{sent}/decline", {}, via=1).ok()

    assert taken(behind.answer()) == [sent]
    assert behind.seconds < 4
    assert [taken(one.answer()) for one in in_front] == [[]] * len(picky)
    assert stack.complaints() == []
