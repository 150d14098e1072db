from __future__ import annotations

from marshmallow import Schema

from web.schemas.forms import FlagText

NDJSON, CSV = "application/x-ndjson", "text/csv"

ROWS = (
    "Up to 10,000 tasks. NDJSON: an object on each line, with the names of the webhook's query, "
    "`payload` (text, or any JSON) and, for text, `content_type`. CSV: the same names in the first "
    "line; a cell that is empty says nothing. Money is dollars or `tbd`, tags are a list or have "
    "commas between, times are RFC 3339 with their zone. The gig's mode may take more names: "
    "`fields` of `GET /api/modes`."
)
LINES = (
    "A line for each row: `line` (where it begins in the file), `status`, and what the webhook "
    "answers, like `message_id`; or, with the status `refused`, `error`, `reason` and `errors`. A "
    "task that is still to be funded is `unfunded`, with a `command_id`. The last line is "
    "`totals`: `rows`, `taken`, `refused`, and in a dry run `price`, `fee` and `cost` in dollars, "
    "where the fee is null without a chain."
)


class BulkQuery(Schema):
    dry_run = FlagText(
        metadata={
            "enum": ["true", "false"],
            "default": "false",
            "description": "Check every row and add up what they cost, and write nothing.",
        },
    )
