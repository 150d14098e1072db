"""Serving the application, and stopping when told."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import simplejson
from flask import Flask
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer, create_server
from waitress.task import ErrorTask

from engine import commands
from engine.errors import Refused, SettingsError
from web import errors

# A long poll of a minute must not be taken for a dead connection.
CHANNEL_TIMEOUT_SECONDS = 120
CONNECTIONS = 1000
MAX_BODY_BYTES = 10_000_000


# What never reaches the application, by Waitress's status.
_REFUSALS = {
    413: ("payload_too_large", "The request is too large. Send less, or a link instead."),
    431: ("headers_too_large", "The request's path and headers are too large. Send less of them."),
    500: ("internal", "Something failed here. The operator's log says what."),
}
_NOT_HTTP = ("invalid", "This is not a request of HTTP/1.1 that can be understood here.")


class _Problem:
    """What Waitress refuses by itself, in the shape of all other refusals (H-04)."""

    def __init__(self, code: int) -> None:
        self.refusal = Refused(*_REFUSALS.get(code, _NOT_HTTP))

    def to_response(self, _: Any = None) -> tuple[str, list[tuple[str, str]], bytes]:
        told = errors.members(self.refusal)
        status = f"{told['status']} {told['title']}"
        return status, [("Content-Type", errors.CONTENT_TYPE)], simplejson.dumps(told).encode()


class _Refusal(ErrorTask):  # type: ignore[misc]
    def execute(self) -> None:
        self.request.error = _Problem(self.request.error.code)
        super().execute()


class _Channel(HTTPChannel):  # type: ignore[misc]
    error_task_class = _Refusal


def listen(app: Flask, host: str, port: int, threads: int) -> Any:
    """Bind the port; a sentence when it is taken."""
    TcpWSGIServer.channel_class = _Channel
    try:
        return create_server(
            app,
            host=host,
            port=port,
            threads=threads,
            connection_limit=CONNECTIONS,
            channel_timeout=CHANNEL_TIMEOUT_SECONDS,
            max_request_body_size=MAX_BODY_BYTES,
            ident=None,
            clear_untrusted_proxy_headers=True,
        )
    except OSError as error:
        raise SettingsError(
            f"Port {port} on {host} cannot be used ({error.strerror}). Choose another by --port."
        ) from error


def stop_on_signals() -> list[bool]:
    """SIGTERM and SIGINT end the process in order; answers the flag that they set."""
    told: list[bool] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not told:
            told.append(True)
            commands.stop_waiting()
            # Waitress's loop ends on this, and finishes the requests in hand.
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return told
