"""Pages that people open by a link: how each is answered, whatever is on it.

Nothing is loaded from elsewhere, only the page's own script runs, and what a task says is text, or
sanitised HTML in a frame where nothing runs. A refusal is a sentence on the page, with its status.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Any

import nh3
from flask import Response, current_app, make_response, render_template, request
from markupsafe import Markup, escape

from engine import mailboxes
from engine.errors import Refused, not_found
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from jobs.file_stores import Store
from web import errors, views

# Pictures would be fetched from elsewhere, which the page forbids; areas are parts of them.
TAGS = nh3.ALLOWED_TAGS - {"img", "map", "area"}
SCHEMES = {"http", "https", "mailto"}
NEW_TAB = {"a": {"target": "_blank"}}
REL = "noopener noreferrer"
MAX_PARAMETER_CHARACTERS = 200
Page = dict[str, Any]

# The frame of a body of HTML inherits the page's policy. A page's main part is replaced by one that
# was rendered with another nonce, so this style is let through by its hash.
FRAME_STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "body{margin:.8rem}body>:first-child{margin-top:0}"
)
_FRAME_HASH = base64.b64encode(hashlib.sha256(FRAME_STYLE.encode()).digest()).decode()
_URL = re.compile(r"\bhttps?://\w[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_NEW_LINE = re.compile(r"<(?:p|h[1-6]|li|tr|br|hr|div|pre|blockquote)\b")


def answer(
    template: str, title: str, shown: Callable[[], Page], *, framable: bool = False
) -> Response:
    """The page of a template with what `shown` answers, or the sentence of its refusal.

    `framable`: it may stand in a frame, on whatever site.
    """
    page: Page
    try:
        given = (*(request.view_args or {}).values(), *request.args.values())
        if any("\0" in text for text in given):
            raise not_found("page")
        page = shown()
    except Refused as refusal:
        status = errors.status_of(refusal.code)
        page = {"notice": refusal.message, "status": status}
    nonce = secrets.token_urlsafe(16)
    frames = "*" if framable else "'none'"
    made = make_response(
        render_template(template, title=title, nonce=nonce, **page), page.get("status", 200)
    )
    made.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; "
        f"style-src 'nonce-{nonce}' 'sha256-{_FRAME_HASH}'; "
        f"connect-src 'self'{_files_origin()}; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors {frames}"
    )
    made.headers["X-Content-Type-Options"] = "nosniff"
    # A token may be in the address.
    made.headers["Referrer-Policy"] = "no-referrer"
    made.headers["Cache-Control"] = "no-store"
    made.headers["Vary"] = "x-api-key, authorization"
    return made


def store() -> Store | None:
    """Where uploads are kept, if this install keeps any."""
    found: Store | None = current_app.config["RUNTIME"].files
    return found


def _files_origin() -> str:
    """Where the page's script puts files, if that is not here."""
    found = store()
    return f" {found.origin}" if found is not None and found.origin else ""


def parameter(name: str) -> str | None:
    """One of the query's, as far as it could be an id or a token; None without it."""
    return request.args.get(name, "")[:MAX_PARAMETER_CHARACTERS] or None


def price(units: int | None) -> str | None:
    """Dollars as people write them: 2.50, and every digit of 0.000249."""
    if units is None:
        return None
    whole, _, part = views.dollars(units).partition(".")
    return f"{whole}.{part.ljust(2, '0')}"


def linked(text: str) -> Markup:
    """Text, whose web addresses are links that open in another tab."""
    parts, done = [], 0
    for found in _URL.finditer(text):
        url = _without_stop(found[0])
        parts += [escape(text[done : found.start()]), _link(url)]
        done = found.start() + len(url)
    return Markup("").join([*parts, escape(text[done:])])


def _link(url: str) -> Markup:
    return Markup('<a href="{0}" target="_blank" rel="{1}">{0}</a>').format(url, REL)


def _without_stop(url: str) -> str:
    """Without what ends the sentence around it; a bracket that the address opens is its own."""
    bare = url.rstrip(".,:;!?*)]")
    rest = url[len(bare) :]
    return f"{bare})" if rest.startswith(")") and bare.count("(") > bare.count(")") else bare


def body(task: Task) -> Page:
    """A task's body for the page: `html`, sanitised for a frame of about so many pixels as
    `frame_height` says, or None for one that is shown as text."""
    if task.content_type.partition(";")[0].strip().lower() != "text/html":
        return {"html": None}
    clean = nh3.clean(
        task.payload,
        tags=TAGS,
        link_rel=REL,
        url_schemes=SCHEMES,
        url_relative="deny",
        set_tag_attribute_values=NEW_TAB,
    )
    lines = len(_NEW_LINE.findall(clean)) + len(_TAG.sub("", clean)) // 60
    return {
        "html": f"<style>{FRAME_STYLE}</style>{clean}",
        "frame_height": min(max(70 + 36 * lines, 120), 480),
    }


def not_active(mailbox: Mailbox) -> str:
    """Why a place in a gig opens nothing."""
    if mailbox.status == "pending_approval":
        return "The owner has not let you in yet. Come back once you are told that you are in."
    return mailboxes.inactive(mailbox).message
