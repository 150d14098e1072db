"""Serving the application, and stopping when told."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from flask import Flask
from waitress.server import create_server

from engine.errors import SettingsError

# A long poll of a minute must not be taken for a dead connection.
CHANNEL_TIMEOUT_SECONDS = 120
CONNECTIONS = 1000
MAX_BODY_BYTES = 10_000_000


def listen(app: Flask, host: str, port: int, threads: int) -> Any:
    """Bind the port; a sentence when it is taken."""
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
            # Waitress's loop ends on this, and finishes the requests in hand.
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return told
