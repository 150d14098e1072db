"""One line a request: who, what, how long. No bodies, no secrets; query strings stay out."""

from __future__ import annotations

import re
import time

import structlog
from flask import Flask, Response, g, request

log = structlog.get_logger()

# Whoever reads a token can use it; ids have an underscore, tokens have none but for SHARE_'s.
_TOKEN = re.compile(r"(?<=/)(?:SHARE_)?[^/_]{20,}(?=/|$)")


def log_requests(app: Flask) -> None:
    @app.before_request
    def begin() -> None:
        g.began = time.monotonic()

    @app.after_request
    def end(answer: Response) -> Response:
        # The webhook's token is part of its query, so a query is never logged.
        log.info(
            "request",
            method=request.method,
            path=_TOKEN.sub("…", request.path)[:200],
            status=answer.status_code,
            ms=round((time.monotonic() - g.get("began", time.monotonic())) * 1000, 1),
        )
        return answer
