from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields

from engine.rules import working_hours
from web.fields import Raw, time_zone
from web.paging import Page

_PAIRS = {
    "type": "array",
    "maxItems": working_hours.MAX_PAIRS,
    "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    "examples": [[["09:00", "12:30"], ["13:00", "24:00"]]],
}


class Pairs(Raw):
    """The working hours of one day."""

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Any:
        wrong = working_hours.problem(value)
        if wrong is not None:
            raise ValidationError(wrong)
        return value


class WorkingHours(Schema):
    """Pairs of wall times of each day, in order; `24:00` ends a day. A day left out has none."""

    mon = Pairs(metadata=_PAIRS)
    tue = Pairs(metadata=_PAIRS)
    wed = Pairs(metadata=_PAIRS)
    thu = Pairs(metadata=_PAIRS)
    fri = Pairs(metadata=_PAIRS)
    sat = Pairs(metadata=_PAIRS)
    sun = Pairs(metadata=_PAIRS)


class SchedulePatch(Schema):
    """What is left out stays; `hours` are those of the whole week."""

    timezone = time_zone(attribute="timezone")
    hours = fields.Nested(WorkingHours, attribute="working_hours")


class ScheduleView(Schema):
    """In which hours, by whose clocks, a free time is looked for."""

    timezone = fields.String(
        required=True,
        attribute="zone",
        metadata={"description": "A name of the IANA database. The same as of `/auth/me`."},
    )
    hours = fields.Nested(WorkingHours, required=True)


class Assignee(Schema):
    id = fields.Integer(
        required=True,
        attribute="number",
        metadata={"description": "The number of the account, to be given as `assigneeId`."},
    )
    name = fields.String(required=True)


class AssigneeList(Page):
    assignees = fields.List(fields.Nested(Assignee), required=True)
