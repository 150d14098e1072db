"""The log of deliveries, and sending them again (W-06, W-09)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, deliveries
from engine.db import db
from engine.models.delivery import Delivery
from engine.rules import retry, times
from tests.contract.test_lists import walk
from tests.contract.webhooks import FAILED, TAKEN, URL, attempt, begin, endpoint, log, prove, row
from tests.world import Gig, Person, World


@pytest.mark.rule("W-09")
def test_a_delivery_is_shown_with_every_try(world: World, pair: tuple[Gig, Person]) -> None:
    gig, worker = pair
    delivery_id = prove(world, gig, worker)
    where = endpoint(gig.owner, "gig.proofs")
    untried = row(gig.owner, delivery_id)
    assert untried["next_attempt_at"].endswith("Z") and untried.pop("next_attempt_at")
    assert untried == {
        "id": delivery_id,
        "event": "proof.submitted",
        "endpoint_id": where["id"],
        "endpoint_kind": "gig.proofs",
        "status": "pending",
        "attempts": [],
    }
    attempt(delivery_id, FAILED, TAKEN)
    tried = row(gig.owner, delivery_id)
    first, second = tried["attempts"]
    assert (tried["status"], tried["next_attempt_at"]) == ("delivered", None)
    assert first.pop("at") <= second.pop("at")
    assert first == {
        "status_code": 500,
        "error": "The receiver answered 500.",
        "latency_ms": 7,
        "response_excerpt": "no",
    }
    assert second["error"] is None
    begun = prove(world, gig, worker)
    begin(begun)
    assert (row(gig.owner, begun)["status"], row(gig.owner, begun)["next_attempt_at"]) == (
        "delivering",
        None,
    )


@pytest.mark.rule("W-06")
@pytest.mark.rule("H-06")
def test_the_log_is_newest_first_filtered_and_walked_while_more_comes(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    worker.patch(f"{gig.path}/mailboxes/{worker.mailbox['id']}", {"events_webhook_url": URL})
    made = [prove(world, gig, worker) for _ in range(20)]
    assert [one["id"] for one in log(gig.owner)] == made[::-1]
    db.write(lambda: Delivery.update(created_at=1).execute())
    found = walk(gig.owner, "/deliveries", "deliveries", lambda _: prove(world, gig, worker))
    assert found == sorted(made, reverse=True)
    attempt(made[3], TAKEN)
    assert [one["id"] for one in log(gig.owner, "?status=delivered")] == [made[3]]
    where = endpoint(gig.owner, "gig.proofs")["id"]
    assert len(log(gig.owner, f"?endpoint={where}&limit=200")) == len(log(gig.owner, "?limit=200"))
    assert log(gig.owner, "?endpoint=none") == []
    gig.owner.call("GET", "/deliveries?status=lost").refused(400)
    # Each sees what goes to his own URLs.
    assert log(worker) == [] == log(worker, f"?endpoint={where}")
    assert [one["kind"] for one in worker.get("/deliveries/endpoints")["endpoints"]] == [
        "mailbox.events"
    ]


@pytest.mark.rule("W-06")
def test_a_page_takes_as_many_queries_as_one_row(
    world: World, pair: tuple[Gig, Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    gig, worker = pair
    asked: list[str] = []
    database: Any = type(db.database)
    plain = database.execute_sql

    def count(*given: Any, **named: Any) -> Any:
        asked.append(str(given[1]))
        return plain(*given, **named)

    def queries() -> int:
        asked.clear()
        log(gig.owner)
        gig.owner.get("/deliveries/endpoints")
        return len(asked)

    attempt(prove(world, gig, worker), FAILED, TAKEN)
    monkeypatch.setattr(database, "execute_sql", count)
    few = queries()
    for _ in range(5):
        attempt(prove(world, gig, worker), FAILED, TAKEN)
    assert queries() == few


@pytest.mark.rule("W-06")
@pytest.mark.rule("W-02")
def test_sending_again_gives_ten_fresh_tries_and_keeps_the_log_whole(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    delivery_id = prove(world, gig, worker)
    attempt(delivery_id, TAKEN)
    again = f"/deliveries/{delivery_id}/redeliver"
    for done in (1, 2):
        # Each time that it is asked for it is sent.
        assert gig.owner.post(again)["delivery"]["status"] == "pending"
        work = begin(delivery_id)
        assert (work.delivery_id, work.attempt, work.tries) == (delivery_id, done + 1, 1)
        gig.owner.call("POST", again).refused(409, "delivery_under_way")
        deliveries.finish(work, TAKEN)
    gig.owner.post(again)
    attempt(delivery_id, *[FAILED] * (retry.TRIES - 1))
    assert row(gig.owner, delivery_id)["status"] == "pending"
    # What waits for its turn goes at once, and begins anew.
    gig.owner.post(again)
    attempt(delivery_id, *[FAILED] * retry.TRIES)
    shown = row(gig.owner, delivery_id)
    assert shown["status"] == "failed"
    codes = [one["status_code"] for one in shown["attempts"]]
    assert codes == [200] * 3 + [500] * (2 * retry.TRIES - 1)
    worker.call("POST", again).refused(404)
    gig.owner.call("POST", "/deliveries/none/redeliver").refused(404)


@pytest.mark.rule("W-06")
def test_all_that_failed_anywhere_is_sent_again_by_one_call(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    other = world.gig(gig.owner, proof_webhook_url=URL, join_webhook_url=URL)
    mine = prove(world, gig, worker)
    world.worker(other)
    others = log(gig.owner)[0]["id"]
    attempt(mine, *[FAILED] * retry.TRIES)
    attempt(others, *[FAILED] * retry.TRIES)
    assert others != mine
    anywhere = {"since": "2000-01-01T00:00:00Z"}
    assert worker.post("/deliveries/replay", anywhere) == {"replayed": 0}
    assert gig.owner.post("/deliveries/replay", anywhere) == {"replayed": 2}
    assert gig.owner.post("/deliveries/replay", anywhere) == {"replayed": 0}


@pytest.mark.rule("W-06")
def test_all_that_failed_since_a_time_is_sent_again_and_nothing_else(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    early, late, taken, waiting = (prove(world, gig, worker) for _ in range(4))
    keeps_it_going = prove(world, gig, worker)
    attempt(early, *[FAILED] * 9)
    attempt(keeps_it_going, TAKEN)
    attempt(early, FAILED)
    clock.advance(3600)
    with db.reading():
        since = clock.now()
    attempt(late, *[FAILED] * 9)
    attempt(taken, TAKEN)
    attempt(late, FAILED)
    where = endpoint(gig.owner, "gig.proofs")["id"]
    body = {"endpoint_id": where, "since": times.iso_ms(since)}
    worker.call("POST", "/deliveries/replay", body).refused(404)
    gig.owner.call("POST", "/deliveries/replay", {**body, "since": "yesterday"}).refused(400)
    assert gig.owner.post("/deliveries/replay", body) == {"replayed": 1}
    states = {one["id"]: one["status"] for one in log(gig.owner)}
    assert states == {
        early: "failed",
        late: "pending",
        taken: "delivered",
        waiting: "pending",
        keeps_it_going: "delivered",
    }
    assert begin(late).tries == 1
    everything_since = {**body, "since": "2020-01-01T00:00:00Z"}
    assert gig.owner.post("/deliveries/replay", everything_since) == {"replayed": 1}
    assert gig.owner.post("/deliveries/replay", everything_since) == {"replayed": 0}
