"""The rows of a file of tasks, NDJSON or CSV: each a form, or the reason why it is none (T-07).

They are read as the mode of their gig takes them, by its `distribution`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import marshmallow

from engine.bulk import MAX_ROWS, Row
from engine.errors import Refused, invalid
from engine.forms import Form
from web import mode_fields, strict_json
from web.blueprint import bad_fields, flatten
from web.schemas.forms import JsonRow, TextRow, with_payload

# Of one cell; a payload that is too long is then refused as one.
csv.field_size_limit(10_000_000)


def of_ndjson(raw: bytes, distribution: str) -> list[Row]:
    """A JSON object on each line; lines without anything do not count."""
    lines = enumerate(raw.split(b"\n"), 1)
    given = [(number, line) for number, line in lines if line.strip(strict_json.BLANKS)]
    _require_some(len(given))
    schema = mode_fields.of_mode(JsonRow, distribution)
    return [_row(number, lambda line=line: strict_json.parse_row(line), schema)
            for number, line in given]  # fmt: skip


def of_csv(raw: bytes, distribution: str) -> list[Row]:
    """Names in the first line, and a task in each line after it.

    A file that cannot be read to its end is refused as a whole: where a quote is open, nobody can
    tell where the next row begins.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid("body", f"not UTF-8 at byte {error.start}") from error
    found = list(_records(text))
    schema = mode_fields.of_mode(TextRow, distribution)
    names = _names(found[0][1] if found else [], schema)
    _require_some(len(found) - 1)
    return [_row(number, lambda cells=cells: _of_cells(names, cells), schema)
            for number, cells in found[1:]]  # fmt: skip


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line that it begins on; lines without anything do not count."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for cells in reader:
            if cells:
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise invalid("body", f"not CSV at line {reader.line_num}: {error}") from error


def _names(cells: list[str], schema: marshmallow.Schema) -> list[str]:
    names = [cell.strip() for cell in cells]
    wrong = {
        strict_json.shown(name): "Unknown field" if name not in schema.fields else "twice"
        for name in names
        if name not in schema.fields or names.count(name) > 1
    }
    if wrong:
        raise bad_fields(wrong, schema)
    return names


def _of_cells(names: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) > len(names):
        raise invalid("row", f"{len(cells)} cells under {len(names)} names")
    given = dict(zip(names, cells, strict=False))
    for name, cell in given.items():
        strict_json.check_text(name, cell)
    return {name: cell for name, cell in given.items() if cell}


def _require_some(count: int) -> None:
    if count < 1:
        raise invalid("body", "send at least one row")
    if count > MAX_ROWS:
        raise Refused(
            "payload_too_large",
            f"A call takes {MAX_ROWS} rows, and these are {count}. Send them in several calls.",
            max_rows=MAX_ROWS,
        )


def _row(line: int, read: Any, schema: marshmallow.Schema) -> Row:
    try:
        given = with_payload(_load(schema, read()))
        draft_id = given.pop("draft_id")
        return Row(line, Form(**given), draft_id)
    except Refused as refusal:
        return Row(line, refusal=refusal)


def _load(schema: marshmallow.Schema, given: dict[str, Any]) -> dict[str, Any]:
    try:
        loaded: dict[str, Any] = schema.load(given, unknown=marshmallow.RAISE)
    except marshmallow.ValidationError as error:
        raise bad_fields(flatten(error.messages_dict), schema) from error
    return loaded
