from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Flag, Money, Time, text
from web.paging import Page

LONGEST_SIGNATURE = 1000


class WalletCreate(Schema):
    label = text(200, load_default="", metadata={"description": "To tell it from your others."})
    is_hot_wallet = Flag(
        load_default=True,
        metadata={
            "description": "Muster makes it and keeps its key. False: an address of your own, in "
            "`evm_address`."
        },
    )
    evm_address = fields.String(
        load_default=None,
        allow_none=True,
        metadata={"description": "0x and 40 hexadecimal digits; of a wallet that is not hot."},
    )


class WalletView(Schema):
    id = fields.String(required=True)
    label = fields.String(required=True)
    evm_address = fields.String(required=True)
    is_hot_wallet = fields.Boolean(required=True)
    verified = fields.Boolean(
        required=True,
        metadata={"description": "Has this account proven that the address is its own?"},
    )
    created_at = Time(required=True)


class WalletAnswer(Schema):
    wallet = fields.Nested(WalletView, required=True)


class WalletList(Page):
    wallets = fields.List(fields.Nested(WalletView), required=True)


class Balances(Schema):
    """Exact decimal strings, in ether and in dollars."""

    evm_address = fields.String(required=True)
    eth_balance = fields.String(required=True)
    usdc_balance = fields.String(required=True)


class Challenge(Schema):
    message = fields.String(
        required=True, metadata={"description": "To be signed as it is, by personal_sign."}
    )
    expires_at = Time(required=True)


class Verify(Schema):
    signature = text(
        LONGEST_SIGNATURE,
        required=True,
        metadata={"description": "65 bytes as 0x and 130 hexadecimal digits (EIP-191)."},
    )


class Transfer(Schema):
    to_address = fields.String(required=True)
    amount = Money(attribute="amount_units", required=True)


class Transferred(Schema):
    tx_hash = fields.String(required=True)
