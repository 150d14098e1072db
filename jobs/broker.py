"""The broker carries ids and may lose them all; rows are the queue (runtime.md, H-08)."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import CurrentMessage, Middleware, ShutdownNotifications

# Our own sweep re-sends, so a message that a dead worker held need not come back quickly; sane
# values all the same, since the defaults take minutes.
HEARTBEAT_MS = 10_000
CONNECT_SECONDS = 2


def make(url: str) -> dramatiq.Broker:
    """`memory://` for one process, `redis://…` for many.

    Without dramatiq's retries: an actor never raises, and what is due again is a row.
    """
    middleware: list[Middleware] = [ShutdownNotifications(), CurrentMessage()]
    if url.startswith("memory:"):
        return StubBroker(middleware=middleware)
    from dramatiq.brokers.redis import RedisBroker

    return RedisBroker(  # type: ignore[no-untyped-call]
        url=url,
        middleware=middleware,
        heartbeat_timeout=HEARTBEAT_MS,
        maintenance_chance=10_000,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=2 * CONNECT_SECONDS,
    )


def reachable(broker: dramatiq.Broker) -> bool:
    """Does the broker answer now?"""
    client = getattr(broker, "client", None)
    if client is None:
        return True
    try:
        return bool(client.ping())
    except Exception:
        # Whatever the client raises means the same to whoever asks.
        return False
