"""Bad company at the API leaves no connection behind and poisons none."""

from __future__ import annotations

import socket
from collections import Counter

import pytest

from tests.processes import Layout, Stack, Starter
from tests.world import Gig, at_once, eventually

AT_ONCE, AFTERWARDS = 300, 100
POOL = 4


def _connections(stack: Stack) -> Counter[str]:
    """The states of the database's connections, without this one and those that listen."""
    rows = stack.rows(
        "SELECT state FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        # Each server has one more that only listens.
        " AND query NOT LIKE 'LISTEN%'"
    )
    return Counter(state for (state,) in rows)


def _hang_up(stack: Stack, gig: Gig, number: int) -> None:
    """Half a request, then nobody is there any more; or all of it, and nobody waits."""
    body = b"x" * 2000
    head = (
        f"POST /api/inbound/webhook/{gig.id}?token={gig.token}&external_id=gone-{number}"
        " HTTP/1.1\r\nHost: muster\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    port = stack.serves[number % len(stack.serves)].port
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        wire.sendall(head + (body if number % 2 else body[:1000]))


@pytest.mark.case("F11")
def test_conflicts_and_hang_ups_leave_every_connection_as_it_was(start_stack: Starter) -> None:
    stack = start_stack(Layout("postgres", serve=2), DATABASE_POOL=str(POOL))
    gig = stack.gig()
    taken = stack.task(gig, "the first", external_id="taken")

    def send(number: int) -> int:
        return stack.send(gig, "ok", external_id=f"own-{number}").status

    def full() -> bool:
        at_once(100, send)
        return _connections(stack).total() == 2 * POOL

    eventually(full, 60, "every connection of the pools is in use")

    def request(number: int) -> tuple[str, int, str]:
        if number % 3 == 0:
            answer = stack.send(gig, f"valid {number}", external_id=f"valid-{number}")
            return "valid", answer.status, ""
        if number % 3 == 1:
            answer = stack.send(gig, f"another {number}", external_id="taken")
            return "conflict", answer.status, answer.json["reason"]
        _hang_up(stack, gig, number)
        return "hang-up", 0, ""

    answers = Counter(at_once(AT_ONCE, request))

    third = AT_ONCE // 3
    assert answers == {
        ("valid", 200, ""): third,
        ("conflict", 409, "external_id_mismatch"): third,
        ("hang-up", 0, ""): third,
    }
    for number in range(AFTERWARDS):
        stack.task(gig, "afterwards", external_id=f"after-{number}")
    assert stack.task(gig, "the first", external_id="taken") == taken

    def as_before() -> bool:
        now = _connections(stack)
        return now.total() <= 2 * POOL and set(now) == {"idle"}

    eventually(as_before, 30, "all of them idle, and none more")
    assert stack.complaints() == []
