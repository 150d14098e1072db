"""What happens to a task in hand, as it is asked and answered."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.holds import MAX_AHEAD_SECONDS
from engine.violations import MAX_CHARACTERS
from web.fields import Time, Whole, text
from web.schemas.states import state

_WHICH = "Which of your mailboxes; by default the one that has the task."


class OfMailbox(Schema):
    mailbox_id = fields.String(load_default=None, metadata={"description": _WHICH})


class Decline(OfMailbox):
    pass


class Violation(OfMailbox):
    violation = text(
        MAX_CHARACTERS,
        1,
        required=True,
        metadata={"description": "What is wrong with the task; for its owner."},
    )


class PassedOn(Schema):
    """The last two only of a task that its owner had assigned."""

    success = fields.Boolean(required=True)
    skipped = fields.Boolean()
    returned_to_owner = fields.Boolean(
        metadata={"description": "It is with its owner again, and nobody else is offered it."}
    )


class Heartbeat(OfMailbox):
    pass


class Clock(Schema):
    expires_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "When the claim ends; null: never."},
    )


class Extend(Schema):
    seconds = Whole(
        1,
        MAX_AHEAD_SECONDS,
        load_default=None,
        metadata={
            "description": "By default the gig's `task_timeout`; its `accept_timeout` while the "
            "task waits to be accepted."
        },
    )


class Extended(Clock):
    success = fields.Boolean(required=True)
    expired = fields.Boolean(
        required=True,
        metadata={
            "description": "Is its time over? Never: a claim that had run out and was not yet "
            "taken back is brought back, and its time counts from now."
        },
    )


class Recycled(Schema):
    success = fields.Boolean(required=True)
    requeued = fields.Boolean(
        metadata={
            "description": "Does it wait for a worker again? Not if it was assigned (it is with "
            "its owner, UNASSIGNED), nor if it was a worker's copy. No key where it was given to "
            "another worker at once."
        },
    )
    reassigned_to = fields.String(
        metadata={"description": "The mailbox that was given it at once, where the gig pushes."}
    )
    reassigned_to_name = fields.String()


class OfferAnswer(OfMailbox):
    """To what was pushed."""


class OfferAccepted(Clock):
    success = fields.Boolean(required=True)
    status = state("task", required=True)
