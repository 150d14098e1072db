"""The answer of a route whose work is a command: its outcome, or 202 until there is one (H-08)."""

from __future__ import annotations

import re

from flask import Response, g, jsonify, request

from engine import commands, topics
from engine.errors import Refused, invalid
from engine.models.command import Command
from web import views, waiting

DEFAULT_WAIT_SECONDS = 25
MAX_WAIT_SECONDS = 60
_WAIT = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?(\d{1,4})\"?\s*(?:,|;|$)", re.IGNORECASE)
_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?:,|;|$)", re.IGNORECASE)


def wait_seconds() -> int:
    """How long the caller will wait (H-08).

    `Prefer: wait=N`, 60 at most; 25 s by default, and not at all with `respond-async` alone.
    """
    header = request.headers.get("prefer", "")
    found = _WAIT.search(header)
    if found is None:
        if "wait" in header.lower():
            raise invalid("Prefer", "give wait=N with whole seconds")
        if _ASYNC.search(header):
            return 0
        return DEFAULT_WAIT_SECONDS
    return min(int(found[1]), MAX_WAIT_SECONDS)


def recorded(command: Command) -> str:
    """The id of a command that this request gave; its key, if it has one, names it (H-07)."""
    g.command_id = command.id
    return command.id


def under_way(command_id: str, seconds: int) -> Response | None:
    """None once the command is done, its refusal if it failed; until then 202, which may wait."""
    now = commands.peek(command_id)
    if now.status == "failed":
        raise Refused.from_dict(now.error)
    if now.status == "done":
        return None
    waiting.offer([topics.command(command_id)], seconds, resume=command_id)
    url = f"/api/commands/{command_id}"
    answer = jsonify({"command_id": command_id, "status_url": views.public_url() + url})
    answer.status_code = 202
    answer.headers["Location"] = url
    return answer
