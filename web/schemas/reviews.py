"""Reading proofs, and what is said of them: verdicts, disputes, tags and names."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validate, validates_schema

from engine import aliases, proof_reports
from engine.bulk_reviews import MOST_REVIEWS
from engine.proofs import REJECTION_TAGS
from web.fields import Flag, Money, one_of, tags, text
from web.paging import Page, PageQuery
from web.schemas.proof_views import ProofView
from web.schemas.states import price_source, state


class ProofsQuery(PageQuery):
    status = state("proof", load_default=None, metadata={"description": "Only in this state."})
    task = fields.String(
        load_default=None,
        metadata={"description": "A task's id, or the name that a worker gave to his own work."},
    )


class ProofList(Page):
    proofs = fields.List(fields.Nested(ProofView), required=True)


class Review(Schema):
    """A verdict. It may change until a settlement carries the proof.

    A settlement pays what is approved and carries rejected proofs as well, which pay nothing and
    become final with it.
    """

    action = one_of("approve", "reject", required=True)
    feedback = text(
        8000,
        metadata={
            "description": "For the worker. Empty if it is left out of a first verdict; left out "
            "of a repeated one, it stays as it is."
        },
    )
    amount = Money(
        attribute="amount_units",
        load_default=None,
        allow_none=True,
        metadata={
            "description": "Dollars, with `approve`: where the price is to be decided any amount, "
            "elsewhere just the worker's asking price. Without it the locked price is paid; one "
            "that was to be decided is then the gig's. It is settled once and for all."
        },
    )
    rejection_tag = one_of(
        *REJECTION_TAGS,
        load_default=None,
        allow_none=True,
        metadata={"description": "Why, in a word that all gigs share; with `reject`."},
    )
    requeue = Flag(
        metadata={
            "default": True,
            "description": "With `reject`: the task goes on to others, which makes the rejection "
            "final. False: it stays as `rejected`. Left out of a repeated rejection: as it is.",
        },
    )

    @post_load
    def coherent(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Fields of the other verdict are a mistake, not to be dropped in silence."""
        if data["action"] == "approve" and data["rejection_tag"] is not None:
            raise ValidationError({"rejection_tag": ["goes with reject only"]})
        if data["action"] == "reject" and data["amount_units"] is not None:
            raise ValidationError({"amount": ["goes with approve only"]})
        return data


class Reviewed(Schema):
    success = fields.Boolean(required=True)
    status = state("proof", required=True)
    locked_price = Money(attribute="locked_price_units", required=True, allow_none=True)
    price_source = price_source(required=True)
    revised = fields.Boolean(
        required=True, metadata={"description": "It changed a verdict that there was."}
    )
    previous_status = state("proof", required=True)
    requeued = fields.Boolean(
        required=True, metadata={"description": "The task has gone on to others."}
    )
    requeue_error = fields.String(
        metadata={"description": "The rejection holds; why its task did not go back."}
    )
    task_identifier = fields.String(required=True)


class BulkReview(Review):
    proof_id = text(100, 1, required=True)


class BulkReviews(Schema):
    """Up to 100 verdicts; the whole batch is checked before any is made."""

    reviews = fields.List(
        fields.Nested(BulkReview),
        required=True,
        validate=validate.Length(
            min=1, max=MOST_REVIEWS, error=f"give 1 to {MOST_REVIEWS} reviews"
        ),
    )

    @validates_schema
    def each_once(self, data: dict[str, Any], **_: Any) -> None:
        seen: set[str] = set()
        for number, one in enumerate(data["reviews"]):
            if one["proof_id"] in seen:
                twice = {"proof_id": ["this proof is named twice"]}
                raise ValidationError({"reviews": {number: twice}})
            seen.add(one["proof_id"])


class BulkReviewed(Schema):
    """The review answer, or what refused it."""

    proof_id = fields.String(required=True)
    success = fields.Boolean(required=True)
    status = state("proof")
    locked_price = Money(attribute="locked_price_units", allow_none=True)
    price_source = price_source()
    revised = fields.Boolean()
    previous_status = state("proof")
    requeued = fields.Boolean()
    requeue_error = fields.String()
    task_identifier = fields.String()
    error = fields.String()
    reason = fields.String()


class BulkReviewsDone(Schema):
    success = fields.Boolean(required=True)
    reviewed = fields.Integer(required=True, metadata={"description": "How many were not refused."})
    results = fields.List(fields.Nested(BulkReviewed), required=True)


class Report(Schema):
    reason = text(
        proof_reports.MAX_CHARACTERS,
        load_default=None,
        allow_none=True,
        metadata={"description": "What is wrong with the work; its worker reads it."},
    )


class ProofTags(Schema):
    tags = tags(required=True)


class ProofName(Schema):
    alias = text(aliases.MAX_CHARACTERS, 1, required=True, allow_none=True)


class ProofTagged(Schema):
    success = fields.Boolean(required=True)
    id = fields.String(required=True)
    tags = fields.List(fields.String(), required=True)


class ProofNamed(Schema):
    success = fields.Boolean(required=True)
    id = fields.String(required=True)
    alias = fields.String(required=True, allow_none=True)
