"""Between the two worlds: an ASGI request as a WSGI one (PEP 3333), and the whole answer back."""

from __future__ import annotations

import io
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from flask import Flask

from web.waiting import SLOT, Slot

MAX_BODY_BYTES = 10_000_000


@dataclass(frozen=True)
class Answer:
    """Header names are in lower case. `parts` follow on the body, each made when it is asked for;
    whoever asks closes them."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    parts: Parts | None = None


class Parts:
    """What is left of an answer that is made while it is sent."""

    def __init__(self, chunks: Any) -> None:
        self._chunks, self._rest = chunks, iter(chunks)

    def more(self) -> bytes | None:
        """The next part; None at the end."""
        return next(self._rest, None)

    def close(self) -> None:
        _close(self._chunks)


def call(app: Flask, environ: dict[str, Any], slot: Slot) -> Answer:
    """One call of the application, for a request that may be put to it again."""
    told: list[tuple[str, list[tuple[str, str]]]] = []

    def begin(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
        told.append((status, headers))

    body = io.BytesIO(environ["muster.body"])
    chunks = app.wsgi_app({**environ, "wsgi.input": body, SLOT: slot}, begin)
    parts, answered = None, b""
    if slot.in_parts:
        parts = Parts(chunks)
    else:
        try:
            answered = b"".join(chunks)
        finally:
            _close(chunks)
    status, headers = told[-1]
    lower = [(name.lower(), value) for name, value in headers]
    return Answer(int(status.split(" ", 1)[0]), lower, answered, parts)


def _close(chunks: Any) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()


async def read_body(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
) -> bytes | None:
    """The whole body; None when the caller broke off. Of one that is too large, a byte too many."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if int(declared) > MAX_BODY_BYTES:
        return bytes(MAX_BODY_BYTES + 1)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            return bytes(MAX_BODY_BYTES + 1)
        if not message.get("more_body", False):
            return b"".join(parts)


def environ_of(scope: MutableMapping[str, Any], body: bytes) -> dict[str, Any]:
    """The WSGI environment of a request whose body is in hand."""
    host, port = scope.get("server") or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("", 0))[0],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "muster.body": body,
    }
    for raw_name, raw_value in scope["headers"]:
        # An underscore in a header's name would pass for a hyphen here, and so forge another.
        if b"_" in raw_name or raw_name in (b"content-length", b"transfer-encoding"):
            continue
        name = raw_name.decode("latin-1").replace("-", "_").upper()
        key = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    return environ
