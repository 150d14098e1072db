"""Limits of public routes, and the headers that tell of them (H-12)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

from flask import Response, g, request

from engine import counters
from engine.counters import Limit, Used
from engine.errors import Refused

PUBLIC_ADDRESS = Limit("address", 60, 60)
PUBLIC_TOKEN = Limit("token", 30, 60)
UNKNOWN_TOKENS = Limit("unknown tokens", 10, 60)
# Codes sent to one address of mail, beside what one address of the net may ask for.
CODES = Limit("codes", 5, 600)

Found = TypeVar("Found")


def address() -> str:
    """Where the request comes from."""
    return request.remote_addr or "unknown"


def count(limit: Limit, subject: str) -> None:
    """Count this request; 429 once the limit is used up. The answer's headers say what is left.

    Of several limits they tell of the one that is nearest.
    """
    _check(counters.hit(limit, subject))


def public_token(token: str, find: Callable[[str], Found | None], unknown: Refused) -> Found:
    """What the token of a public route opens, or `unknown` raised, within the limits (H-12).

    Ten tokens that are unknown shut an address out for the rest of their minute, from good ones
    too: whoever tries many cannot tell when he has guessed one. `find` looks the token up by key.
    """
    count(PUBLIC_ADDRESS, address())
    guessed = counters.standing(UNKNOWN_TOKENS, address())
    if guessed.remaining == 0:
        _check(Used(guessed.limit, guessed.limit.most + 1, guessed.reset_seconds))
    found = find(token)
    if found is None:
        count(UNKNOWN_TOKENS, address())
        raise unknown
    # Whoever reads a token can use it, so no other table holds it.
    count(PUBLIC_TOKEN, hashlib.sha256(token.encode()).hexdigest())
    return found


def _check(used: Used) -> None:
    known: Used | None = g.get("limit_used")
    if known is None or used.remaining < known.remaining or used.count > used.limit.most:
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
