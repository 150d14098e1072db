"""Who calls, when a proxy stands in between (H-12)."""

from __future__ import annotations

import http.client
import threading

import pytest

from tests.world import World
from web import server

LIMIT = 60


def asked(port: int, forwarded_for: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        headers = {"X-Forwarded-For": forwarded_for, "content-type": "application/json"}
        connection.request(
            "POST", "/api/auth/verify-otp", '{"email": "a@b.c", "code": "000000"}', headers
        )
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.rule("H-12")
@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_only_a_trusted_proxy_says_who_calls(world: World, trusted: str) -> None:
    listening = server.listen(world.app, "127.0.0.1", 0, 4, trusted)
    thread = threading.Thread(target=listening.serve_until_told)
    thread.start()
    try:
        port = listening.effective_port
        first = [asked(port, "203.0.113.1") for _ in range(LIMIT + 1)]
        assert 429 not in first[:LIMIT]
        assert first[LIMIT] == 429
        # Another caller behind the same proxy, or a header that anybody could have made up.
        assert (asked(port, "203.0.113.2") == 429) is (trusted == "")
    finally:
        listening.stop()
        thread.join()
