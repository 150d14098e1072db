"""Taking what is next, and reading what waits."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load

from engine.facets import Wanted
from engine.rules.tag_matching import MATCHES, MODES
from web.fields import Flag, Money, Whole, WholeText, one_of
from web.paging import Page, PageQuery
from web.schemas.forms import Tags
from web.schemas.limits import Standing
from web.schemas.tasks import TaskView

MOST_AT_ONCE = 20
ANY_OF = (
    "Tags that a task has one of (`tag_mode`), {how}. Upper and lower case are the same. A task "
    "without tags matches none."
)
TAGS = {
    "type": ["array", "string"],
    "items": {"type": "string"},
    "description": ANY_OF.format(how="in a list or with commas between them"),
}
TAG = {"description": ANY_OF.format(how="with commas between them")}
MATCH = {"description": "Of a task's tag: any part, its beginning, or all of it."}
MODE = {"description": "One of the tags is enough, or all must match."}
TBD = {"description": "False leaves out tasks whose price is still to be decided."}


class PollQuery(Schema):
    wait = WholeText(0, 60, load_default=0, metadata={"description": "Seconds to wait for work."})


class Poll(Schema):
    """How many tasks, for which mailbox, and which (Q-04). What is reserved comes in any case."""

    count = Whole(
        1,
        MOST_AT_ONCE,
        load_default=2,
        metadata={"description": "At most so many tasks; fewer where fewer wait or may be held."},
    )
    mailbox_id = fields.String(
        load_default=None,
        metadata={"description": "Which of your mailboxes in the gig; or else the first active."},
    )
    tags = Tags(load_default=(), metadata=TAGS)
    tag_match = one_of(*MATCHES, load_default="substring", metadata=MATCH)
    tag_mode = one_of(*MODES, load_default="any", metadata=MODE)
    price_min = Money(
        attribute="price_min_units",
        load_default=None,
        metadata={"description": "Dollars; only tasks that pay at least that."},
    )
    price_max = Money(
        attribute="price_max_units",
        load_default=None,
        metadata={"description": "Dollars; only tasks that pay at most that."},
    )
    accept_tbd = Flag(load_default=True, metadata=TBD)

    @post_load
    def filter(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        least, most = data["price_min_units"], data["price_max_units"]
        if least is not None and most is not None and least > most:
            raise ValidationError({"price_min": ["give no more than price_max"]})
        about = {"count", "mailbox_id"}
        wanted = Wanted(**{name: value for name, value in data.items() if name not in about})
        return {name: data[name] for name in about} | {"wanted": wanted}


class Polled(Standing):
    tasks = fields.List(fields.Nested(TaskView), required=True)
    count = fields.Integer(required=True)
    mailbox_id = fields.String(required=True)
    scan_exhausted = fields.Boolean(
        required=True,
        metadata={"description": "Always false: a poll looks at all that waits (Q-02)."},
    )
    filter_applied = fields.Boolean(required=True)


class QueueQuery(PageQuery):
    tag = Tags(metadata=TAG)
    tag_match = one_of(*MATCHES, load_default="substring", metadata=MATCH)
    tag_mode = one_of(*MODES, load_default="any", metadata=MODE)

    @post_load
    def filter(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        tags, match, mode = data.pop("tag", ()), data.pop("tag_match"), data.pop("tag_mode")
        return data | {"wanted": Wanted(tags, match, mode)}


class QueueList(Page):
    tasks = fields.List(fields.Nested(TaskView), required=True)
