"""Pushing tasks to workers: who is chosen, and what the sender is told (U-01, T-02)."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from decimal import Decimal

import pytest

from engine import push_candidates
from engine.push_candidates import Candidate
from tests.push.people import change, hand_in, inbound, limit
from tests.world import World

PICKS = ("round_robin", "random", "priority_weighted")


@pytest.mark.rule("U-01")
def test_each_active_mailbox_gets_its_turn(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    workers = [world.worker(gig) for _ in range(3)]
    for number in range(6):
        sent = world.send(gig, f"task {number}").ok()
        assert (sent["status"], sent["targets"], sent["message_ids"]) == (
            "forwarded",
            1,
            [sent["message_id"]],
        )
    for worker in workers:
        assert len(inbound(worker)) == 2


@pytest.mark.rule("U-01")
@pytest.mark.parametrize("distribution", PICKS)
def test_each_strategy_gives_a_task_to_one_worker_who_sees_and_proves_it(
    world: World, distribution: str
) -> None:
    gig = world.gig(distribution=distribution)
    workers = [world.worker(gig) for _ in range(3)]
    task_id = world.task(gig, "work")
    (holder,) = (one for one in workers if inbound(one) == [task_id])
    hand_in(holder, gig, task_id)
    (event,) = (
        one for one in gig.owner.get(f"{gig.path}/events")["events"] if one["type"] == "task.pushed"
    )
    assert event["data"].keys() >= {
        "mailbox_id",
        "message_id",
        "gig_title",
        "distribution_mode",
        "forwarded_at",
    }
    assert event["data"]["mailbox_id"] == holder.mailbox["id"]  # type: ignore[attr-defined]


@pytest.mark.rule("U-01")
@pytest.mark.rule("U-04")
@pytest.mark.parametrize("distribution", PICKS)
def test_who_is_paused_or_full_is_passed_over(world: World, distribution: str) -> None:
    gig = world.gig(distribution=distribution)
    free, paused, capped, rated = (world.worker(gig) for _ in range(4))
    limit(gig, capped, max_open_tasks=1)
    limit(gig, rated, rate_limit_count=1, rate_limit_minutes=60)
    change(free, gig, paused=True)
    change(paused, gig, paused=True)
    filling = [world.task(gig) for _ in range(2)]
    change(free, gig, paused=False)
    sent = [world.task(gig) for _ in range(6)]
    assert inbound(free) == sent
    assert sorted(inbound(capped) + inbound(rated)) == filling and inbound(paused) == []


@pytest.mark.rule("M-05")
def test_a_push_spends_both_limits(world: World) -> None:
    gig = world.gig(distribution="round_robin", default_max_open_tasks=2)
    worker = world.worker(gig)
    limit(gig, worker, rate_limit_count=3, rate_limit_minutes=60)
    first, _, third = world.task(gig), world.task(gig), world.send(gig).ok()
    assert third["status"] == "waiting" and third["message_id"]
    hand_in(worker, gig, first)
    assert world.send(gig).ok()["status"] == "waiting"
    assert len(inbound(worker)) == 3


@pytest.mark.rule("U-01")
@pytest.mark.rule("M-02")
@pytest.mark.parametrize(
    ("filters", "passing", "kept_out"),
    [
        ({"filter_tags": ["vid"]}, {"tags": "Video"}, {"tags": "text"}),
        ({"filter_tags": ["vid"]}, {"tags": "long-video,x"}, {}),
        (
            {"filter_tags": ["vid"], "filter_tag_match": "prefix"},
            {"tags": "video"},
            {"tags": "a-vid"},
        ),
        ({"filter_tags": ["vid"], "filter_tag_match": "exact"}, {"tags": "VID"}, {"tags": "video"}),
        ({"filter_price_min": 3}, {"price": "3"}, {"price": "2.99"}),
        ({"filter_price_max": 3}, {}, {"price": "3.01"}),
        ({"filter_price_min": 3}, {"price": "tbd"}, {}),
        ({"filter_accept_tbd": False}, {"price": "1"}, {"price": "tbd"}),
    ],
)
def test_standing_filters_say_what_a_worker_is_pushed(
    world: World, filters: dict[str, object], passing: dict[str, str], kept_out: dict[str, str]
) -> None:
    gig = world.gig(distribution="round_robin", price="2.50")
    worker = world.worker(gig)
    change(worker, gig, **filters)
    assert world.send(gig, **kept_out).ok()["reason"] == "no_matching_mailboxes"
    assert inbound(worker) == []
    task_id = world.task(gig, **passing)
    assert inbound(worker) == [task_id]


@pytest.mark.rule("U-04")
@pytest.mark.rule("T-02")
@pytest.mark.parametrize(("price", "told"), [(None, "2.5"), ("7.25", "7.25"), ("tbd", "tbd")])
def test_what_matches_nobody_is_dropped_and_the_sender_told_why(
    world: World, price: str | None, told: str
) -> None:
    gig = world.gig(distribution="round_robin")
    query = {"tags": "a,b"} | ({} if price is None else {"price": price})
    nobody = world.send(gig, **query).ok()
    assert nobody.pop("message_id").startswith("TASK_")
    assert str(nobody["evaluated"].pop("price")) == told
    assert nobody == {
        "status": "dropped",
        "reason": "no_active_mailboxes",
        "active_mailboxes": 0,
        "matched": 0,
        "evaluated": {"tags": ["a", "b"]},
    }
    worker = world.worker(gig)
    change(worker, gig, filter_tags=["c"], paused=True)
    unmatched = world.send(gig, **query).ok()
    assert (unmatched["reason"], unmatched["active_mailboxes"], unmatched["matched"]) == (
        "no_matching_mailboxes",
        1,
        0,
    )
    # Its row stays for its owner to see, and is over.
    task = gig.owner.get(f"{gig.path}/tasks/{unmatched['message_id']}")
    assert task["task"]["status"] == "dropped"


@pytest.mark.rule("G-04")
def test_what_is_dropped_costs_nothing_of_the_day(world: World) -> None:
    gig = world.gig(distribution="round_robin", webhook_daily_spend="5")
    for _ in range(5):
        assert world.send(gig).ok()["status"] == "dropped"
    worker = world.worker(gig)
    assert [world.send(gig).ok()["status"] for _ in range(3)] == ["forwarded", "forwarded", "draft"]
    assert len(inbound(worker)) == 2


@pytest.mark.rule("G-04")
def test_a_limit_set_later_in_the_day_does_not_count_what_was_dropped(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    world.send(gig).ok()
    world.worker(gig)
    gig.owner.patch(gig.path, {"webhook_daily_spend": "2.5"})
    assert world.send(gig).ok()["status"] == "forwarded"


@pytest.mark.rule("Q-07")
@pytest.mark.rule("A-02")
def test_what_is_taken_back_goes_to_another_worker_and_never_to_the_same(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    workers = [world.worker(gig) for _ in range(3)]
    task_id = world.task(gig)
    seen = []
    for _ in range(3):
        (holder,) = (one for one in workers if inbound(one))
        seen.append(holder)
        gig.owner.post(f"{gig.path}/tasks/{task_id}/recycle")
    assert len({id(one) for one in seen}) == 3
    # All three have lost it: it waits.
    queue = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert [task["id"] for task in queue] == [task_id]


@pytest.mark.rule("R-04")
def test_rejected_work_goes_to_another_worker(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    first, second = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    proof_id = hand_in(first, gig, task_id)
    body = {"action": "reject", "rejection_tag": "incomplete"}
    answer = gig.owner.patch(f"{gig.path}/proofs/{proof_id}", body)
    assert (answer["status"], answer["requeued"]) == ("rejected", True)
    assert inbound(second) == [task_id]
    again = first.call("POST", f"{gig.path}/proofs", {"task_identifier": task_id, "proofs": ["x"]})
    again.refused(409, "already_proven")
    proof_id = hand_in(second, gig, task_id)
    answer = gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {**body, "requeue": False})
    assert (answer["status"], answer["requeued"]) == ("rejected", False)


@pytest.mark.rule("M-03")
def test_what_a_leaving_worker_holds_goes_to_the_others(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    leaving, closed, stays = (world.worker(gig) for _ in range(3))
    sent = [world.task(gig) for _ in range(6)]
    leaving.call("DELETE", f"{gig.path}/mailboxes/{leaving.mailbox['id']}").ok()  # type: ignore[attr-defined]
    assert len(inbound(stays)) + len(inbound(closed)) == 6
    limit(gig, closed, status="inactive")
    assert sorted(inbound(stays)) == sorted(sent)


@pytest.mark.rule("U-01")
def test_nobody_polls_claims_or_declines_what_is_pushed(world: World) -> None:
    gig = world.gig(distribution="random")
    worker = world.worker(gig)
    task_id = world.task(gig)
    for path in ("queue/poll", f"queue/{task_id}/claim", f"queue/{task_id}/decline"):
        refusal = worker.call("POST", f"{gig.path}/{path}", {}).refused(409, "random")
        assert refusal["error"].endswith(".")
    (place,) = worker.get("/work/available")["mailboxes"]
    assert place["poll_in_gig"] is None
    world.send(gig, priority=1).refused(400)
    world.send(gig, availability="reserved").refused(400)


@pytest.mark.rule("Q-07")
@pytest.mark.rule("R-01")
def test_a_pushed_task_has_a_clock_that_its_holder_and_owner_set(world: World) -> None:
    gig = world.gig(distribution="round_robin", task_timeout=60)
    worker = world.worker(gig)
    task_id = world.task(gig)
    beat = worker.post(f"{gig.path}/tasks/{task_id}/heartbeat")["expires_at"]
    more = gig.owner.post(f"{gig.path}/tasks/{task_id}/extend")["expires_at"]
    assert beat < more


@pytest.mark.rule("A-01")
def test_its_owner_assigns_past_filters_pauses_and_turns(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    first, second = world.worker(gig), world.worker(gig)
    change(second, gig, paused=True, filter_tags=["none"])
    path = second.mailbox["id"]  # type: ignore[attr-defined]
    sent = world.send(gig, assign_to=path).ok()
    assert (sent["status"], sent["mailbox_id"]) == ("assigned", path)
    moved = world.task(gig)
    assert inbound(first) == [moved]
    gig.owner.post(f"{gig.path}/tasks/{moved}/assign", {"assign_to": path})
    assert inbound(second) == [sent["message_id"], moved]


@pytest.mark.rule("T-05")
def test_a_draft_that_would_be_dropped_stays_a_draft(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    draft = world.task(gig, draft="true")
    path = f"{gig.path}/tasks/{draft}/publish"
    refusal = gig.owner.call("POST", path, {}).refused(409)
    assert refusal["draft_kept"] is True
    worker = world.worker(gig)
    gig.owner.post(path)
    assert inbound(worker) == [draft]


def _candidate(number: int, priority: int = 5) -> Candidate:
    return Candidate(
        str(number),
        str(number),
        0,
        priority,
        False,
        None,
        None,
        None,
        "[]",
        "exact",
        None,
        None,
        True,
    )


# The value of chi-square that p = 0.001 leaves above it, by degrees of freedom.
RARE = {4: 18.467, 9: 27.877}


@pytest.mark.rule("U-01")
@pytest.mark.parametrize(
    ("pick", "priorities"),
    [("by_lot", [5] * 5), ("by_lot", list(range(1, 11))), ("by_priority", list(range(1, 11)))],
)
def test_lots_fall_as_often_as_they_should(pick: str, priorities: list[int]) -> None:
    """Also among those who are left once some of the first ones are passed over."""
    random.seed(8)
    candidates = [_candidate(number, one) for number, one in enumerate(priorities)]
    rounds = 5_000
    weights = priorities if pick == "by_priority" else [1] * len(priorities)
    for passed_over in ((), ("0", "3")):
        drawn = Counter(
            next(
                one.id
                for one in push_candidates.in_order(candidates, pick)
                if one.id not in passed_over
            )
            for _ in itertools.repeat(None, rounds)
        )
        left = [one for one in candidates if one.id not in passed_over]
        whole = sum(weights[int(one.id)] for one in left)
        expected = {one.id: rounds * weights[int(one.id)] / whole for one in left}
        chi_square = sum((drawn[name] - n) ** 2 / n for name, n in expected.items())
        assert chi_square < RARE[4 if len(priorities) == 5 else 9]


@pytest.mark.rule("H-09")
def test_the_price_of_a_dropped_task_is_exact(world: World) -> None:
    gig = world.gig(distribution="random")
    sent = world.send(gig, price="2.000001").ok()
    assert Decimal(str(sent["evaluated"]["price"])) == Decimal("2.000001")
