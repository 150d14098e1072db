"""Webhook secrets: changed with a time of grace, sealed at rest (W-03, F20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine import clock, deliveries
from engine.db import db
from engine.models.gig import Gig as GigRow
from engine.models.mailbox import Mailbox
from engine.rules import signing
from tests.contract.scene import everything
from tests.contract.webhooks import FAILED, begin, prove, row, told
from tests.deliveries.webhook_receiver import Receiver, answer
from tests.world import Gig, Person, World, eventually


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.close()


def verifies(secret: str, got: Any) -> bool:
    try:
        Webhook(secret).verify(got.body, got.headers)
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.rule("W-03")
@pytest.mark.case("F20")
def test_a_retry_after_a_rotation_verifies_with_either_secret_and_later_with_the_new_alone(
    world: World, receiver: Receiver
) -> None:
    receiver.answers["/in"] = answer(500)
    world.start()
    gig = world.gig(proof_webhook_url=receiver.url("/in"))
    delivery_id = prove(world, gig, world.worker(gig))
    seen = [receiver.wait_for(1)[0]]
    rotate = f"{gig.path}/webhook-secret/rotate"
    new = gig.owner.post(rotate, {"grace_seconds": 1000})["webhook_secret"]
    for seconds in (10, 1000):
        eventually(lambda: row(gig.owner, delivery_id)["status"] == "pending")
        clock.advance(seconds)
        seen.append(receiver.wait_for(len(seen) + 1)[-1])
    _, graced, _ = seen
    assert len({one.headers["webhook-id"] for one in seen}) == 1
    assert [verifies(gig.secret, one) for one in seen] == [True, True, False]
    assert [verifies(new, one) for one in seen] == [False, True, True]
    body, header = graced.body, graced.headers["x-muster-signature"]
    stamp, *signatures = (part.partition("=")[2] for part in header.split(","))
    assert signatures == [
        signing._hex_signature(secret, int(stamp), body) for secret in (new, gig.secret)
    ]
    newest, older = graced.headers["webhook-signature"].split()
    for secret, signature in ((new, newest), (gig.secret, older)):
        Webhook(secret).verify(body, {**graced.headers, "webhook-signature": signature})


@pytest.mark.rule("W-03")
def test_who_may_rotate_what_and_how(world: World, pair: tuple[Gig, Person]) -> None:
    gig, worker = pair
    of_gig = f"{gig.path}/webhook-secret/rotate"
    of_mailbox = f"{gig.path}/mailboxes/{worker.mailbox['id']}/webhook-secret/rotate"
    neighbour, stranger = world.worker(gig), world.person()
    before = everything()
    for person, path in (
        (worker, of_gig),
        (gig.owner, of_mailbox),
        (neighbour, of_mailbox),
    ):
        person.call("POST", path).refused(403, "not_permitted")
    stranger.call("POST", of_mailbox).refused(403, "not_joined")
    for grace in (-1, 604_801, 1.5, "5", None, True):
        gig.owner.call("POST", of_gig, {"grace_seconds": grace}).refused(400)
    assert everything() == before
    made = [gig.secret, worker.secret]
    for grace in ({}, {"grace_seconds": 0}, {"grace_seconds": 604_800}):
        made.append(gig.owner.post(of_gig, grace)["webhook_secret"])
        made.append(worker.post(of_mailbox, grace)["webhook_secret"])
    assert len(set(made)) == 8
    assert all(len(signing.key_bytes(secret)) == 32 for secret in made)
    events = [
        *told(gig.owner, gig, "gig.webhook_secret_rotated"),
        *told(worker, gig, "mailbox.webhook_secret_rotated"),
    ]
    assert [one["data"] for one in events] == [
        {"grace_seconds": seconds} for seconds in (86_400, 0, 604_800) * 2
    ]
    assert told(worker, gig, "gig.webhook_secret_rotated") == []


@pytest.mark.rule("W-03")
def test_every_secret_that_was_promised_grace_signs_until_then(
    world: World, pair: tuple[Gig, Person]
) -> None:
    gig, worker = pair
    delivery_id = prove(world, gig, worker)

    def rotate(grace: int) -> str:
        body = {"grace_seconds": grace}
        secret: str = gig.owner.post(f"{gig.path}/webhook-secret/rotate", body)["webhook_secret"]
        return secret

    def signs() -> tuple[str, ...]:
        work = begin(delivery_id)
        deliveries.finish(work, FAILED)
        return work.target.secrets

    second, third = rotate(1000), rotate(2000)
    assert signs() == (third, second, gig.secret)
    clock.advance(1500)
    assert signs() == (third, second)
    # No grace means none, for the older ones too.
    fourth = rotate(0)
    assert signs() == (fourth,)
    many = [rotate(1000) for _ in range(8)]
    assert signs() == tuple(many[::-1][:5])


@pytest.mark.rule("W-03")
def test_secrets_are_sealed_at_rest(world: World, pair: tuple[Gig, Person]) -> None:
    gig, worker = pair
    new = gig.owner.post(f"{gig.path}/webhook-secret/rotate")["webhook_secret"]
    with db.reading():
        kept = str(db.rows("SELECT webhook_secret, old_webhook_secrets FROM gig"))
        kept += str(db.rows("SELECT webhook_secret FROM mailbox"))
        assert GigRow.get(GigRow.id == gig.id).webhook_secret in kept
        assert Mailbox.get(Mailbox.id == worker.mailbox["id"]).webhook_secret in kept
    assert "whsec_" not in kept
    for secret in (new, gig.secret, worker.secret):
        assert secret not in kept and secret.removeprefix("whsec_") not in kept
