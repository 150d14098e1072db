"""Pages that people open by a link: how each is answered, whatever is on it.

Nothing is loaded from elsewhere, only the page's own script runs, and what a task says is text, or
sanitised HTML in a frame where nothing runs. A refusal is a sentence on the page, with its status.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import nh3
from flask import Response, make_response, render_template, request

from engine.errors import Refused, not_found
from engine.models.task import Task
from web import errors, views

# Pictures would be fetched from elsewhere, which the page forbids.
TAGS = nh3.ALLOWED_TAGS - {"img"}
MAX_PARAMETER_CHARACTERS = 200
Page = dict[str, Any]


def answer(template: str, title: str, shown: Callable[[], Page]) -> Response:
    """The page of a template with what `shown` answers, or the sentence of its refusal."""
    page: Page
    try:
        given = (*(request.view_args or {}).values(), *request.args.values())
        if any("\0" in text for text in given):
            raise not_found("page")
        page = shown()
    except Refused as refusal:
        status = errors.status_of(refusal.code)
        page = {"notice": refusal.message, "status": status, "asks_key": status == 401}
    nonce = secrets.token_urlsafe(16)
    made = make_response(
        render_template(template, title=title, nonce=nonce, **page), page.get("status", 200)
    )
    made.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    made.headers["X-Content-Type-Options"] = "nosniff"
    # A token may be in the address.
    made.headers["Referrer-Policy"] = "no-referrer"
    made.headers["Cache-Control"] = "no-store"
    made.headers["Vary"] = "x-api-key, authorization"
    return made


def parameter(name: str) -> str | None:
    """One of the query's, as far as it could be an id or a token; None without it."""
    return request.args.get(name, "")[:MAX_PARAMETER_CHARACTERS] or None


def price(units: int | None) -> str | None:
    """Dollars as people write them: 2.50, and every digit of 0.000249."""
    if units is None:
        return None
    whole, _, part = views.dollars(units).partition(".")
    return f"{whole}.{part.ljust(2, '0')}"


def sanitised(task: Task) -> str | None:
    """A body of HTML for its frame; None for one that is shown as text."""
    is_html = task.content_type.partition(";")[0].strip().lower() == "text/html"
    return nh3.clean(task.payload, tags=TAGS) if is_html else None
