"""Endpoints: which URLs there are, who sees them, when nothing more is sent (W-01, W-02, W-09)."""

from __future__ import annotations

import pytest
import simplejson

from engine import clock, deliveries
from engine.db import db
from engine.models.delivery import Delivery
from engine.rules import retry
from tests.contract.webhooks import (
    FAILED,
    GONE,
    OTHER_URL,
    TAKEN,
    URL,
    attempt,
    begin,
    endpoint,
    log,
    prove,
    row,
    told,
)
from tests.world import Gig, Person, World


@pytest.mark.rule("W-02")
@pytest.mark.rule("W-06")
def test_an_endpoint_that_took_nothing_for_ten_tries_is_disabled_and_its_owner_is_told(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    first, second = prove(world, gig, worker), prove(world, gig, worker)
    attempt(first, *[FAILED] * retry.TRIES)
    where = endpoint(gig.owner, "gig.proofs")
    assert (where["status"], where["reason"], where["waiting"]) == ("disabled", "failing", 1)
    assert where["disabled_at"] and where["url"] == URL and where["owner_id"] == gig.id
    (event,) = told(gig.owner, gig, "endpoint.disabled")
    assert event["data"] == {
        "endpoint_id": where["id"],
        "endpoint_kind": "gig.proofs",
        "reason": "failing",
    }
    assert told(worker, gig, "endpoint.disabled") == []
    # What happens meanwhile is kept.
    third = prove(world, gig, worker)
    assert [row(gig.owner, one)["status"] for one in (first, second, third)] == [
        "failed",
        "paused",
        "paused",
    ]
    # So is what is asked for: it goes once the endpoint is enabled.
    for one in (first, second):
        assert gig.owner.post(f"/deliveries/{one}/redeliver")["delivery"]["status"] == "paused"
    path = f"/deliveries/endpoints/{where['id']}/enable"
    worker.call("POST", path).refused(404)
    shown = gig.owner.post(path)["endpoint"]
    assert (shown["status"], shown["reason"], shown["disabled_at"]) == ("active", None, None)
    assert shown["waiting"] == 3
    assert len(told(gig.owner, gig, "endpoint.enabled")) == 1
    for one in (first, second, third):
        assert begin(one).tries == 1
    gig.owner.post(path)
    assert len(told(gig.owner, gig, "endpoint.enabled")) == 1


@pytest.mark.rule("W-02")
def test_an_endpoint_that_takes_anything_meanwhile_stays_active(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    bad, good = prove(world, gig, worker), prove(world, gig, worker)
    attempt(bad, FAILED)
    attempt(good, TAKEN)
    attempt(bad, *[FAILED] * 9)
    assert row(gig.owner, bad)["status"] == "failed"
    assert endpoint(gig.owner, "gig.proofs")["status"] == "active"
    # What it took before the tries began speaks for nothing.
    clock.advance(10)
    gig.owner.post(f"/deliveries/{bad}/redeliver")
    attempt(bad, *[FAILED] * 10)
    assert endpoint(gig.owner, "gig.proofs")["reason"] == "failing"


@pytest.mark.rule("W-02")
def test_410_disables_and_the_worker_is_told_without_his_url(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig, events_webhook_url=URL)
    body = {"task_identifier": world.task(gig)}
    proof = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    gig.owner.patch(f"{gig.path}/proofs/{proof}", {"action": "approve"})
    (delivery,) = log(worker)
    attempt(delivery["id"], GONE)
    assert endpoint(worker, "mailbox.events")["reason"] == "gone"
    for person in (worker, gig.owner):
        (event,) = told(person, gig, "endpoint.disabled")
        assert event["data"]["reason"] == "gone" and "127.0.0.1" not in str(event)


@pytest.mark.rule("W-09")
def test_removing_a_url_stops_every_try_and_setting_it_brings_them_back(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    waiting, under_way = prove(world, gig, worker), prove(world, gig, worker)
    work = begin(under_way)
    gig.owner.patch(gig.path, {"proof_webhook_url": None})
    where = endpoint(gig.owner, "gig.proofs")
    assert (where["status"], where["reason"], where["url"]) == ("disabled", "removed", None)
    gig.owner.call("POST", f"/deliveries/endpoints/{where['id']}/enable").refused(409, "no_url")
    deliveries.finish(work, FAILED)
    for one in (waiting, under_way):
        assert row(gig.owner, one)["status"] == "paused"
    assert deliveries.due() == {}
    # Without a URL there is nobody to tell.
    worker.post(f"{gig.path}/proofs", {"task_identifier": world.task(gig)})
    assert len(log(gig.owner)) == 2
    assert told(gig.owner, gig, "endpoint.disabled") == []
    gig.owner.patch(gig.path, {"proof_webhook_url": OTHER_URL})
    assert begin(waiting).target.url == begin(under_way).target.url == OTHER_URL
    assert endpoint(gig.owner, "gig.proofs")["id"] == where["id"]


@pytest.mark.rule("W-02")
@pytest.mark.parametrize("change", ["lease", "url"])
def test_a_410_that_comes_too_late_disables_nothing(
    change: str, world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    delivery_id = prove(world, gig, worker)
    late = begin(delivery_id)
    if change == "lease":
        clock.advance(deliveries.LEASE_MS // 1000 + 1)
        deliveries.finish(begin(delivery_id), TAKEN)
    else:
        gig.owner.patch(gig.path, {"proof_webhook_url": OTHER_URL})
    deliveries.finish(late, GONE)
    assert endpoint(gig.owner, "gig.proofs")["status"] == "active"
    assert told(gig.owner, gig, "endpoint.disabled") == []


@pytest.mark.rule("W-01")
@pytest.mark.rule("W-08")
def test_a_join_is_told_to_the_gigs_join_webhook(world: World) -> None:
    gig = world.gig(join_webhook_url=URL)
    worker = world.worker(gig, name="Wanda")
    (delivery,) = log(gig.owner)
    assert (delivery["event"], delivery["endpoint_kind"]) == ("mailbox.joined", "gig.joins")
    with db.reading():
        body = Delivery.get(Delivery.id == delivery["id"]).body
    sent = simplejson.loads(body)
    assert sent.pop("sent_at") and sent.pop("joined_at") == worker.mailbox["joined_at"]
    assert sent == {
        "event": "mailbox.joined",
        "gig_id": gig.id,
        "mailbox_id": worker.mailbox["id"],
        "name": "Wanda",
        "status": "active",
        "email": worker.mailbox["email"],
        "wallet_address": worker.mailbox["wallet_address"],
        "invite_token": gig.invite,
    }
    assert gig.owner.get(gig.path)["gig"]["join_webhook_url"] == URL
    assert "join_webhook_url" not in worker.get(gig.path)["gig"]
    # Joining again is not joining.
    world.worker(gig, worker)
    gig.owner.patch(gig.path, {"join_webhook_url": None})
    world.worker(gig)
    assert len(log(gig.owner)) == 1


@pytest.mark.rule("W-01")
@pytest.mark.rule("M-02")
def test_a_mailboxs_two_urls_are_its_workers_alone(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig, webhook=URL)
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"
    assert worker.mailbox["webhook"] == URL and worker.mailbox["events_webhook_url"] is None
    assert endpoint(worker, "mailbox.tasks")["url"] == URL
    worker.patch(path, {"webhook": OTHER_URL, "events_webhook_url": URL})
    assert endpoint(worker, "mailbox.tasks")["url"] == OTHER_URL
    assert endpoint(worker, "mailbox.events")["url"] == URL
    (seen,) = gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
    assert not {"webhook", "events_webhook_url"} & set(seen)
    gig.owner.call("PATCH", path, {"webhook": URL}).refused(403, "not_permitted")
    worker.call("PATCH", path, {"webhook": "http://10.0.0.1/"}).refused(400)
    worker.patch(path, {"webhook": None})
    assert endpoint(worker, "mailbox.tasks")["status"] == "disabled"
