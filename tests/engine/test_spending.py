"""What a gig's token may spend, and tasks that wait for their owner before they are funded
(G-04, T-05, T-07), on a real chain and both databases."""

from __future__ import annotations

import pytest
import simplejson

from tests.engine.escrow_world import (
    approve,
    ended,
    escrow_gig,
    escrows_of,
    events_of,
    fine,
    prove,
    take,
    token,
    units,
)
from tests.world import Answer, Gig, World, at_once, eventually

DOLLAR = 1_000_000


def queued(answer: Answer) -> None:
    assert answer.ok()["status"] == "queued"


def queued_id(answer: Answer) -> str:
    queued(answer)
    message_id: str = answer.json["message_id"]
    return message_id


def held_back(answer: Answer, reason: str) -> str:
    """It was kept as a draft; answers its id."""
    told = answer.ok()
    assert (told["status"], told["reason"]) == ("draft", reason)
    message_id: str = told["message_id"]
    return message_id


@pytest.fixture
def plain(world: World) -> Gig:
    return world.gig(webhook_max_price="5", webhook_daily_spend="10", price="1")


@pytest.mark.rule("G-04")
def test_the_token_spends_no_more_than_its_owner_allows(world: World, plain: Gig) -> None:
    held_back(world.send(plain, price="5.000001"), "over_max_price")
    for _ in range(2):
        queued(world.send(plain, price="4.5"))
    held_back(world.send(plain, price="1.01"), "over_daily_spend")
    # A price to be decided counts as the gig's.
    queued(world.send(plain, price="tbd"))
    held_back(world.send(plain), "over_daily_spend")
    queued(world.send(plain, price="0"))
    plain.owner.patch(plain.path, {"webhook_daily_spend": "11"})
    queued(world.send(plain))
    world.call("POST", "/dev/clock/advance", {"seconds": 86_400}).ok()
    queued(world.send(plain))
    assert len(plain.owner.get(f"{plain.path}/queue")["tasks"]) == 6


@pytest.mark.rule("G-04")
@pytest.mark.rule("A-02")
def test_what_its_owner_deletes_may_be_spent_again_but_not_what_its_copies_cost(
    world: World, plain: Gig
) -> None:
    first = queued_id(world.send(plain, price="4"))
    queued(world.send(plain, price="4"))
    held_back(world.send(plain, price="4"), "over_daily_spend")
    plain.owner.call("DELETE", f"{plain.path}/tasks/{first}").ok()
    queued(world.send(plain, price="4"))
    held_back(world.send(plain, price="4"), "over_daily_spend")
    plain.owner.call("DELETE", f"{plain.path}/queue/all").ok()
    for _ in range(2):
        queued(world.send(plain, price="5"))
    # Each worker takes a copy: two are made, and three that were counted never will be.
    solo = world.gig(
        distribution="queue_solo", max_claims_per_task=5, price="2", webhook_daily_spend="10"
    )
    template = queued_id(world.send(solo))
    for _ in range(2):
        worker = world.worker(solo)
        assert worker.post(f"{solo.path}/queue/poll")["count"] == 1
    solo.owner.call("DELETE", f"{solo.path}/tasks/{template}").ok()
    solo.owner.patch(solo.path, {"max_claims_per_task": 3})
    queued(world.send(solo))
    held_back(world.send(solo, price="0.1"), "over_daily_spend")
    # Each is given one, and this one has waited for the first of them.
    pushed = world.gig(distribution="free_for_all", price="2", webhook_daily_spend="2")
    worker = world.worker(pushed)
    mailbox = f"{pushed.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    worker.patch(mailbox, {"paused": True})
    waits = world.send(pushed).ok()
    assert waits["status"] == "waiting"
    held_back(world.send(pushed), "over_daily_spend")
    pushed.owner.call("DELETE", f"{pushed.path}/tasks/{waits['message_id']}").ok()
    assert world.send(pushed).ok()["status"] == "waiting"


@pytest.mark.rule("G-04")
def test_many_at_once_never_spend_more_together_than_a_day_allows(world: World, plain: Gig) -> None:
    answers = at_once(16, lambda _: world.send(plain, price="3").ok()["status"])
    assert sorted(answers) == ["draft"] * 13 + ["queued"] * 3


@pytest.mark.rule("G-04")
def test_a_limit_that_is_set_later_counts_what_was_sent_that_day(world: World) -> None:
    gig = world.gig(price="1")
    for _ in range(3):
        world.send(gig).ok()
    gig.owner.patch(gig.path, {"webhook_daily_spend": "4"})
    queued(world.send(gig))
    held_back(world.send(gig), "over_daily_spend")


@pytest.mark.rule("G-04")
@pytest.mark.rule("Y-07")
def test_what_could_not_be_funded_was_not_spent_and_nothing_over_the_limit_is_funded(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=1, webhook_daily_spend="3", webhook_max_price="2.5")
    for _ in range(2):
        world.send(gig, "x").refused(402, "insufficient_funds")
    world.send(gig, "x", external_id="a").refused(402, "insufficient_funds")
    token(world, "mint", gig.wallet, 50 * DOLLAR)  # type: ignore[attr-defined]
    held_back(world.send(gig, "x", price="2.6"), "over_max_price")
    queued(world.send(gig, "x", external_id="a"))
    late = held_back(world.send(gig, "y"), "over_daily_spend")
    assert units(gig, world) == 51 * DOLLAR - 2_750_000
    # Its owner decides otherwise.
    funded = gig.owner.post(f"{gig.path}/tasks/{late}/publish")
    assert (funded["message_id"], funded["escrow_funded"]) == (late, True)
    assert units(gig, world) == 51 * DOLLAR - 2 * 2_750_000
    fine()


