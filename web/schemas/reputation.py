from __future__ import annotations

from marshmallow import Schema, fields

from engine import order_news, reputation
from engine.proofs import REJECTION_TAGS
from web.fields import Money, Time, one_of
from web.paging import Page


class ReputationEventView(Schema):
    """One thing that happened to work that is paid to the wallet, or to an order paid from it.

    Of gig and proof it tells the ids alone, which open nothing: they show whether many verdicts are
    one client's, and what became of a proof in the end.
    """

    id = fields.String(required=True)
    type = one_of(
        *sorted(reputation.SHOWN),
        required=True,
        metadata={
            "description": "`payout.taken_back`: a reorg undid the payout before it. "
            "`order_withdrawn`: an order that the wallet had paid for was undone."
        },
    )
    role = one_of("client", "gigworker", required=True)
    at = Time(required=True)
    gig_id = fields.String(required=True)
    proof_id = fields.String(
        required=True, allow_none=True, metadata={"description": "Null but for a verdict."}
    )
    amount = Money(
        attribute="units",
        required=True,
        allow_none=True,
        metadata={"description": "What a payout paid to the wallet; null for anything else."},
    )
    rejection_tag = one_of(*REJECTION_TAGS, required=True, allow_none=True)
    revised = fields.Boolean(
        required=True,
        metadata={"description": "It takes the place of an earlier verdict on this proof."},
    )
    tx_hash = fields.String(
        required=True, allow_none=True, metadata={"description": "The payout's, on chain."}
    )
    withdrawn_by = one_of(
        *order_news.WITHDRAWERS,
        required=True,
        allow_none=True,
        metadata={
            "description": "Who undid the order: its buyer (`participant`), the vendor, the "
            "reconciler or the install's operator. Null for anything else."
        },
    )


class ReputationList(Page):
    events = fields.List(fields.Nested(ReputationEventView), required=True)
