"""The broker carries ids and may lose them all; rows are the queue (runtime.md, H-08)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import dramatiq
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import CurrentMessage, Middleware, ShutdownNotifications

from engine.errors import SettingsError

# Our own sweep re-sends, so a message that a dead worker held need not come back quickly; sane
# values all the same, since the defaults take minutes.
HEARTBEAT_MS = 10_000
CONNECT_SECONDS = 2


def make(url: str) -> dramatiq.Broker:
    """`memory://` for one process; `redis://…` or `amqp://…` (RabbitMQ) for many.

    Without dramatiq's retries: an actor never raises, and what is due again is a row.
    """
    middleware: list[Middleware] = [ShutdownNotifications(), CurrentMessage()]
    if url.startswith("memory:"):
        return StubBroker(middleware=middleware)
    return _rabbit(url, middleware) if url.startswith("amqp") else _redis(url, middleware)


def _redis(url: str, middleware: list[Middleware]) -> dramatiq.Broker:
    from dramatiq.brokers.redis import RedisBroker

    return RedisBroker(  # type: ignore[no-untyped-call]
        url=url,
        middleware=middleware,
        heartbeat_timeout=HEARTBEAT_MS,
        maintenance_chance=10_000,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=2 * CONNECT_SECONDS,
    )


def _rabbit(url: str, middleware: list[Middleware]) -> dramatiq.Broker:
    try:
        from dramatiq.brokers.rabbitmq import RabbitmqBroker
    except ImportError as error:
        raise SettingsError(
            "MUSTER_BROKER_URL is amqp://, which needs pika: pip install muster[rabbitmq]."
        ) from error
    join = "&" if "?" in url else "?"
    limits = f"connection_attempts=1&socket_timeout={2 * CONNECT_SECONDS}"
    return RabbitmqBroker(url=f"{url}{join}{limits}", middleware=middleware)


def reachable(broker: dramatiq.Broker) -> bool:
    """Does the broker answer now?"""
    anything: Any = broker
    try:
        if hasattr(anything, "client"):
            return bool(anything.client.ping())
        if hasattr(anything, "connection"):
            anything.connection.process_data_events(0)
    except Exception:
        # Whatever the client raises means the same to whoever asks. A broken connection to
        # RabbitMQ must be dropped, or it would be asked again.
        with suppress(Exception):
            del anything.connection
        return False
    return True
