"""Taking everything out: tasks, proofs and payouts as files (T-07)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response, current_app

from engine import exports
from web import auth, tables, waiting
from web.blueprint import Routes
from web.schemas.bulk import CSV, NDJSON
from web.schemas.exports import ExportQuery

routes = Routes("exports", "Exports.")
CSV_TYPE = f"{CSV}; charset=utf-8"


@routes.route("/gigs/<gig_id>/export.csv")
@routes.arguments(ExportQuery, location="query")
@routes.alt_response(200, content_type=CSV, schema={"type": "string"})
def as_csv(query: dict[str, Any], gig_id: str) -> Response:
    """All tasks, proofs or payouts, oldest first, as CSV with a line of names.

    Money is in dollars, times are RFC 3339. A text that a spreadsheet would run has an apostrophe
    before it.
    """
    gig, what = exports.gig_of(auth.caller(), gig_id), query["what"]
    lines = tables.csv_lines(what, exports.read(gig, what))
    return _file(lines, CSV_TYPE, f"{gig_id}-{what}.csv")


@routes.route("/gigs/<gig_id>/export.jsonl")
@routes.arguments(ExportQuery, location="query")
@routes.alt_response(200, content_type=NDJSON, schema={"type": "string"})
def as_json_lines(query: dict[str, Any], gig_id: str) -> Response:
    """The same with a JSON object on each line, every text as it is."""
    gig, what = exports.gig_of(auth.caller(), gig_id), query["what"]
    lines = tables.json_lines(what, exports.read(gig, what), current_app.json)
    return _file(lines, NDJSON, f"{gig_id}-{what}.jsonl")


def _file(lines: Iterator[bytes], content_type: str, name: str) -> Response:
    """Sent page by page as it is read, however long it is."""
    waiting.slot().in_parts = True
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(lines, content_type=content_type, headers=headers)
