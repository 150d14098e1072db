"""An answer is written in two parts, of which the second must not wait for the caller."""

from __future__ import annotations

import socket
import threading

from tests.world import World
from web import server


def test_a_connection_sends_each_part_of_an_answer_at_once(world: World) -> None:
    listening = server.listen(world.app, "127.0.0.1", 0, 4)
    thread = threading.Thread(target=listening.serve_until_told)
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", listening.effective_port), timeout=20) as peer:
            peer.sendall(b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert peer.recv(65_536).startswith(b"HTTP/1.1 200 ")
            (protocol,) = listening.server_state.connections
            accepted = protocol.transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    finally:
        listening.stop()
        thread.join()
