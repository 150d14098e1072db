"""Idempotency-Key on every POST, PATCH and DELETE (H-07).

The whole of a keyed request, routing to answer, runs in one transaction together with the row of
its key. What a refusal undoes includes that row, so a later retry runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from flask import Response, current_app, g, request

from engine import commands, idempotency
from engine.db import db
from engine.errors import Refused, invalid
from engine.idempotency import Answer, Keyed
from web import auth, waiting

METHODS = frozenset({"POST", "PATCH", "DELETE"})
REPLAYED = "Idempotency-Replayed"
RETRY_AFTER_SECONDS = 1
# Left to the server, which writes its own.
_NOT_KEPT = frozenset({"content-length", "date", "server", "connection"})
_KEY = re.compile(r'"?([\x21\x23-\x2b\x2d-\x7e][\x20\x21\x23-\x2b\x2d-\x7e]*)"?')


class _NotYet(Exception):
    """The answer offers to wait, so nothing has taken effect that could be kept."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


def keyed() -> Keyed | None:
    """The request at hand as a keyed one, or None where no key counts."""
    given = request.headers.get("idempotency-key")
    if given is None or request.method not in METHODS or request.path.startswith("/api/dev/"):
        return None
    found = _KEY.fullmatch(given.strip())
    if found is None or len(found[1]) > idempotency.MAX_KEY_CHARACTERS:
        raise invalid(
            "Idempotency-Key",
            f"give one key of 1 to {idempotency.MAX_KEY_CHARACTERS} visible ASCII characters, "
            "without commas",
        )
    body = request.query_string + b"\0" + request.get_data(cache=True)
    return Keyed(_principal(), request.method, request.path, found[1], body)


def _principal() -> str:
    """The account, or else what stands for it: the gig's token, or where the request comes from."""
    caller = auth.optional_caller()
    if caller is not None:
        return caller.account_id
    token = request.args.get("token") or request.headers.get("x-admin-key")
    if token is not None:
        return "token:" + hashlib.sha256(token.encode()).hexdigest()
    return f"address:{request.remote_addr}"


def run(mine: Keyed, view: Callable[[], Any]) -> Response:
    """The stored answer, or the view's, stored with its effect."""
    try:
        return db.write(lambda: _run(mine, view))
    except _NotYet as not_yet:
        return not_yet.answer


def _run(mine: Keyed, view: Callable[[], Any]) -> Response:
    known = idempotency.find(mine)
    if known is None and not idempotency.reserve(mine):
        # The other one has committed while we waited at its row.
        known = idempotency.find(mine)
        if known is None:
            raise _in_progress()
    if known is not None:
        return _replay(known, view)
    g.pop("command_id", None)
    answer = current_app.make_response(view())
    command_id = g.get("command_id")
    if waiting.slot().topics and command_id is None:
        raise _NotYet(answer)
    headers = [pair for pair in answer.headers if pair[0].lower() not in _NOT_KEPT]
    text = answer.get_data(as_text=True)
    idempotency.keep(mine, Answer(answer.status_code, headers, text, command_id))
    return answer


def _replay(known: Answer, view: Callable[[], Any]) -> Response:
    if known.command_id is None:
        answer = Response(known.body, known.status, known.headers)
    else:
        if not commands.finished(known.command_id):
            raise _in_progress()
        mine = waiting.slot()
        mine.resume, mine.resumed = known.command_id, True
        answer = current_app.make_response(view())
    answer.headers[REPLAYED] = "true"
    return answer


def _in_progress() -> Refused:
    return Refused(
        "in_progress",
        "A request with this Idempotency-Key is still running. Ask again shortly.",
        retry_after=RETRY_AFTER_SECONDS,
    )
