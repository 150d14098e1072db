"""What an owner changes about tasks, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validate, validates_schema

from engine.aliases import MAX_CHARACTERS
from engine.availability import KINDS
from engine.bulk_changes import MOST_UPDATES
from engine.rules import money
from engine.rules.queue_order import MAX_PRIORITY
from engine.task_changes import MAX_PRIVATE_DETAILS_CHARACTERS, Price
from web.fields import Money, Raw, Whole, one_of, tags, text
from web.openapi import MONEY_GIVEN
from web.paging import Page
from web.schemas.states import price_source
from web.schemas.tasks import TaskView

TBD = "tbd"


class PriceField(Raw):
    """Dollars; `tbd`, to be named before the verdict; or null, the gig's price."""

    def __init__(self, **options: Any) -> None:
        given = str(MONEY_GIVEN["pattern"]).removeprefix("^").removesuffix("$")
        told = {
            **MONEY_GIVEN,
            "type": ["number", "string"],
            "pattern": f"^({TBD}|{given})$",
            "description": "Dollars; `tbd`: still to be named; null: the gig's price.",
        }
        super().__init__(allow_none=True, metadata=told, **options)

    def deserialize(
        self,
        value: Any,
        attr: str | None = None,
        data: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        # Null is a price like any other here, and not the absence of one.
        return Price(None) if value is None else super().deserialize(value, attr, data, **kwargs)

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Price:
        if value == TBD:
            return Price(None, tbd=True)
        try:
            return Price(money.parse_units(value))
        except ValueError as error:
            raise ValidationError(f"{error}; or {TBD}, or null") from error


def _priority() -> Whole:
    return Whole(0, MAX_PRIORITY, required=True)


class PriorityChange(Schema):
    priority = _priority()


class PriceChange(Schema):
    price = PriceField(required=True)


class TagsChange(Schema):
    tags = tags(required=True)


class PrivateDetailsChange(Schema):
    private_details = text(MAX_PRIVATE_DETAILS_CHARACTERS, required=True, allow_none=True)


class AliasChange(Schema):
    alias = text(MAX_CHARACTERS, 1, required=True, allow_none=True)


class AvailabilityChange(Schema):
    availability = one_of(*KINDS, required=True)
    reserved_for = text(
        320,
        1,
        load_default=None,
        allow_none=True,
        metadata={"description": "A mailbox id or an account's email; with `reserved` only."},
    )

    @post_load
    def coherent(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        if data["reserved_for"] is not None and data["availability"] != "reserved":
            raise ValidationError({"reserved_for": ["goes with reserved only"]})
        return data


class Assignment(Schema):
    assign_to = text(
        320, 1, required=True, metadata={"description": "A mailbox id or an account's email."}
    )


class _Batch(Schema):
    """Up to 100 changes; the whole batch is checked before anything is written (P-01)."""

    @validates_schema
    def each_once(self, data: dict[str, Any], **_: Any) -> None:
        seen: set[str] = set()
        for number, update in enumerate(data["updates"]):
            if update["id"] in seen:
                raise ValidationError({"updates": {number: {"id": ["this task is named twice"]}}})
            seen.add(update["id"])


def _updates(entry: type[Schema]) -> fields.List[Any]:
    most = validate.Length(max=MOST_UPDATES, error=f"give at most {MOST_UPDATES} updates")
    return fields.List(fields.Nested(entry), required=True, validate=most)


class PriorityUpdate(PriorityChange):
    id = text(100, 1, required=True)


class PriceUpdate(PriceChange):
    id = text(100, 1, required=True)


class TagsUpdate(TagsChange):
    id = text(100, 1, required=True)


class Priorities(_Batch):
    updates = _updates(PriorityUpdate)


class Prices(_Batch):
    updates = _updates(PriceUpdate)


class TagsOfMany(_Batch):
    updates = _updates(TagsUpdate)


class _Done(Schema):
    success = fields.Boolean(required=True)
    id = fields.String(required=True)


class PriorityNow(Schema):
    id = fields.String(required=True)
    priority = fields.Integer(required=True)


class PriceNow(Schema):
    """The task's own price now; what its holder took it for stands in the task (R-02)."""

    id = fields.String(required=True)
    price = Money(attribute="price_units", required=True, allow_none=True)
    price_tbd = fields.Boolean(required=True)
    price_source = price_source("task", "gig", "review", required=True)
    proof_updated = fields.Boolean(
        required=True,
        metadata={"description": "Did a proof get this price, which waited for one?"},
    )


class TagsNow(Schema):
    id = fields.String(required=True)
    tags = fields.List(fields.String(), required=True)


class PriorityChanged(_Done, PriorityNow):
    pass


class PriceChanged(_Done, PriceNow):
    pass


class TagsChanged(_Done, TagsNow):
    pass


class PrivateDetailsChanged(_Done):
    private_details = fields.String(required=True, allow_none=True)


class AliasGiven(_Done):
    alias = fields.String(required=True, allow_none=True)


class AvailabilityChanged(_Done):
    availability = one_of(*KINDS, required=True)
    reserved_for = fields.String(required=True, allow_none=True)


class Assigned(Schema):
    success = fields.Boolean(required=True)
    status = one_of("assigned", required=True)
    message_id = fields.String(required=True)
    mailbox_id = fields.String(required=True)
    unchanged = fields.Boolean(
        required=True, metadata={"description": "He holds it already, and goes on holding it."}
    )


class SkippedUpdate(Schema):
    id = fields.String(required=True)
    reason = fields.String(
        required=True,
        metadata={
            "description": "`not_found`, `already_claimed`, `not_in_queue`, or the name of the "
            "gig's mode, where that never makes such a change."
        },
    )


class _BatchDone(Schema):
    success = fields.Boolean(required=True)
    updated = fields.Integer(required=True)
    skipped = fields.List(fields.Nested(SkippedUpdate), required=True)


class PrioritiesDone(_BatchDone):
    applied = fields.List(fields.Nested(PriorityNow), required=True)


class PricesDone(_BatchDone):
    applied = fields.List(fields.Nested(PriceNow), required=True)


class TagsOfManyDone(_BatchDone):
    applied = fields.List(fields.Nested(TagsNow), required=True)


class QueueDeleted(Schema):
    success = fields.Boolean(required=True)
    deleted = fields.Integer(required=True)
    more = fields.Boolean(
        required=True, metadata={"description": "There were very many: call again for the rest."}
    )


class ReservedList(Page):
    tasks = fields.List(fields.Nested(TaskView), required=True)
