"""What a silent stream says, and what ends it (H-15)."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from tests.world import World
from web import front, server, waiting


@pytest.fixture
def port(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The application behind the real server, with a quicker heart."""
    monkeypatch.setattr(front, "HEARTBEAT_SECONDS", 0.5)
    monkeypatch.setattr(waiting, "HEARTBEAT_SECONDS", 0.5)
    listening = server.listen(world.app, "127.0.0.1", 0, 4)
    thread = threading.Thread(target=listening.serve_until_told)
    thread.start()
    try:
        yield listening.effective_port
    finally:
        listening.stop()
        thread.join()


@pytest.mark.rule("H-15")
def test_a_silent_stream_beats_and_ends_once_its_key_is_revoked(world: World, port: int) -> None:
    gig = world.gig()
    made = gig.owner.post("/auth/keys", {"label": "to be revoked"})
    headers = {"x-api-key": made["key"], "accept": "text/event-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", f"/api{gig.path}/events?after={2**62}", headers=headers)
    stream = connection.getresponse()
    assert stream.status == 200
    for _ in range(2):
        assert stream.readline().startswith(b":")
        assert stream.readline() == b"\n"

    gig.owner.call("DELETE", f"/auth/keys/{made['id']}").ok()
    world.task(gig)

    assert stream.read() in (b"", b": still here\n\n")
    connection.request("GET", f"/api{gig.path}/events", headers=headers)
    assert connection.getresponse().status == 401
    connection.close()


@pytest.mark.rule("H-15")
def test_a_head_of_a_stream_ends(world: World, port: int) -> None:
    gig = world.gig()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"x-api-key": gig.owner.key, "accept": "text/event-stream"}
    connection.request("HEAD", f"/api{gig.path}/events", headers=headers)
    assert connection.getresponse().status == 200
    connection.close()
