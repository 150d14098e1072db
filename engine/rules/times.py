"""Times as they are shown: RFC 3339 in UTC (H-10)."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_ms(at: int) -> str:
    """Milliseconds since 1970 as `2026-10-19T09:00:00.000Z`."""
    seconds, ms = divmod(at, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"


def iso_ms_or_none(at: int | None) -> str | None:
    return None if at is None else iso_ms(at)
