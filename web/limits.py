"""Limits of public routes, and the headers that tell of them (H-12)."""

from __future__ import annotations

from flask import Response, g

from engine import counters
from engine.counters import Limit, Used

PUBLIC_ADDRESS = Limit("address", 60, 60)
# Codes sent to one address of mail, beside what one address of the net may ask for.
CODES = Limit("codes", 5, 600)


def count(limit: Limit, subject: str) -> None:
    """Count this request; 429 once the limit is used up. The answer's headers say what is left.

    Of several limits they tell of the one that is nearest.
    """
    used = counters.hit(limit, subject)
    known: Used | None = g.get("limit_used")
    if known is None or used.remaining < known.remaining or used.count > limit.most:
        g.limit_used = used
    counters.check(used)


def headers(answer: Response) -> Response:
    """The RateLimit headers of whatever was counted in this request."""
    used: Used | None = g.get("limit_used")
    if used is not None:
        name, limit = used.limit.name, used.limit
        answer.headers["RateLimit-Policy"] = f'"{name}";q={limit.most};w={limit.seconds}'
        answer.headers["RateLimit"] = f'"{name}";r={used.remaining};t={used.reset_seconds}'
    return answer
