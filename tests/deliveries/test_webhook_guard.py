"""SSRF through the loop: what is refused reaches nobody (W-04, F19)."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from engine.rules import addresses
from jobs import guard
from tests.deliveries.webhook_receiver import answer

PUBLIC = "8.8.8.8"


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "0"],
)
def test_a_url_is_checked_again_when_it_is_sent_to(
    host: str, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    run(allow="public", ports=frozenset({receiver.port}))
    world.send(world.endpoint(f"http://{host}:{receiver.port}/inner?token=secret"))
    [outcome] = outcomes.wait(1)
    assert outcome.status_code is None
    assert outcome.error.startswith("The URL's host may not be sent webhooks.")
    assert outcome.excerpt == ""
    assert receiver.requests == []


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize("ips", [[PUBLIC, "127.0.0.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"]])
@pytest.mark.parametrize("allow", ["public", "loopback"])
def test_a_name_with_one_inner_address_is_not_connected_to(
    ips: list[str], allow: str, receiver: Any, world: Any, run: Any, outcomes: Any, lookups: Any
) -> None:
    names = lookups(evil_example=[ips])
    run(allow=allow, ports=frozenset({receiver.port}), lookups=names)
    world.send(world.endpoint(f"http://evil.example:{receiver.port}/"))
    [outcome] = outcomes.wait(1)
    assert outcome.error.startswith("The host leads to an address that may not be sent webhooks.")
    assert "127.0.0.1" not in outcome.error
    assert receiver.requests == []


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
def test_a_name_that_changes_after_registration_is_refused(
    receiver: Any, world: Any, run: Any, outcomes: Any, lookups: Any
) -> None:
    ports = frozenset({receiver.port})
    url = f"http://evil.example:{receiver.port}/"
    assert addresses.check_url(url, ports=ports, allow="public") is None
    names = lookups(evil_example=[["169.254.169.254"]])
    run(allow="public", ports=ports, lookups=names)
    [delivery] = world.send(world.endpoint(url))
    [outcome] = outcomes.wait(1)
    assert outcome.status_code is None
    assert world.delivery(delivery).status == "pending"


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
def test_the_connection_is_made_to_the_address_that_was_checked(
    receiver: Any, world: Any, run: Any, outcomes: Any, lookups: Any
) -> None:
    # The second answer would go nowhere: nobody asks for it during the first try.
    names = lookups(hooks_localhost=[["127.0.0.1"], ["10.0.0.1"]])
    receiver.answers["/in"] = answer(200, connection="close")
    loop = run(lookups=names)
    endpoint = world.endpoint(f"http://hooks.localhost:{receiver.port}/in")
    world.send(endpoint)
    assert outcomes.wait(1)[0].delivered
    assert names.asked == ["hooks.localhost"]
    assert receiver.requests[0].headers["host"] == f"hooks.localhost:{receiver.port}"
    # A new connection is a new lookup and a new check: nothing is cached.
    world.send(endpoint)
    loop.wake()
    assert not outcomes.wait(2)[1].delivered
    assert names.asked == ["hooks.localhost"] * 2


@pytest.mark.rule("W-04")
def test_the_socket_gate_holds_where_the_first_check_is_fooled(
    receiver: Any,
    world: Any,
    run: Any,
    outcomes: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(addresses, "check_url", lambda url, **_: None)
    run(allow="public", ports=frozenset({receiver.port}))
    world.send(world.endpoint(receiver.url("/inner")))
    [outcome] = outcomes.wait(1)
    assert outcome.error == "The URL's host may not be sent webhooks. It is a loopback address."
    assert receiver.requests == []


@pytest.mark.rule("W-04")
def test_other_writings_of_an_open_address_are_delivered_to(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    run(allow="loopback")
    world.send(world.endpoint(f"http://2130706433:{receiver.port}/in"))
    assert outcomes.wait(1)[0].delivered
    [got] = receiver.requests
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.rule("W-04")
def test_localhost_is_looked_up_by_the_system_and_delivered_to(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    run(allow="loopback")
    world.send(world.endpoint(f"http://localhost:{receiver.port}/in"))
    assert outcomes.wait(1)[0].delivered


@pytest.mark.rule("W-02")
def test_a_name_that_does_not_resolve_is_a_failure_to_be_tried_again(
    world: Any, run: Any, outcomes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    run(allow="public")
    [delivery] = world.send(world.endpoint("https://nowhere.example/"))
    assert outcomes.wait(1)[0].error == "The host name could not be resolved."
    assert world.delivery(delivery).status == "pending"


@pytest.mark.rule("W-05")
def test_names_whose_server_is_silent_delay_no_others(
    receiver: Any, world: Any, run: Any, outcomes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    asked: list[str] = []
    real = socket.getaddrinfo

    def slow(host: str, *rest: Any, **more: Any) -> Any:
        if host != "hooks.localhost":
            asked.append(host)
            answered.wait(20)
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return real("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    try:
        loop = run(allow="loopback", ports=frozenset({443}), timeout_seconds=5)
        for number in range(20):
            world.send(world.endpoint(f"https://silent{number}.example/"), 3)
        world.send(world.endpoint(f"http://hooks.localhost:{receiver.port}/in"))
        receiver.wait_for(1, "/in")
        outcomes.wait(1)
        # Several tries at one name share its lookup.
        assert len(asked) == len(set(asked)) <= 20
        loop.stop(timeout=0)
    finally:
        answered.set()


@pytest.mark.rule("W-04")
def test_a_refusal_shows_no_address_that_a_name_resolved_to() -> None:
    policy = guard.Policy(frozenset({443}), "public")
    for ip in ("10.9.8.7", "192.168.7.6", "fd00::7"):
        why = policy.check_name("intra.example", [ip])
        assert why is not None
        assert ip not in why
