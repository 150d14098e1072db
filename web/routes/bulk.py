"""Sending many tasks in one call (T-07)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from flask import Response, current_app, request

from engine import bulk
from engine.bulk import Done, Row
from engine.errors import Refused
from engine.rules import money
from web import auth, keyed, rows
from web.blueprint import Routes, body_of
from web.schemas import bulk as schemas
from web.schemas.bulk import CSV, LINES, NDJSON, ROWS

routes = Routes("bulk", "Many tasks in one call.")
KINDS: dict[str, Callable[[bytes, str], list[Row]]] = {NDJSON: rows.of_ndjson, CSV: rows.of_csv}


@routes.route(
    "/gigs/<gig_id>/tasks/bulk", methods=["POST"], payload=tuple(KINDS), body_is=ROWS, refuses=[413]
)
@routes.arguments(schemas.BulkQuery, location="query")
@routes.alt_response(200, content_type=NDJSON, schema={"type": "string", "description": LINES})
def send(query: dict[str, Any], gig_id: str) -> Response:
    """Send up to 10,000 tasks, each with a line of the answer.

    A bad row does not stop the good ones. A row's `external_id` makes it safe to send the file
    again; rows without one get theirs from the `Idempotency-Key` and their line, so with a key the
    same file makes nothing twice either, wherever the first call broke off.
    """
    caller = auth.caller()
    gig = bulk.gig_of(caller, gig_id)
    read = KINDS.get(request.mimetype)
    if read is None:
        raise Refused("wrong_content_type", f"Send rows as {' or as '.join(KINDS)}.")
    found, dry_run = read(body_of(request), gig.distribution), query.get("dry_run", False)
    key = None if dry_run else keyed.in_parts()
    if key is None:
        return _answered(list(bulk.take_in(caller, gig_id, found, dry_run=dry_run)), dry_run)
    if key.answer is not None:
        return key.answer
    named = [_named(row, key.name) for row in found]
    done = list(bulk.take_in(caller, gig_id, named, dry_run=False))
    answer = _answered(done, dry_run)
    keyed.end_parts(key, answer if any(one.refusal is None for one in done) else None)
    return answer


def _named(row: Row, name: str) -> Row:
    """A row without an external id, under one that is the same whenever the call is repeated."""
    form = row.form
    if form is None or form.external_id is not None or row.draft_id is not None:
        return row
    return replace(row, form=replace(form, external_id=f"{name}-{row.line}"))


def _answered(done: list[Done], dry_run: bool) -> Response:
    lines = [_line(one, dry_run) for one in done]
    lines.append({"totals": _totals(done, dry_run)})
    text = "".join(f"{current_app.json.dumps(line)}\n" for line in lines)
    return Response(text, content_type=NDJSON)


def _line(one: Done, dry_run: bool) -> dict[str, Any]:
    if one.refusal is not None:
        told = {"error": one.refusal.message, "reason": one.refusal.code}
        more = {} if one.refusal.errors is None else {"errors": one.refusal.errors}
        return {"line": one.line, "status": "refused", **told, **more}
    # Of what was only tried nothing is there that could be named.
    unnamed = ("message_id", "command_id", "draft_saved_at") if dry_run else ()
    answer = {name: value for name, value in (one.answer or {}).items() if name not in unnamed}
    return {"line": one.line, **answer}


def _totals(done: list[Done], dry_run: bool) -> dict[str, Any]:
    refused = sum(one.refusal is not None for one in done)
    totals: dict[str, Any] = {"rows": len(done), "taken": len(done) - refused, "refused": refused}
    if dry_run:
        totals |= _cost(done)
    return totals


def _cost(done: Iterable[Done]) -> dict[str, Any]:
    rate = bulk.fee_bps()
    units = sum(one.copies * one.price_units for one in done)
    fee_units = None if rate is None else sum(one.fee_units(rate) for one in done)
    return {
        "price": money.to_dollars(units),
        "fee": None if fee_units is None else money.to_dollars(fee_units),
        "cost": money.to_dollars(units + (fee_units or 0)),
    }
