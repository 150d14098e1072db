"""One line a request: who, what, how long. No bodies, no secrets; query strings stay out."""

from __future__ import annotations

import re
import time

import structlog
from flask import Flask, Response, g, request

from engine.ids import new_id
from web import waiting

HEADER = "X-Request-Id"

log = structlog.get_logger()

# Whoever reads a token can use it. Ids have an underscore, tokens have none but for SHARE_'s; of a
# link that somebody mistyped the whole part goes.
_TOKEN = re.compile(r"(?<=/)(?:[^/_]{20,}|[^/]*share_[^/]*)(?=/|$)|(?<=^/submit/).+", re.I | re.S)
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)


def log_requests(app: Flask) -> None:
    @app.before_request
    def begin() -> None:
        g.began = time.monotonic()
        given = request.headers.get(HEADER, "")
        # One that a proxy has made is kept, so that both logs can be read together.
        g.request_id = given if _REQUEST_ID.fullmatch(given) else new_id("REQ")
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=g.request_id)

    @app.after_request
    def end(answer: Response) -> Response:
        request_id = g.get("request_id")
        if request_id is not None:
            answer.headers[HEADER] = request_id
        if waiting.slot().resumed and waiting.slot().topics:
            # Asked again and still waiting: its line comes with its answer.
            return answer
        caller = g.get("caller")
        # The webhook's token is part of its query, so a query is never logged.
        log.info(
            "request",
            method=request.method,
            path=_TOKEN.sub("…", request.path)[:200],
            status=answer.status_code,
            ms=round((time.monotonic() - g.get("began", time.monotonic())) * 1000, 1),
            account=None if caller is None else caller.account_id,
        )
        return answer
