from __future__ import annotations

from marshmallow import Schema, fields

from engine.audiences import AUDIENCES
from engine.secret_rotation import GRACE_SECONDS, MOST_GRACE_SECONDS
from web.fields import Instant, Time, Whole, one_of, text
from web.paging import Page, PageQuery
from web.schemas.states import state

# Of endpoints, each a URL of a gig's, a mailbox's or an order's.
KINDS = sorted({kind for heard in AUDIENCES.values() for kind, _ in heard})


class Rotate(Schema):
    grace_seconds = Whole(
        0,
        MOST_GRACE_SECONDS,
        load_default=GRACE_SECONDS,
        metadata={"description": "Seconds for which the old secret signs beside the new one."},
    )


class Rotated(Schema):
    webhook_secret = fields.String(
        required=True, metadata={"description": "The new secret; shown this once."}
    )


class DeliveriesQuery(PageQuery):
    endpoint = text(
        100, load_default=None, metadata={"description": "Only this endpoint's, by id."}
    )
    status = state("delivery", load_default=None, metadata={"description": "Only in this state."})


class AttemptView(Schema):
    """One try. `status_code` is null when no answer came; `error` is null when it was taken."""

    at = Time(required=True)
    status_code = fields.Integer(required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    latency_ms = fields.Integer(required=True)
    response_excerpt = fields.String(required=True)


class DeliveryView(Schema):
    """One event to one endpoint. `id` is the `webhook-id` of every try."""

    id = fields.String(required=True)
    event = one_of(*sorted(AUDIENCES), required=True)
    endpoint_id = fields.String(required=True)
    endpoint_kind = one_of(*KINDS, required=True)
    status = state("delivery", required=True)
    attempts = fields.List(fields.Nested(AttemptView), required=True)
    next_attempt_at = Time(required=True, allow_none=True)


class DeliveryList(Page):
    deliveries = fields.List(fields.Nested(DeliveryView), required=True)


class DeliveryAnswer(Schema):
    delivery = fields.Nested(DeliveryView, required=True)


class Replay(Schema):
    endpoint_id = text(
        100,
        1,
        allow_none=True,
        load_default=None,
        metadata={"description": "One endpoint; left out: all that the caller registered."},
    )
    since = Instant(
        required=True,
        metadata={"description": "Failed deliveries whose last try was then or later."},
    )


class Replayed(Schema):
    replayed = fields.Integer(required=True)


class EndpointView(Schema):
    """A URL that the caller registered: a gig's (`gig.proofs`, `gig.joins`), a mailbox's
    (`mailbox.tasks`, `mailbox.events`) or that of an order of his (`task.order`)."""

    id = fields.String(required=True)
    kind = one_of(*KINDS, required=True)
    owner_id = fields.String(
        required=True, metadata={"description": "The gig, the mailbox or the task."}
    )
    url = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Null once it was removed; of an order it is never shown."},
    )
    status = state("endpoint", required=True)
    disabled_at = Time(required=True, allow_none=True)
    reason = one_of(
        "removed",
        "gone",
        "failing",
        required=True,
        allow_none=True,
        metadata={
            "description": "Why it is disabled: its URL was removed; it answered 410; or one "
            "delivery failed ten times and nothing else was taken meanwhile."
        },
    )
    waiting = fields.Integer(
        required=True, metadata={"description": "Deliveries neither delivered nor failed."}
    )


class EndpointAnswer(Schema):
    endpoint = fields.Nested(EndpointView, required=True)


class EndpointList(Page):
    endpoints = fields.List(fields.Nested(EndpointView), required=True)
