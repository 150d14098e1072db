"""Idempotency-Key on every POST, PATCH and DELETE (H-07).

The whole of a keyed request, routing to answer, runs in one transaction together with the row of
its key. A refusal takes that row back, so a later retry runs, but not what was counted on the way
to it: a key must not make tries or requests free of their limits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Response, current_app, g, request

from engine import commands, idempotency
from engine.db import db
from engine.errors import Refused, invalid
from engine.idempotency import Answer, Keyed
from web import auth, shares, waiting

METHODS = frozenset({"POST", "PATCH", "DELETE"})
# What takes effect in many transactions, and sees to its key by itself.
IN_PARTS = frozenset({"bulk.send"})
REPLAYED = "Idempotency-Replayed"
RETRY_AFTER_SECONDS = 1
# Left to the server, which writes its own.
_NOT_KEPT = frozenset({"content-length", "date", "server", "connection"})
_VISIBLE = r"[\x21\x23-\x2b\x2d-\x7e]+(?: +[\x21\x23-\x2b\x2d-\x7e]+)*"
_KEY = re.compile(rf'(?P<quote>"?)(?P<key>{_VISIBLE})(?P=quote)')


def keyed() -> Keyed | None:
    """The request at hand as a keyed one, or None where no key counts."""
    if request.endpoint in IN_PARTS:
        return None
    return _given()


def _given() -> Keyed | None:
    given = request.headers.get("idempotency-key")
    if given is None or request.method not in METHODS or request.path.startswith("/api/dev/"):
        return None
    found = _KEY.fullmatch(given.strip())
    if found is None or len(found["key"]) > idempotency.MAX_KEY_CHARACTERS:
        raise invalid(
            "Idempotency-Key",
            f"give one key of 1 to {idempotency.MAX_KEY_CHARACTERS} visible ASCII characters, "
            "without commas",
        )
    body = request.query_string + b"\0" + request.get_data(cache=True)
    return Keyed(_principal(), request.method, request.path, found["key"], body)


def _principal() -> str:
    """The account, or else what stands for it: a token, or where the request comes from."""
    shared = shares.given()
    if shared is not None:
        # Asked for before a stored answer is: a link that was replaced opens none of those either.
        shares.opened(shared)
    caller = auth.optional_caller()
    if caller is not None:
        if "all" in caller.scopes:
            return caller.account_id
        # A key that may do less must not be shown what another key of the account was answered.
        return " ".join((caller.account_id, *sorted(caller.scopes)))
    token = request.args.get("token") or request.headers.get("x-admin-key") or shared
    if token is not None:
        return "token:" + hashlib.sha256(token.encode()).hexdigest()
    return f"address:{request.remote_addr}"


def run(mine: Keyed, view: Callable[[], Any]) -> Response:
    """The stored answer, or the view's, stored with its effect."""
    done = db.write(lambda: _run(mine, view))
    if isinstance(done, Refused):
        raise done
    return done


def _run(mine: Keyed, view: Callable[[], Any]) -> Response | Refused:
    known = idempotency.find(mine)
    if waiting.resumed():
        return _resume(mine, known, view)
    if known is None and not idempotency.reserve(mine):
        # The other one has committed while we waited at its row.
        known = idempotency.find(mine)
        if known is None:
            raise _in_progress()
    if known is not None:
        return _replay(mine, known, view)
    # The transaction may be tried again, and what an earlier try left here is not this one's.
    g.pop("command_id", None)
    waiting.offer([], 0)
    try:
        answer = current_app.make_response(view())
    except Refused as refusal:
        idempotency.release(mine)
        return refusal
    command_id = g.get("command_id")
    if command_id is not None:
        idempotency.keep(mine, Answer(0, [], "", command_id))
    elif waiting.slot().topics:
        # The answer offers to wait, so nothing has taken effect yet.
        idempotency.release(mine)
    else:
        _keep(mine, answer)
    return answer


@dataclass(frozen=True)
class Parts:
    """The key of a request that takes effect in parts: the answer that was stored for it, or the
    name under which its parts are known, the same at each repetition."""

    keyed: Keyed
    name: str
    answer: Response | None = None


def in_parts() -> Parts | None:
    """The key of the request at hand, or None without one.

    No transaction spans the parts, so one that broke off is run again: each part then finds what
    it did before. Two at once do so likewise.
    """
    mine = _given()
    if mine is None:
        return None
    known, begun_at = idempotency.begin(mine)
    name = f"key-{mine.id[:24]}-{begun_at}"
    if known is None:
        return Parts(mine, name)
    headers = [*known.headers, (REPLAYED, "true")]
    return Parts(mine, name, Response(known.body, known.status, headers))


def end_parts(parts: Parts, answer: Response | None) -> None:
    """Store the answer; None: nothing took effect, so whoever repeats it runs."""
    if answer is None:
        db.write(lambda: idempotency.release(parts.keyed))
    else:
        db.write(lambda: _keep(parts.keyed, answer))


def _keep(mine: Keyed, answer: Response, command_id: str | None = None) -> None:
    headers = [pair for pair in answer.headers if pair[0].lower() not in _NOT_KEPT]
    text = answer.get_data(as_text=True)
    idempotency.keep(mine, Answer(answer.status_code, headers, text, command_id))


def _resume(mine: Keyed, known: Answer | None, view: Callable[[], Any]) -> Response:
    """Ask again for the outcome of a command; the first who sees it done keeps the answer."""
    if known is not None and known.status:
        return Response(known.body, known.status, known.headers)
    answer = current_app.make_response(view())
    if known is not None and not waiting.slot().topics:
        _keep(mine, answer, known.command_id)
    return answer


def _replay(mine: Keyed, known: Answer, view: Callable[[], Any]) -> Response:
    if known.command_id is not None:
        if not commands.finished(known.command_id):
            raise _in_progress()
        waiting.resume(known.command_id)
    answer = _resume(mine, known, view)
    answer.headers[REPLAYED] = "true"
    return answer


def _in_progress() -> Refused:
    return Refused(
        "in_progress",
        "A request with this Idempotency-Key is still running. Ask again shortly.",
        retry_after=RETRY_AFTER_SECONDS,
    )
