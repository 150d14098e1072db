"""The owner's view of a whole gig (G-07)."""

from __future__ import annotations

from marshmallow import Schema, fields

from web.paging import PageQuery
from web.schemas.deliveries import EndpointView
from web.schemas.gigs import GigView
from web.schemas.mailboxes import MailboxView
from web.schemas.money import RollupView
from web.schemas.proof_views import ProofView
from web.schemas.tasks import TaskView

_NEXT = {"description": "As `next` of the page before names it; without it the first page."}
LISTS = ("mailboxes", "proofs", "rollups", "tasks")


class DashboardQuery(Schema):
    """Each list goes on by a cursor of its own."""

    limit = PageQuery().fields["limit"]
    mailboxes_cursor = fields.String(load_default=None, metadata=_NEXT)
    proofs_cursor = fields.String(load_default=None, metadata=_NEXT)
    rollups_cursor = fields.String(load_default=None, metadata=_NEXT)
    tasks_cursor = fields.String(load_default=None, metadata=_NEXT)


class ByStatus(fields.Dict):
    """How many there are in each state; a state with none says 0."""

    def __init__(self) -> None:
        super().__init__(keys=fields.String(), values=fields.Integer(), required=True)


class Counts(Schema):
    tasks = ByStatus()
    proofs = ByStatus()
    mailboxes = ByStatus()
    rollups = ByStatus()
    queued = fields.Integer(
        required=True, metadata={"description": "What anybody may take now, or a copy of it."}
    )
    reserved = fields.Integer(
        required=True, metadata={"description": "Kept back from the queue: `GET …/reserved`."}
    )
    drafts = fields.Integer(required=True)


class Cursors(Schema):
    """Null where a list ends; else the value of its parameter for the next page."""

    mailboxes_cursor = fields.String(required=True, allow_none=True)
    proofs_cursor = fields.String(required=True, allow_none=True)
    rollups_cursor = fields.String(required=True, allow_none=True)
    tasks_cursor = fields.String(required=True, allow_none=True)


class Dashboard(Schema):
    """The lists are newest first."""

    gig = fields.Nested(GigView, required=True)
    counts = fields.Nested(Counts, required=True)
    mailboxes = fields.List(fields.Nested(MailboxView), required=True)
    proofs = fields.List(fields.Nested(ProofView), required=True)
    rollups = fields.List(fields.Nested(RollupView), required=True)
    tasks = fields.List(fields.Nested(TaskView), required=True)
    next = fields.Nested(Cursors, required=True)
    endpoints_disabled = fields.List(
        fields.Nested(EndpointView),
        required=True,
        metadata={"description": "The gig's webhooks to which nothing is sent any more (W-06)."},
    )
