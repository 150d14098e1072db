"""Limits of public routes, and the headers that tell of them (H-12)."""

from __future__ import annotations

from flask import Response, g

from engine import counters
from engine.counters import Limit, Used

PUBLIC_ADDRESS = Limit("address", 60, 60)


def count(limit: Limit, subject: str) -> None:
    """Count this request; 429 once the limit is used up. The answer's headers say what is left."""
    g.limit_used = counters.hit(limit, subject)


def headers(answer: Response) -> Response:
    """The RateLimit headers of whatever was counted in this request."""
    used: Used | None = g.get("limit_used")
    if used is not None:
        name, limit = used.limit.name, used.limit
        answer.headers["RateLimit-Policy"] = f'"{name}";q={limit.most};w={limit.seconds}'
        answer.headers["RateLimit"] = f'"{name}";r={used.remaining};t={used.reset_seconds}'
    return answer
