"""The auction of a package of its own: verbs, fields, prices and bells of a mode (G-03)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import bells, clock, modes
from engine.rules import times
from jobs import actors
from plugins import defaults
from tests.modes.packages import install
from tests.world import Gig, Person, World, at_once

pytestmark = pytest.mark.rule("G-03")
SECONDS = 600


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("auction_mode", tmp_path_factory.mktemp("auction"))


@pytest.fixture
def gig(world: World, site: Path, monkeypatch: pytest.MonkeyPatch) -> Gig:
    monkeypatch.syspath_prepend(str(site))
    modes.load(defaults)
    return world.gig(distribution="auction", join_policy="open", price="20")


def bid(gig: Gig, worker: Person, task_id: str, amount: Any) -> Any:
    return worker.call("POST", f"{gig.path}/tasks/{task_id}/do/bid", {"amount": amount})


def read(gig: Gig, person: Person, task_id: str) -> Any:
    return person.get(f"{gig.path}/tasks/{task_id}")["task"]


def end(seconds: int = SECONDS) -> None:
    clock.advance(seconds)
    actors.sweep()


def test_the_lowest_bid_wins_the_task_is_its_price_and_is_paid_for(world: World, gig: Gig) -> None:
    high, low, late = (world.worker(gig) for _ in range(3))
    sent = world.send(gig, "dig", bidding_seconds=SECONDS, reserve="12.50").ok()
    assert sent["status"] == "bidding"
    task_id = sent["message_id"]

    assert bid(gig, high, task_id, "12.50").ok()["amount"] == 12.5
    bid(gig, low, task_id, 11).ok()
    bid(gig, low, task_id, 9.25).ok()
    bid(gig, late, task_id, "9.25").ok()
    refusal = bid(gig, late, task_id, 12.51).refused(400, "invalid")
    assert refusal["errors"] == {"amount": "bid at most 12.5"}

    end(SECONDS - 10)
    assert read(gig, low, task_id)["mode"]["stage"] == "bidding"
    end(10)
    won = read(gig, low, task_id)
    assert (won["status"], won["price"], won["mode"]["stage"]) == ("claimed", 9.25, "awarded")
    bid(gig, high, task_id, 1).refused(404)
    again = gig.owner.call("POST", f"{gig.path}/tasks/{task_id}/do/again", {})
    assert again.refused(409, "wrong_stage")["stage"] == "awarded"

    proof = low.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
    verdict = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    assert (verdict["status"], verdict["locked_price"]) == ("approved", 9.25)
    kinds = [one["type"] for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]
    assert kinds.count("task.rang") == 1
    assert kinds.count("task.acted") == 4


def test_a_bidder_sees_his_own_bid_its_owner_all_and_others_how_many_there_are(
    world: World, gig: Gig
) -> None:
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS, reserve=10)
    closes_at = bid(gig, one, task_id, 8).ok()["closes_at"]
    common = {"stage": "bidding", "closes_at": closes_at, "bids_count": 1}
    assert read(gig, one, task_id)["mode"] == {**common, "your_bids": [8]}
    assert read(gig, other, task_id)["mode"] == {**common, "your_bids": []}
    (listed,) = other.get(f"{gig.path}/queue")["tasks"]
    assert listed["mode"] == {**common, "your_bids": []}
    assert read(gig, gig.owner, task_id)["mode"] == {
        **common,
        "bids": [{"mailbox_id": one.mailbox["id"], "amount": 8}],  # type: ignore[attr-defined]
        "fields": {"bidding_seconds": SECONDS, "reserve": 10},
    }


def test_a_task_without_bids_waits_for_its_owner_who_opens_it_again(world: World, gig: Gig) -> None:
    worker = world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS)
    end()
    assert read(gig, worker, task_id)["mode"]["stage"] == "unsold"
    assert bid(gig, worker, task_id, 1).refused(409, "wrong_stage")["stage"] == "unsold"
    path = f"{gig.path}/tasks/{task_id}/do/again"
    worker.call("POST", path, {}).refused(403)
    told = gig.owner.post(path, {"bidding_seconds": SECONDS})
    assert told == {"success": True, "stage": "bidding"}
    bid(gig, worker, task_id, 1).ok()
    end()
    assert read(gig, worker, task_id)["mailbox_id"] == worker.mailbox["id"]  # type: ignore[attr-defined]


def test_a_winner_who_has_left_gives_way_to_the_next(world: World, gig: Gig) -> None:
    gone, next_one = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS)
    bid(gig, gone, task_id, 1).ok()
    bid(gig, next_one, task_id, 2).ok()
    gone.call("DELETE", f"{gig.path}/mailboxes/{gone.mailbox['id']}").ok()  # type: ignore[attr-defined]
    end()
    won = read(gig, next_one, task_id)
    assert (won["status"], won["price"]) == ("claimed", 2)


def test_what_a_winner_loses_is_for_sale_again_at_the_first_price(world: World, gig: Gig) -> None:
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS)
    bid(gig, one, task_id, 1).ok()
    end()
    gig.owner.post(f"{gig.path}/tasks/{task_id}/recycle")
    assert read(gig, gig.owner, task_id)["mode"]["stage"] == "unsold"
    gig.owner.post(f"{gig.path}/tasks/{task_id}/do/again", {"bidding_seconds": SECONDS})
    bid(gig, other, task_id, 15).ok()
    end()
    assert read(gig, other, task_id)["price"] == 15


def test_twenty_bids_at_once_are_all_counted(world: World, gig: Gig) -> None:
    workers = [world.worker(gig) for _ in range(20)]
    task_id = world.task(gig, bidding_seconds=SECONDS)
    at_once(20, lambda number: bid(gig, workers[number], task_id, 20 - number).ok())
    bids = read(gig, gig.owner, task_id)["mode"]["bids"]
    assert [one["amount"] for one in bids] == list(range(1, 21))
    clock.advance(SECONDS)
    assert sum(at_once(4, lambda _: bells.ring())) == 1
    assert read(gig, workers[19], task_id)["price"] == 1


def test_a_process_that_dies_between_the_bell_and_the_award_awards_nothing_twice(
    world: World, gig: Gig, site: Path
) -> None:
    worker = world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS)
    bid(gig, worker, task_id, 7).ok()
    clock.advance(SECONDS)
    child = [sys.executable, "-m", "tests.modes.ring_and_die", world.settings.DATABASE_URL]
    done = subprocess.run([*child, str(site)], check=True, capture_output=True, text=True)
    *died, last = done.stdout.split()
    # Whatever was not committed has not been; what was is there, though nobody heard of it.
    assert set(died) == {"bidding-9"}
    assert last == "awarded-9"
    assert bells.ring() == 0
    won = read(gig, worker, task_id)
    assert (won["status"], won["price"]) == ("claimed", 7)
    kinds = [one["type"] for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]
    assert (kinds.count("task.rang"), kinds.count("task.assigned")) == (1, 1)


def test_an_auction_of_a_draft_begins_when_it_is_published(world: World, gig: Gig) -> None:
    worker = world.worker(gig)
    task_id = world.task(gig, draft="true", bidding_seconds=SECONDS)
    end(3 * SECONDS)
    gig.owner.post(f"{gig.path}/tasks/{task_id}/publish")
    told = bid(gig, worker, task_id, 3).ok()
    assert times.parse_ms(told["closes_at"]) > clock.now()


def test_a_token_cannot_raise_what_it_may_spend(world: World, gig: Gig) -> None:
    gig.owner.patch(gig.path, {"webhook_daily_spend": 20})
    worker = world.worker(gig)
    task_id = world.task(gig, bidding_seconds=SECONDS, price=20)
    bid(gig, worker, task_id, 5).ok()
    end()
    # What the bid has saved may be spent today.
    assert world.send(gig, bidding_seconds=SECONDS, price=15).ok()["status"] == "bidding"
    assert world.send(gig, bidding_seconds=SECONDS, price=1).ok()["reason"] == "over_daily_spend"


def test_a_bell_of_what_is_not_due_rings_when_it_is(world: World, gig: Gig) -> None:
    due = times.iso_ms(clock.now() + 2 * SECONDS * clock.SECOND)
    task_id = world.task(gig, bidding_seconds=SECONDS, not_before=due)
    end()
    assert read(gig, gig.owner, task_id)["mode"]["stage"] == "bidding"
    end()
    assert read(gig, gig.owner, task_id)["mode"]["stage"] == "unsold"
