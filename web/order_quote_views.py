"""How a quote is shown."""

from __future__ import annotations

from typing import Any

from engine import install
from engine.chain.deposit_terms import key_of
from engine.order_quotes import Quote
from engine.rules import money, order_money, times


def quote_view(quote: Quote) -> dict[str, Any]:
    escrow = quote.escrow
    split = order_money.split(escrow.amount_units, escrow.fee_bps)
    return {
        "message_id": escrow.task_id,
        "deposit_id": escrow.id,
        "treasury_address": install.treasury().address,
        "terms": {
            "depositor": escrow.depositor,
            "payee": escrow.payee,
            "gig_key": "0x" + key_of(escrow.gig_id).hex(),
            "amount": str(escrow.amount_units),
            "fee_bps": escrow.fee_bps,
            "reclaimer": escrow.reclaimer,
            "salt": escrow.salt,
        },
        "split": {
            "deposit": money.to_dollars(escrow.amount_units),
            "vendor": money.to_dollars(split.net_units),
            "fee": money.to_dollars(split.fee_units),
            "residue": money.to_dollars(split.residue_units),
            "tip": money.to_dollars(escrow.amount_units - quote.minimum_units),
            "fee_bps": escrow.fee_bps,
        },
        "typed_data": quote.typed_data,
        "expires_at": times.iso_ms(escrow.expires_at),
    }
