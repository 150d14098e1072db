"""What shapes a task, as text (a query, a CSV file) and as JSON (T-01)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import simplejson
from marshmallow import Schema, ValidationError, fields, post_load
from webargs import core

from engine.errors import invalid
from engine.forms import AVAILABILITIES, OPEN
from engine.rules import money, times
from engine.rules.queue_order import DEFAULT_PRIORITY, MAX_PRIORITY
from web import strict_json
from web.fields import (
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    Flag,
    Instant,
    Whole,
    WholeText,
    one_of,
    text,
)

TBD = "tbd"
JSON_TYPE, TEXT_TYPE = "application/json", "text/plain"
_CONTENT_TYPE = "[A-Za-z0-9!#$&^_.+-]{1,90}/[A-Za-z0-9!#$&^_.+-]{1,90}(;[ -~]{0,50})?"
_ANY = ["string", "number", "boolean", "object", "array"]


class Price(fields.Field[Any]):
    """Dollars, or `tbd`: to be decided. Base units inside, or `tbd`."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Any:
        if value == TBD:
            return TBD
        try:
            return money.parse_units(value)
        except ValueError as error:
            raise ValidationError(f"{error}; or {TBD}") from error


class Tags(fields.Field[tuple[str, ...] | None]):
    """A list of tags, or one text with commas between them; blanks around a tag do not count.

    A text without a tag says nothing; an empty list says that there are none.
    """

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> tuple[str, ...] | None:
        listed = value.split(",") if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(tag, str) for tag in listed):
            raise ValidationError("give a list of tags, or tags with commas between them")
        found = tuple(tag.strip() for tag in listed if tag.strip())
        if len(found) > MAX_TAGS:
            raise ValidationError(f"give at most {MAX_TAGS} tags")
        if any(len(tag) > MAX_TAG_CHARACTERS for tag in found):
            raise ValidationError(f"a tag may have {MAX_TAG_CHARACTERS} characters")
        return found or (None if isinstance(value, str) else ())


class FlagText(fields.Field[bool]):
    """`true` or `false`, from a query."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> bool:
        if value not in ("true", "false"):
            raise ValidationError("give true or false")
        return bool(value == "true")


class InstantText(Instant):
    """A time from a query, in which a plus sign that is not encoded has become a blank."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        if isinstance(value, str):
            value = times.of_query(value)
        return super()._deserialize(value, attr, data, **kwargs)


PRICE = {
    "type": "string",
    "description": "Dollars, or `tbd` for one that is to be decided. Without one: the gig's.",
}
DRAFT = {"description": "Keep it for the gig's owner to publish."}
TAGS = {"type": "string", "description": "Commas between. Without any, the gig's default tags."}
PRIORITY = {
    "description": "Where a mode has a queue. The lower goes first; without one it is "
    f"{DEFAULT_PRIORITY}."
}
ASSIGN_TO = {"description": "A mailbox's id or its account's email: it is given the task."}
AVAILABILITY = {
    "description": "Where a mode has a queue: `open`, `reserved` (for `reserved_for`, or else for "
    "whoever opens the task's link first), or `view_only`.",
}
RESERVED_FOR = {"description": "A mailbox's id or its account's email: nobody else may take it."}
NOT_BEFORE = {"description": "RFC 3339 with its zone. Nobody is given the task before."}
SUBJECT = {"description": "A line that lists show."}
EXTERNAL_ID = {"description": "Yours. In one gig it makes one task for ever (T-04)."}
DRAFT_ID = {"description": "With `draft`: save this draft again, as it is sent now."}
MAX_NAME = 320


def content_type() -> fields.String:
    def check(value: str) -> None:
        if not re.fullmatch(_CONTENT_TYPE, value):
            raise ValidationError("give a content type like text/html")

    told = {"description": "Of a payload that is text.", "pattern": f"^{_CONTENT_TYPE}$"}
    return fields.String(validate=check, metadata=told)