@pytest.mark.rule("G-04")
@pytest.mark.rule("T-04")
@pytest.mark.rule("Y-07")
def test_what_is_too_much_by_the_time_that_it_could_be_funded_is_held_back(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=1, webhook_daily_spend="5")
    world.send(gig, "x", external_id="a").refused(402, "insufficient_funds")
    token(world, "mint", gig.wallet, 50 * DOLLAR)  # type: ignore[attr-defined]
    queued(world.send(gig, "y", price="2.6"))
    late = held_back(world.send(gig, "x", external_id="a"), "over_daily_spend")
    assert held_back(world.send(gig, "x", external_id="a"), "over_daily_spend") == late
    assert units(gig, world) == 51 * DOLLAR - 2_860_000
    assert gig.owner.post(f"{gig.path}/tasks/{late}/publish")["status"] == "queued"
    fine()


@pytest.mark.rule("T-05")
@pytest.mark.rule("Y-07")
def test_a_draft_that_cannot_be_funded_is_kept_and_can_be_changed_and_published(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=3)
    draft = world.send(gig, "x", draft="true", price="10").ok()["message_id"]
    assert units(gig, world) == 3 * DOLLAR and escrows_of(gig) == []
    path = f"{gig.path}/tasks/{draft}"
    told = gig.owner.call("POST", f"{path}/publish").refused(402, "insufficient_funds")
    assert (told["draft_kept"], told["message_id"]) == (True, draft)
    assert [one["id"] for one in gig.owner.get(f"{gig.path}/drafts")["drafts"]] == [draft]
    gig.owner.patch(f"{path}/draft", {"price": "tbd"})
    told = gig.owner.call("POST", f"{path}/publish").refused(400)
    assert list(told["errors"]) == ["price"]
    gig.owner.patch(f"{path}/draft", {"price": "2"})
    answers = at_once(3, lambda _: gig.owner.call("POST", f"{path}/publish"))
    assert sorted(one.status for one in answers) == [200, 409, 409]
    (funded,) = [one.json for one in answers if one.status == 200]
    assert (funded["message_id"], funded["status"]) == (draft, "queued")
    assert str(funded["escrow_amount"]) == "2.2"
    assert units(gig, world) == 3 * DOLLAR - 2_200_000
    ended(gig, "abandoned", "open")
    fine()


@pytest.mark.rule("A-01")
@pytest.mark.rule("T-02")
@pytest.mark.rule("Y-07")
def test_whom_a_task_is_for_gets_it_once_it_is_funded(paying_world: World) -> None:
    world = paying_world
    gig = escrow_gig(world, price="1")
    worker = world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    given = world.send(gig, "x", assign_to=mailbox_id).ok()
    assert (given["status"], given["mailbox_id"]) == ("assigned", mailbox_id)
    kept = world.send(gig, "x", reserved_for=mailbox_id).ok()
    assert (kept["status"], kept["reserved_for"]) == ("reserved", mailbox_id)
    assert given["escrow_funded"] is kept["escrow_funded"] is True
    assert take(gig, worker)["id"] == kept["message_id"]
    fine()


@pytest.mark.rule("A-01")
@pytest.mark.rule("Y-07")
def test_a_task_for_somebody_who_leaves_before_it_is_funded_goes_back_to_its_owner(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=0, price="1")
    worker, other = world.worker(gig), world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    sent = {"assign_to": mailbox_id, "external_id": "a"}
    world.send(gig, "x", **sent).refused(402, "insufficient_funds")
    gig.owner.patch(f"{gig.path}/mailboxes/{mailbox_id}", {"status": "inactive"})
    token(world, "mint", gig.wallet, 5 * DOLLAR)  # type: ignore[attr-defined]
    told = world.send(gig, "x", **sent).ok()
    assert (told["status"], told["mailbox_id"]) == ("unassigned", "UNASSIGNED")
    assert "task.unassigned" in events_of(gig)
    task_id = told["message_id"]
    other.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)
    body = {"assign_to": other.mailbox["id"]}  # type: ignore[attr-defined]
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", body)
    approve(gig, prove(gig, other, task_id))
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert rollup["status"] == "paid"
    fine()


@pytest.mark.rule("T-07")
@pytest.mark.rule("Y-07")
def test_rows_of_a_bulk_call_are_each_funded_in_their_own_time(paying_world: World) -> None:
    world = paying_world
    gig = escrow_gig(world, price="1")
    rows = b'{"payload": "a"}\n{"payload": "b", "price": 2}\n{"price": 0}\n{"draft": true}\n'
    headers = {"content-type": "application/x-ndjson"}
    path = f"{gig.path}/tasks/bulk"
    dry = gig.owner.call("POST", f"{path}?dry_run=true", raw=rows, headers=headers).text
    assert '"price": 3, "fee": 0.3, "cost": 3.3' in dry.splitlines()[-1]
    assert escrows_of(gig) == []
    answer = gig.owner.call("POST", path, raw=rows, headers=headers)
    told = [simplejson.loads(line) for line in answer.text.splitlines()]
    assert [one.get("status") for one in told[:4]] == ["unfunded", "unfunded", "refused", "draft"]
    for one in told[:2]:
        url = f"/commands/{one['command_id']}"
        done = eventually(lambda url=url: [c for c in [gig.owner.get(url)] if c["result"]])  # type: ignore[misc]
        assert done[0]["result"]["message_id"] == one["message_id"]
    ended(gig, "open", "open")
    assert units(gig, world) == 100 * DOLLAR - 3_300_000
    fine()
