"""One line a request: who, what, how long. No bodies, no secrets; query strings stay out."""

from __future__ import annotations

import time

import structlog
from flask import Flask, Response, g, request

log = structlog.get_logger()


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
            path=request.path[:200],
            status=answer.status_code,
            ms=round((time.monotonic() - g.get("began", time.monotonic())) * 1000, 1),
        )
        return answer