class TextForm(Schema):
    """As text: the query of a gig's webhook, or a line of a CSV file."""

    subject = text(500, load_default="", metadata=SUBJECT)
    tags = Tags(metadata=TAGS)
    price = Price(metadata=PRICE)
    priority = WholeText(0, MAX_PRIORITY, metadata={**PRIORITY, "default": DEFAULT_PRIORITY})
    assign_to = text(MAX_NAME, 1, metadata=ASSIGN_TO)
    draft = FlagText(metadata={**DRAFT, "enum": ["true", "false"], "default": "false"})
    draft_id = text(100, 1, load_default=None, metadata=DRAFT_ID)
    availability = one_of(*AVAILABILITIES, metadata={**AVAILABILITY, "default": OPEN})
    reserved_for = text(MAX_NAME, 1, metadata=RESERVED_FOR)
    not_before = InstantText(metadata=NOT_BEFORE)
    external_id = text(255, 1, metadata=EXTERNAL_ID)

    @post_load
    def units(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return priced(data)


class JsonForm(Schema):
    """As JSON: what of it may be changed on a draft (T-05). Null is as if nothing were said."""

    payload = fields.Raw(
        allow_none=True,
        metadata={
            "type": _ANY,
            "description": "Text is kept to the byte; any other value is kept as JSON.",
        },
    )
    content_type = content_type()
    subject = text(500, metadata=SUBJECT)
    tags = Tags(
        allow_none=True,
        metadata={"type": ["array", "string"], "items": {"type": "string"}},
    )
    price = Price(allow_none=True, metadata={**PRICE, "type": ["number", "string"]})
    priority = Whole(0, MAX_PRIORITY, allow_none=True, metadata=PRIORITY)
    assign_to = text(MAX_NAME, 1, allow_none=True, metadata=ASSIGN_TO)
    availability = one_of(*AVAILABILITIES, allow_none=True, metadata=AVAILABILITY)
    reserved_for = text(MAX_NAME, 1, allow_none=True, metadata=RESERVED_FOR)
    not_before = Instant(allow_none=True, metadata=NOT_BEFORE)

    @post_load
    def units(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return priced(data)


class JsonRow(JsonForm):
    """A line of an NDJSON file: the webhook's names, and the payload."""

    draft = Flag(load_default=False)
    draft_id = text(100, 1, load_default=None, allow_none=True, metadata=DRAFT_ID)
    external_id = text(255, 1, allow_none=True, metadata=EXTERNAL_ID)


class TextRow(TextForm):
    """A line of a CSV file. A cell that is empty says nothing."""

    payload = fields.String(load_default="")
    content_type = content_type()


def priced(data: dict[str, Any]) -> dict[str, Any]:
    """`price` as the two members that a form has for it."""
    if "price" in data:
        price = data.pop("price")
        data["price_tbd"] = price == TBD
        data["price_units"] = None if price == TBD else price
    return data


def with_payload(data: dict[str, Any], content_type: str = TEXT_TYPE) -> dict[str, Any]:
    """The form with `payload` as the text that is kept, and the content type that goes with it.

    `content_type` is that of text where nothing is said. 400 for text that calls itself JSON and
    is none, as at the webhook (H-11).
    """
    payload = data.get("payload")
    if payload is None:
        payload = ""
    elif isinstance(payload, strict_json.RawJson):
        if "content_type" in data:
            raise invalid("content_type", "only with a payload that is text")
        return {**data, "payload": str(payload), "content_type": JSON_TYPE}
    elif not isinstance(payload, str):
        if "content_type" in data:
            raise invalid("content_type", "only with a payload that is text")
        payload = simplejson.dumps(payload, use_decimal=True, ensure_ascii=False)
        return {**data, "payload": payload, "content_type": JSON_TYPE}
    kind = data.get("content_type", content_type)
    if payload and core.is_json(kind.partition(";")[0].strip().lower()):
        strict_json.check_parses(payload)
    return {**data, "payload": payload, "content_type": kind}
