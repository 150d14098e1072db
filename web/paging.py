"""The one pager: `?limit=` and `?cursor=`, signed positions, no offset (H-06)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from itsdangerous import BadData, URLSafeSerializer
from marshmallow import Schema, fields

from engine import install
from engine.errors import invalid
from engine.pages import Position
from web.fields import WholeText

T = TypeVar("T")
DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PageQuery(Schema):
    limit = WholeText(
        1,
        MAX_LIMIT,
        load_default=DEFAULT_LIMIT,
        metadata={"description": "At most so many rows in one answer."},
    )
    cursor = fields.String(
        load_default=None,
        metadata={"description": "The `next_cursor` of the page before; without it the first."},
    )


def _signer(scope: str) -> URLSafeSerializer:
    return URLSafeSerializer(install.shared_secret("cursor"), salt=scope)


class Page(Schema):
    """What every list answers beside its rows."""

    next_cursor = fields.String(
        required=True, allow_none=True, metadata={"description": "Null at the end."}
    )


def page(
    scope: str,
    query: dict[str, Any],
    fetch: Callable[[int, Position], list[T]],
    place: Callable[[T], tuple[Any, ...]],
    parameter: str = "cursor",
) -> tuple[list[T], str | None]:
    """The rows of a page and the cursor behind the last of them, None at the end.

    `fetch(limit, after)` answers rows behind a position, `place(row)` a row's position. One row
    more than is shown is fetched: only a row beyond the page shows that there is one. `parameter`
    is what the caller's cursor is called.
    """
    limit = query["limit"]
    rows = fetch(limit + 1, position(scope, query["cursor"], parameter))
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], str(_signer(scope).dumps(list(place(rows[limit - 1]))))


def position(scope: str, cursor: str | None, parameter: str = "cursor") -> Position:
    """What a cursor of this list says; 400 for one of another list or none of ours."""
    if cursor is None:
        return None
    try:
        return tuple(_signer(scope).loads(cursor))
    except BadData as error:
        raise invalid(parameter, "use the cursor of the page before, or leave it out") from error
