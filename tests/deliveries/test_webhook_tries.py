"""One try after another: what receivers get, and what their answers come to."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from decimal import Decimal
from email.utils import formatdate
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from engine import clock
from engine.rules import retry
from jobs import post
from tests.deliveries.webhook_receiver import answer, closed_port

ODD_DATA = {
    "text": 'é 🎉 \u2028\u2029 "quoted" \\ \x00',
    "big": 2**53 + 1,
    "huge": 2**63,
    "price": Decimal("1.0"),
    "nested": {"empty": {}, "list": [[], {}]},
}


@pytest.fixture
def moving_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender's clock goes forward by ten seconds whenever it is read."""
    real = time.time()
    ticks = iter(range(10_000))
    monkeypatch.setattr(post, "real_now", lambda: real + 10 * next(ticks))


def try_times(got: list[Any]) -> list[int]:
    return [int(one.headers["webhook-timestamp"]) for one in got]


@pytest.mark.rule("W-03")
@pytest.mark.case("F20")
def test_the_received_bytes_verify(receiver: Any, world: Any, run: Any, outcomes: Any) -> None:
    run(header_prefix="X-Acme")
    endpoint = world.endpoint(receiver.url("/in"))
    [delivery] = world.send(endpoint, **ODD_DATA)
    [got] = receiver.wait_for(1)
    secret = world.secret(endpoint)
    Webhook(secret).verify(got.body, got.headers)
    fields = dict(part.split("=", 1) for part in got.headers["x-acme-signature"].split(","))
    signed = fields["t"].encode() + b"." + got.body
    assert fields["v1"] == hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert b'"price": 1.0' in got.body
    assert "🎉".encode() in got.body
    received = json.loads(got.body)
    assert received["big"] == 2**53 + 1
    assert received["huge"] == 2**63
    assert received["nested"] == {"empty": {}, "list": [[], {}]}
    assert got.method == "POST"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["user-agent"].startswith("Muster/")
    assert got.headers["x-acme-event"] == "proof.submitted"
    assert got.headers["x-acme-delivery"] == got.headers["webhook-id"] == delivery
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    outcomes.wait(1)
    row = world.delivery(delivery)
    assert (row.status, row.attempts, row.next_attempt_at) == ("delivered", 1, None)
    [attempt] = world.attempts(delivery)
    assert (attempt.status_code, attempt.error, attempt.response_excerpt) == (200, None, "ok")


@pytest.mark.rule("W-02")
@pytest.mark.case("F20")
def test_every_try_has_the_same_id_and_body_and_a_fresh_timestamp(
    receiver: Any, world: Any, run: Any, outcomes: Any, moving_time: None
) -> None:
    receiver.answers["/in"] = [answer(500), answer(503), answer(200)]
    loop = run()
    endpoint = world.endpoint(receiver.url("/in"))
    [delivery] = world.send(endpoint)
    for tries in (1, 2, 3):
        outcomes.wait(tries)
        if tries < 3:
            assert world.delivery(delivery).status == "pending"
            world.make_due(delivery)
            loop.wake()
    got = receiver.wait_for(3)
    assert {one.headers["webhook-id"] for one in got} == {delivery}
    assert len({one.body for one in got}) == 1
    first, second, third = try_times(got)
    assert first < second < third
    assert len({one.headers["webhook-signature"] for one in got}) == 3
    assert world.delivery(delivery).status == "delivered"
    assert [one.status_code for one in world.attempts(delivery)] == [500, 503, 200]


@pytest.mark.rule("W-02")
def test_ten_failures_over_three_days_and_it_is_given_up(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = answer(500, b"no")
    loop = run()
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    for tries, wait in enumerate(retry.WAITS_SECONDS, start=1):
        outcomes.wait(tries)
        row = world.delivery(delivery)
        assert (row.status, row.attempts, row.lease_until) == ("pending", tries, None)
        last = world.attempts(delivery)[-1].at
        assert wait * 1000 <= row.next_attempt_at - last <= wait * 1100
        clock.advance(int(wait * 1.1) + 1)
        loop.wake()
    outcomes.wait(10)
    row = world.delivery(delivery)
    assert (row.status, row.attempts, row.next_attempt_at) == ("failed", 10, None)
    assert {one.error for one in world.attempts(delivery)} == {"The receiver answered 500."}
    clock.advance(90_000)
    loop.wake()
    loop.stop()
    assert len(receiver.requests) == 10


@pytest.mark.rule("W-02")
def test_410_disables_the_endpoint_and_its_waiting_rows(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = answer(410)
    endpoint = world.endpoint(receiver.url("/in"))
    first, second = world.send(endpoint, 2)
    run(per_endpoint=1).wake()
    outcomes.wait(1)
    assert world.endpoint_status(endpoint) == "disabled"
    assert world.delivery(first).status == "failed"
    assert world.delivery(second).status == "paused"
    [third] = world.send(endpoint)
    assert world.delivery(third).status == "paused"
    assert "410" in world.attempts(first)[0].error
    assert len(receiver.requests) == 1


@pytest.mark.rule("W-02")
@pytest.mark.case("F18")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(
    status: int, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = answer(status, location=receiver.url("/elsewhere"))
    run()
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    [outcome] = outcomes.wait(1)
    assert not outcome.delivered
    assert "redirects are not followed" in outcome.error
    assert world.delivery(delivery).status == "pending"
    assert [(one.method, one.path) for one in receiver.requests] == [("POST", "/in")]


@pytest.mark.rule("W-02")
def test_retry_after_is_honoured(receiver: Any, world: Any, run: Any, outcomes: Any) -> None:
    in_an_hour = formatdate(time.time() + 3600, usegmt=True)
    receiver.answers["/seconds"] = answer(429, retry_after="120")
    receiver.answers["/date"] = answer(503, retry_after=in_an_hour)
    receiver.answers["/ages"] = answer(503, retry_after="99999999999999999999")
    run()
    asked = (("/seconds", 120), ("/date", 3590), ("/ages", 86_400))
    for count, (path, least) in enumerate(asked, start=1):
        [delivery] = world.send(world.endpoint(receiver.url(path)))
        outcomes.wait(count)
        row = world.delivery(delivery)
        waits = (row.next_attempt_at - world.attempts(delivery)[0].at) / 1000
        assert least <= waits <= least * 1.12, path


@pytest.mark.rule("W-02")
def test_a_secret_that_cannot_sign_fails_the_try_and_nothing_is_sent(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    run()
    [delivery] = world.send(world.endpoint(receiver.url("/in"), secret="whsec_!!!"))
    [outcome] = outcomes.wait(1)
    assert outcome.error == "The try broke off inside Muster (ValueError)."
    assert world.delivery(delivery).status == "pending"
    assert receiver.requests == []


@pytest.mark.rule("W-03")
def test_one_receivers_cookies_and_proxies_play_no_part(
    receiver: Any,
    world: Any,
    run: Any,
    outcomes: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    receiver.answers["/in"] = answer(200, set_cookie="a=b")
    run()
    endpoint = world.endpoint(receiver.url("/in").replace("127.0.0.1", "localhost"))
    for count in (1, 2):
        world.send(endpoint)
        outcomes.wait(count)
    assert [one.headers.get("cookie") for one in receiver.wait_for(2)] == [None, None]
