"""The one place that knows which refusal is which HTTP status (H-04, H-05)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import structlog
from flask import Flask, Response, current_app
from werkzeug.exceptions import HTTPException

from engine.chain.errors import ChainUnavailable
from engine.errors import Refused
from web import statuses

# Refusal codes that are not a conflict with the state of things (409).
STATUS: dict[str, int] = {
    "invalid": 400,
    "unknown_mode": 400,
    "fractional_cents": 400,
    "pot_short": 400,
    "amount_required": 400,
    "below_list_price": 400,
    "contract_wallet": 400,
    "assignee_not_found": 400,
    "assignee_not_active": 400,
    "assignee_ambiguous": 400,
    "solo_task": 400,
    "no_key": 401,
    "bad_key": 401,
    "no_admin_key": 401,
    "insufficient_funds": 402,
    "not_permitted": 403,
    "wrong_admin_key": 403,
    "wrong_token": 403,
    "wrong_code": 403,
    "wrong_signature": 403,
    "not_joined": 403,
    "not_a_member": 403,
    "not_a_party": 403,
    "not_draft_writer": 403,
    "mailbox_inactive": 403,
    "invite_required": 403,
    "invite_unknown": 403,
    "invite_other_email": 403,
    "upload_expired": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_slow": 408,
    "hung_up": 499,
    "gone": 410,
    "claim_lost": 410,
    "precondition_failed": 412,
    "payload_too_large": 413,
    "idempotency_mismatch": 422,
    "no_such_local_time": 422,
    "precondition_required": 428,
    "rate_limited": 429,
    "rate_limit_reached": 429,
    "open_tasks_reached": 429,
    "wrong_content_type": 415,
    "wrong_content_encoding": 415,
    "range_not_satisfiable": 416,
    "headers_too_large": 431,
    "internal": 500,
    "deposit_failed": 502,
    "transfer_failed": 502,
    "claim_failed": 502,
    "balance_unreadable": 503,
    "chain_unreadable": 503,
    "fee_rate_unreadable": 503,
    "admin_key_not_configured": 503,
    "chain_not_configured": 503,
    "chain_unavailable": 503,
    "database_unavailable": 503,
    "mail_not_configured": 503,
    "mode_fault": 503,
    "uploads_off": 503,
    "uploads_unavailable": 503,
    "no_master_key": 503,
    "no_operator_key": 503,
    "master_key_missing": 503,
}
RETRY_AFTER_SECONDS = 5
_KNOWN = {status.value for status in HTTPStatus}
CONTENT_TYPE = "application/problem+json"

log = structlog.get_logger()


def status_of(code: str) -> int:
    return STATUS.get(code, 409)


def members(refusal: Refused) -> dict[str, Any]:
    """What a refusal's body says."""
    status = status_of(refusal.code)
    body: dict[str, Any] = {
        "error": refusal.message,
        "reason": refusal.code,
        "type": f"/docs#{refusal.code if refusal.code in STATUS else statuses.CONFLICT}",
        "title": HTTPStatus(status).phrase if status in _KNOWN else "Client Closed Request",
        "status": status,
        "detail": refusal.message,
        **refusal.details,
    }
    if refusal.errors:
        body["errors"] = refusal.errors
    return body


def problem(refusal: Refused) -> Response:
    """A refusal as `application/problem+json`."""
    status = status_of(refusal.code)
    answer = Response(
        current_app.json.dumps(members(refusal)), status=status, content_type=CONTENT_TYPE
    )
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if refusal.code == "wrong_content_encoding":
        answer.headers["Accept-Encoding"] = "identity"
    wait = refusal.details.get("retry_after", RETRY_AFTER_SECONDS if status == 503 else None)
    if wait is not None:
        answer.headers["Retry-After"] = str(wait)
    return answer


_HTTP_REASONS = {
    404: ("not_found", "There is nothing at this path. See /docs for what there is."),
    405: (
        "method_not_allowed",
        "This path does not take this method; the header Allow lists those.",
    ),
    413: ("payload_too_large", "The request is too large. Send less, or a link instead."),
}


def register(app: Flask) -> None:
    app.register_error_handler(Refused, problem)
    app.register_error_handler(ChainUnavailable, _chain_unavailable)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def _chain_unavailable(error: ChainUnavailable) -> Response:
    log.warning("chain.unavailable", error=str(error))
    return problem(
        Refused("chain_unavailable", "The chain does not answer just now. Try again shortly.")
    )


def _http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        # A redirect is an answer, not a fault.
        return Response(error.get_response().get_data(), status, error.get_headers())
    code, sentence = _HTTP_REASONS.get(status, ("invalid", "This request cannot be understood."))
    limit = {"max_bytes": current_app.config["MAX_CONTENT_LENGTH"]} if status == 413 else {}
    answer = problem(Refused(code, sentence, **limit))
    allow = dict(error.get_headers()).get("Allow")
    if allow:
        answer.headers["Allow"] = allow
    return answer


def _unexpected(error: Exception) -> Response:
    """A fault of ours. What it was goes to the log, never out (H-04)."""
    log.exception("request.failed")
    return problem(Refused("internal", "Something failed here. The operator's log says what."))
