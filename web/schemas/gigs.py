from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Flag, Money, Raw, Time, Whole, WholeText, text
from web.paging import Page, PageQuery
from web.schemas.accounts import ChainView
from web.schemas.gig_fields import GigFields, about
from web.schemas.states import state
from web.strict_json import MAX_INTEGER


class GigView(GigFields):
    id = fields.String(required=True)
    status = state("gig", required=True)
    distribution = fields.String(
        required=True, metadata=about("The name of its mode in `GET /api/modes`.")
    )
    available_funds = Money(
        attribute="available_units",
        required=True,
        metadata=about("Dollars in the pot that nothing is set aside for."),
    )
    reserved_funds = Money(
        attribute="reserved_units",
        required=True,
        metadata=about("Dollars in the pot for payouts that are under way."),
    )
    is_owner = fields.Boolean(required=True)
    created_at = Time(required=True)
    webhook = fields.String(
        metadata=about(
            "The tokened URL; for its owner only, and where members order for active members too."
        )
    )
    inbound_email = fields.String(
        metadata=about(
            "Where it takes tasks by mail; its token is in it. For its owner only, where the "
            "install takes mail."
        )
    )
    invite_url = fields.String()
    # Only where members order.
    vendor = fields.String(metadata=about("Who does the work of this shop, by his display name."))
    fee_bps = fields.Integer(
        allow_none=True,
        metadata=about(
            "The platform's fee in basis points, as the contract has it now; it comes out of each "
            "deposit. Null: it cannot be read just now, which is not the same as no fee."
        ),
    )
    chain = fields.Nested(
        ChainView,
        allow_none=True,
        metadata=about("Where deposits are made. Null: unknown, since its node does not answer."),
    )
    escrowed_funds = Money(
        attribute="escrowed_units",
        allow_none=True,
        metadata=about(
            "Dollars that the contract holds for orders that are not settled; for the owner and "
            "members, to show. Null: not known yet."
        ),
    )
    vendor_mailbox_id = fields.String(
        metadata=about("The owner's own mailbox, in which orders land; for him only.")
    )


class Confirm(Schema):
    confirm = Flag(
        load_default=False,
        metadata=about("That it is meant, where the gig's mode asks for that."),
    )


class GigCreated(Schema):
    gig = fields.Nested(GigView, required=True)
    webhook_secret = fields.String(
        required=True, metadata=about("What signs the gig's webhooks; shown this once.")
    )

    vendor_mailbox_id = fields.String(
        metadata=about("Where members order: the owner's own mailbox, in which orders land.")
    )


class GigAnswer(Schema):
    gig = fields.Nested(GigView, required=True)


class GigClosed(GigAnswer):
    success = fields.Boolean(required=True)


class PotRefundView(Schema):
    funder = fields.String(required=True)
    amount = Money(attribute="amount_units", required=True)
    tx_hash = fields.String(required=True, allow_none=True)
    status = state("pot_refund", required=True)
    failure = fields.String(required=True, allow_none=True)


class GigCancelled(Schema):
    gig = fields.Nested(GigView, required=True)
    refunds = fields.List(fields.Nested(PotRefundView), required=True)
    kept_funds = Raw(
        required=True,
        metadata={
            "type": "number",
            "format": "decimal",
            "description": "What stays in the pot, and in deposits of its tasks, for what is owed "
            "or may still be, and what the chain does not give back yet.",
        },
    )


class GigList(Page):
    gigs = fields.List(fields.Nested(GigView), required=True)


class MineQuery(PageQuery):
    tag = text(256, load_default=None, metadata=about("Only gigs with this tag."))


class InviteCreate(Schema):
    max_uses = Whole(
        1,
        10**9,
        load_default=None,
        allow_none=True,
        metadata=about("How many may join with it. Null: any number."),
    )
    email = text(
        255,
        3,
        load_default=None,
        allow_none=True,
        metadata=about("Only the account of this address may join with it, and needs no approval."),
    )
    label = text(200, load_default="", metadata=about("For the owner, to tell it from others."))


class InviteView(Schema):
    token = fields.String(required=True)
    label = fields.String(required=True)
    email = fields.String(required=True, allow_none=True)
    max_uses = fields.Integer(required=True, allow_none=True)
    used = fields.Integer(required=True)
    invite_url = fields.String(required=True)
    created_at = Time(required=True)


class InviteAnswer(Schema):
    invite = fields.Nested(InviteView, required=True)


class InviteList(Page):
    invites = fields.List(fields.Nested(InviteView), required=True)


class Success(Schema):
    success = fields.Boolean(required=True)


class EventsQuery(Schema):
    after = WholeText(
        0,
        MAX_INTEGER,
        load_default=0,
        metadata=about("The `next_after` of the answer before; 0: from the beginning."),
    )
    limit = PageQuery().fields["limit"]
