"""The token of a share link: a credential of its own, beside keys (R-07, H-12)."""

from __future__ import annotations

from flask import g, request

from engine import share_links
from engine.errors import Refused
from engine.models.mailbox import Mailbox
from web import blueprint, limits, strict_json

MAX_TOKEN_CHARACTERS = 100


def opened(token: str) -> Mailbox:
    """The mailbox of a token; 404 for an unknown one, 429 past the limits. Counts once a request:
    none names two."""
    if "shared" not in g:
        g.shared = limits.public_token(token, share_links.find, share_links.unknown())
    found: Mailbox = g.shared
    return found


def given() -> str | None:
    """The token in the body at hand; None where there is none, or nothing that could be one."""
    if not request.path.startswith("/api/public/"):
        return None
    try:
        body = strict_json.parse_object(blueprint.body_of(request))
    except Refused:
        # The route says what is wrong with it.
        return None
    token = body.get("share_token")
    fits = isinstance(token, str) and 0 < len(token) <= MAX_TOKEN_CHARACTERS
    return token if fits else None
