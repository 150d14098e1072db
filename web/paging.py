"""The one pager: `?limit=` and `?cursor=`, signed positions, no offset (H-06)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from itsdangerous import BadData, URLSafeSerializer
from marshmallow import Schema, fields

from engine import install
from engine.errors import invalid
from web.fields import WholeText

T = TypeVar("T")
DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PageQuery(Schema):
    limit = WholeText(1, MAX_LIMIT, load_default=DEFAULT_LIMIT)
    cursor = fields.String(load_default=None)


def _signer(scope: str) -> URLSafeSerializer:
    return URLSafeSerializer(install.shared_secret("cursor"), salt=scope)


def position(scope: str, cursor: str | None) -> tuple[Any, ...] | None:
    """What a cursor of this list says; 400 for one of another list or none of ours."""
    if cursor is None:
        return None
    try:
        return tuple(_signer(scope).loads(cursor))
    except BadData as error:
        raise invalid("cursor", "use next_cursor of the page before, or leave it out") from error


def next_cursor(scope: str, rows: Sequence[T], limit: int, place: Any) -> str | None:
    """The cursor behind the last row; None at the end. `place(row)` is its position.

    Ask for `limit + 1` rows: only a row beyond the page shows that there is one.
    """
    if len(rows) <= limit:
        return None
    return str(_signer(scope).dumps(list(place(rows[limit - 1]))))
