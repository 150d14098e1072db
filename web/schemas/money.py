from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Ether, Money, Raw, Time
from web.paging import Page
from web.schemas.states import state


class Deposit(Schema):
    wallet_alias_id = fields.String(
        required=True, metadata={"description": "The `id` of a hot wallet of `GET /wallets`."}
    )
    amount = Money(
        attribute="amount_units",
        required=True,
        metadata={"description": "Dollars in whole cents, all of which reach the pot."},
    )


class Deposited(Schema):
    tx_hash = fields.String(required=True)
    available_funds = Raw(required=True, metadata={"type": "number", "format": "decimal"})


class Nothing(Schema):
    """A body without members."""


class RollupView(Schema):
    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    mailbox_id = fields.String(required=True)
    wallet_address = fields.String(required=True)
    proof_ids = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "What it carries, whose verdicts are final: also rejected ones."},
    )
    paid_proof_ids = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "Those of them that are paid; empty until then."},
    )
    gross_amount = Money(
        attribute="gross_units",
        required=True,
        metadata={
            "description": "Dollars that the proofs pay, without the fee; of an order, with it."
        },
    )
    platform_fee = Money(
        attribute="fee_units",
        required=True,
        metadata={
            "description": "Dollars that the pot pays on top; of an order, out of its deposit."
        },
    )
    net_amount = Money(
        attribute="net_units",
        required=True,
        metadata={
            "description": "Dollars that the wallet gets: all of the gross where the fee comes on "
            "top; of an order the gross without the fee."
        },
    )
    tx_hash = fields.String(required=True, allow_none=True)
    status = state(
        "rollup",
        required=True,
        metadata={
            "description": "`settled`: it pays nothing, and carries rejected proofs only; "
            "`failed`: still owed, and tried again."
        },
    )
    failure = fields.String(required=True, allow_none=True)
    settled_by_reconciliation = fields.Boolean(required=True)
    created_at = Time(required=True)
    paid_at = Time(required=True, allow_none=True)


class Skipped(Schema):
    mailbox_id = fields.String(required=True)
    amount = Raw(required=True, metadata={"type": "number", "format": "decimal"})


class Settled(Schema):
    rollups = fields.List(fields.Nested(RollupView), required=True)
    available_funds = Money(attribute="available_units", required=True)
    retried_stuck = fields.Integer(required=True)
    skipped_below_minimum = fields.List(fields.Nested(Skipped), required=True)


class RollupList(Page):
    rollups = fields.List(fields.Nested(RollupView), required=True)


class ClockAdvance(Schema):
    seconds = fields.Integer(required=True, strict=True)


class ClockNow(Schema):
    now = Time(required=True)


class Faucet(Schema):
    address = fields.String(required=True)
    usdc = Money(attribute="usdc_units", load_default=0)
    eth = Ether(attribute="wei", load_default=0, metadata={"type": ["number", "string"]})


class Mine(Schema):
    blocks = fields.Integer(load_default=1, strict=True)


class Mined(Schema):
    block_number = fields.Integer(required=True)
