"""Rows as a table that leaves the house: the columns, and how each is written (T-07)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from flask.json.provider import JSONProvider

from engine.exports import PAYOUTS, PROOFS, TASKS
from engine.rules import money, times

# A spreadsheet runs a cell that begins so.
RUNS = ("=", "+", "-", "@", "\t", "\r")

Rows = Iterable[list[dict[str, Any]]]


def _same(value: Any) -> Any:
    return value


def _dollars(value: int | None) -> Any:
    return None if value is None else money.to_dollars(value)


# By what it is called outside: the column, and how it is written.
Column = tuple[str, Callable[[Any], Any]]
_time: Callable[[Any], Any] = times.iso_ms_or_none

COLUMNS: dict[str, dict[str, Column]] = {
    TASKS: {
        "id": ("id", _same),
        "status": ("status", _same),
        "subject": ("subject", _same),
        "tags": ("tags", _same),
        "price": ("price_units", _dollars),
        "price_tbd": ("price_tbd", bool),
        "priority": ("priority", _same),
        "availability": ("availability", _same),
        "reserved_for": ("reserved_for", _same),
        "assigned_to": ("assignee_id", _same),
        "mailbox_id": ("mailbox_id", _same),
        "external_id": ("external_id", _same),
        "source_task_id": ("source_task_id", _same),
        "forwarded_at": ("created_at", _time),
        "not_before": ("not_before", _time),
        "claimed_at": ("claimed_at", _time),
        "expires_at": ("expires_at", _time),
        "draft_saved_at": ("draft_saved_at", _time),
        "escrow_amount": ("escrow_units", _dollars),
        "escrow_fee_bps": ("escrow_fee_bps", _same),
        "escrowed_at": ("escrowed_at", _time),
        "deposit_id": ("deposit_id", _same),
        "private_details": ("private_details", _same),
        "content_type": ("content_type", _same),
        "payload": ("payload", _same),
    },
    PROOFS: {
        "id": ("id", _same),
        "task_identifier": ("task_identifier", _same),
        "mailbox_id": ("mailbox_id", _same),
        "status": ("status", _same),
        "locked_price": ("locked_price_units", _dollars),
        "price_source": ("price_source", _same),
        "asking_price": ("asking_price_units", _dollars),
        "tags": ("tags", _same),
        "feedback": ("feedback", _same),
        "rejection_tag": ("rejection_tag", _same),
        "submitted_at": ("submitted_at", _time),
        "timeout_at": ("timeout_at", _time),
        "reviewed_at": ("reviewed_at", _time),
        "rollup_id": ("rollup_id", _same),
        "paid_out_at": ("paid_out_at", _time),
        "reported_at": ("reported_at", _time),
        "reported_by": ("reported_by", _same),
        "report_reason": ("report_reason", _same),
        "private_note_locked": ("private_note_locked", _same),
        "private_note": ("private_note", _same),
        "proofs": ("evidence", _same),
    },
    PAYOUTS: {
        "id": ("id", _same),
        "mailbox_id": ("mailbox_id", _same),
        "wallet_address": ("wallet_address", _same),
        "status": ("status", _same),
        "gross_amount": ("gross_units", _dollars),
        "platform_fee": ("fee_units", _dollars),
        "net_amount": ("net_units", _dollars),
        "fee_bps": ("fee_bps", _same),
        "tx_hash": ("tx_hash", _same),
        "deposit_id": ("deposit_id", _same),
        "settled_by_reconciliation": ("settled_by_reconciliation", bool),
        "failure": ("failure", _same),
        "created_at": ("created_at", _time),
        "paid_at": ("paid_at", _time),
        "proof_ids": ("proof_ids", _same),
    },
}


def _shown(what: str, row: dict[str, Any]) -> dict[str, Any]:
    return {name: write(row[column]) for name, (column, write) in COLUMNS[what].items()}


def json_lines(what: str, found: Rows, json: JSONProvider) -> Iterator[bytes]:
    """An object on each line, a page at a time."""
    for page in found:
        yield "".join(f"{json.dumps(_shown(what, row))}\n" for row in page).encode()


def csv_lines(what: str, found: Rows) -> Iterator[bytes]:
    """A line of names and one for each row, a page at a time; lists have commas between."""
    begun = False
    for page in found:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        if not begun:
            writer.writerow(COLUMNS[what])
            begun = True
        writer.writerows(map(_cell, _shown(what, row).values()) for row in page)
        yield text.getvalue().encode()


def _cell(value: Any) -> str:
    """Text as it is, unless a spreadsheet would run it: then after an apostrophe."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case list():
            value = ",".join(map(str, value))
    text = str(value)
    return f"'{text}" if text.startswith(RUNS) else text
