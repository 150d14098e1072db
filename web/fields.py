"""The shapes of single values: money, times, whole numbers, lists of tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from unicodedata import category
from urllib.parse import urlsplit

from flask import current_app
from marshmallow import ValidationError, fields, validate

from engine.rules import addresses, json_shapes, money, times

_ETHER = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,18}))?", re.ASCII)
# The most ether that anybody may name: a million.
MAX_WEI = 10**24
MAX_TAGS = 25
MAX_TAG_CHARACTERS = 256


class Money(fields.Field[int]):
    """Dollars outside, base units inside (H-09). Name the attribute `…_units`."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else money.to_dollars(value)

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        try:
            return money.parse_units(value)
        except ValueError as error:
            raise ValidationError(str(error)) from error


class Whole(fields.Field[int]):
    """A JSON whole number between two bounds; "2", 2.0 and true are none."""

    def __init__(self, least: int, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least, self.most = least, most

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if not fits or not self.least <= value <= self.most:
            raise ValidationError(f"give a whole number from {self.least} to {self.most}")
        return int(value)


class WholeText(Whole):
    """The same from a query string: digits only."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19:
            value = int(value)
        return super()._deserialize(value, attr, data, **kwargs)


class Flag(fields.Field[bool]):
    """JSON true or false, and nothing that looks like it."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("give true or false")
        return value


class Ether(fields.Field[int]):
    """Ether as a decimal string or a number, wei inside; exact, as money is (H-09)."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        given = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
        found = _ETHER.fullmatch(str(value)) if given else None
        wei = int(found[1] + (found[2] or "").ljust(18, "0")) if found else MAX_WEI + 1
        if wei > MAX_WEI:
            raise ValidationError("give ether in decimals, at most 1000000 and 18 digits of them")
        return wei


class Time(fields.Field[int]):
    """Milliseconds inside, RFC 3339 outside (H-10)."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return times.iso_ms_or_none(value)


class Instant(Time):
    """A time that is given: RFC 3339 with its zone (F10: without one it is refused)."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> int:
        try:
            return times.parse_ms(value)
        except ValueError as error:
            raise ValidationError(str(error)) from error


class Shaped(fields.Field[Any]):
    """A value that fits the JSON schema of a mode's own field."""

    def __init__(self, shape: json_shapes.Shape, **kwargs: Any) -> None:
        super().__init__(allow_none=json_shapes.takes_null(shape), metadata=dict(shape), **kwargs)
        self.shape = shape

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Any:
        try:
            return json_shapes.value(value, self.shape)
        except ValueError as error:
            raise ValidationError(str(error)) from error


class Raw(fields.Field[Any]):
    """A value that is answered as it is."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return value


def text(most: int, least: int = 0, **kwargs: Any) -> fields.String:
    """A string of bounded length, in characters."""
    many = f"give at most {most} characters" if least == 0 else f"give {least} to {most} characters"
    return fields.String(validate=validate.Length(min=least, max=most, error=many), **kwargs)


def name(most: int, **kwargs: Any) -> fields.String:
    """What is shown as a name: one line, and not only blanks."""

    def check(value: str) -> None:
        if not value.strip() or any(category(one) in ("Cc", "Zl", "Zp") for one in value):
            raise ValidationError("give a name of one line, not only blanks")

    many = validate.Length(min=1, max=most, error=f"give 1 to {most} characters")
    return fields.String(validate=[many, check], **kwargs)


def one_of(*names: str, **kwargs: Any) -> fields.String:
    return fields.String(
        validate=validate.OneOf(names, error=f"one of {', '.join(names)}"), **kwargs
    )


def time_zone(**kwargs: Any) -> fields.String:
    """A name of the IANA database, like `Europe/Berlin`."""

    def check(value: str) -> None:
        if value not in times.zones():
            raise ValidationError("give a name of the IANA time zone database, like Europe/Berlin")

    return fields.String(
        validate=check, metadata={"description": "A name of the IANA database."}, **kwargs
    )


def tags(**kwargs: Any) -> fields.List[str]:
    """Up to 25 tags of 1 to 256 characters."""
    return fields.List(
        text(MAX_TAG_CHARACTERS, 1),
        validate=validate.Length(max=MAX_TAGS, error=f"give at most {MAX_TAGS} tags"),
        **kwargs,
    )


def link(most: int, **kwargs: Any) -> fields.String:
    """Where a reader's browser may be sent; empty for nowhere."""

    def check(value: str) -> None:
        try:
            parts = urlsplit(value)
            opens = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            opens = False
        if value and (not opens or any(c.isspace() or category(c)[0] == "C" for c in value)):
            raise ValidationError("give an address that begins with https:// or http://")

    many = validate.Length(max=most, error=f"give at most {most} characters")
    return fields.String(validate=[many, check], **kwargs)


def web_url(**kwargs: Any) -> fields.String:
    """Where webhooks are to go: refused here if they may not, and again when one is sent (W-04)."""

    def check(value: str) -> None:
        settings = current_app.config["MUSTER"]
        why = addresses.check_url(value, ports=settings.webhook_ports, allow=settings.webhook_allow)
        if why is not None:
            raise ValidationError(why)

    return fields.String(validate=check, **kwargs)
