"""Bytes on a socket: what the server itself refuses looks like every other refusal (H-04)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import simplejson

from tests.contract.scene import all_hold, everything
from tests.world import Gig, World
from web import server


@contextmanager
def served(world: World) -> Iterator[int]:
    """The application behind the real server; gives its port."""
    listening = server.listen(world.app, "127.0.0.1", 0, 4)
    thread = threading.Thread(target=listening.serve_until_told)
    thread.start()
    try:
        yield listening.effective_port
    finally:
        listening.stop()
        thread.join()


def ask(port: int, request: bytes) -> tuple[int, str, Any]:
    """(status, content type, JSON) of what is answered to these very bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        # It may hang up on what it has seen enough of.
        with suppress(OSError):
            peer.sendall(request)
        answer = b""
        while True:
            try:
                piece = peer.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), headers.get("content-type", ""), simplejson.loads(body)


def posted(gig: Gig, headers: str, body: bytes, query: str = "") -> bytes:
    path = f"/api/inbound/webhook/{gig.id}?token={gig.token}{query}"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"
    return head.encode("latin-1") + body


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))


CHUNKED = "Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n"


@pytest.mark.rule("H-04")
@pytest.mark.rule("H-05")
def test_what_is_no_request_is_a_problem_too(world: World) -> None:
    gig = world.gig()
    before = everything()
    path = f"/api/inbound/webhook/{gig.id}?token={gig.token}".encode()
    requests: dict[str, tuple[bytes, tuple[int, ...]]] = {
        "no HTTP": (b"hello\r\n\r\n", (400,)),
        "a method in lower case": (
            b"get /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            (400, 404),
        ),
        "a header with NUL": (b"GET / HTTP/1.1\r\nHost: x\r\nx-api-key: a\x00b\r\n\r\n", (400,)),
        "a header without a name": (b"GET / HTTP/1.1\r\n: x\r\n\r\n", (400,)),
        "a folded header": (b"GET /api/none HTTP/1.0\r\nx: a\r\n b\r\n\r\n", (404,)),
        "too long headers": (b"GET / HTTP/1.1\r\nx: " + b"y" * 300_000 + b"\r\n\r\n", (431,)),
        "too long a path": (b"GET /" + b"y" * 300_000 + b" HTTP/1.1\r\n\r\n", (431,)),
        "a length that is none": (posted(gig, "Content-Length: x\r\n", b"x"), (400,)),
        "a length below zero": (posted(gig, "Content-Length: -1\r\n", b"x"), (400,)),
        "two lengths": (posted(gig, "Content-Length: 1\r\nContent-Length: 2\r\n", b"xy"), (400,)),
        "length and chunks": (
            posted(gig, f"Content-Length: 1\r\n{CHUNKED}", chunked(b"x\0")),
            (400,),
        ),
        "an unknown coding": (posted(gig, "Transfer-Encoding: gzip\r\n", b"x"), (400,)),
        "broken chunks": (posted(gig, CHUNKED, b"zz\r\nx\r\n0\r\n\r\n"), (400,)),
        "a chunk too short": (posted(gig, CHUNKED, b"1\r\nxyz\r\n0\r\n\r\n"), (400,)),
        "eleven megabytes": (posted(gig, "Content-Length: 11000000\r\n", b"x" * 1000), (413,)),
        "eleven in chunks": (posted(gig, CHUNKED, chunked(*[b"x" * 1_000_000] * 11)), (413,)),
        "nine and a half": (posted(gig, CHUNKED, chunked(*[b"x" * 950_000] * 10)), (413,)),
        "bytes in the query": (posted(gig, "", b"", "&subject=\xff"), (400,)),
        "an unknown method": (
            b"BREW /api/gigs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            (405,),
        ),
        "a star": (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", (404,)),
        "a path of bytes": (b"POST /\xff\xfe HTTP/1.0\r\n\r\n", (400, 404)),
        "a path with NUL": (b"GET /api/gigs/%00 HTTP/1.0\r\n\r\n", (404,)),
        "no HTTP version": (b"GET " + path + b"\r\n\r\n", (400, 405)),
    }

    with served(world) as port:

        def refused(name: str) -> None:
            request, wanted = requests[name]
            status, kind, told = ask(port, request)
            assert status in wanted, (status, told)
            assert kind == "application/problem+json"
            assert told["status"] == status and told["error"] == told["detail"]
            assert gig.token not in str(told)

        all_hold(requests, refused)
    assert everything() == before


@pytest.mark.rule("T-01")
def test_a_body_in_chunks_is_the_same_body(world: World) -> None:
    gig = world.gig()
    text = "é\u2028\r\n0\r\n\r\n\N{GRINNING FACE}".encode()
    with served(world) as port:
        cut = [text[at : at + 3] for at in range(0, len(text), 3)]
        for pieces in ([text], cut):
            status, _, told = ask(port, posted(gig, CHUNKED, chunked(*pieces)))
            assert status == 200
            task = gig.owner.get(f"{gig.path}/tasks/{told['message_id']}")["task"]
            assert task["payload"].encode() == text
        status, _, told = ask(port, posted(gig, CHUNKED, chunked(b"a\0b")))
        assert (status, list(told["errors"])) == (400, ["payload"])


@pytest.mark.rule("H-02")
def test_a_key_may_have_blanks_around_it_as_any_header(world: World) -> None:
    person = world.person()
    with served(world) as port:
        for header, wanted in (
            (f"x-api-key:   {person.key}  ", 200),
            (f"X-Api-Key: {person.key}", 200),
            (f"x_api_key: {person.key}", 401),
            ("x-api-key: \xff\xfe", 401),
            (f"x-api-key: {person.key}\r\nx-api-key: {person.key}", 401),
        ):
            head = f"GET /api/auth/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n\r\n"
            assert ask(port, head.encode("latin-1"))[0] == wanted, header
