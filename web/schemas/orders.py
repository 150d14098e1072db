"""Orders: sending, funding and undoing them."""

from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Money, Raw, text, web_url
from web.schemas.gig_fields import about

# A contract's may be long. It is refused, by name.
LONGEST_SIGNATURE = 20_000


class Authorization(Schema):
    signature = text(
        LONGEST_SIGNATURE,
        1,
        required=True,
        metadata=about(
            "Of the newest quote's `typed_data` by its `wallet_address` (EIP-712): 65 bytes, 0x "
            "hex. The operator sends it to the contract and pays the gas."
        ),
    )


class Publish(Schema):
    """Only for orders; a draft of any other gig is published without a body."""

    amount = Money(
        attribute="amount_units",
        metadata=about(
            "Dollars to deposit, in whole cents: at least the shop's list_price; what is above it "
            "is a tip. Left out, or 0, in a shop that takes no money."
        ),
    )
    wallet_alias_id = text(
        100,
        attribute="wallet_id",
        metadata=about("The hot wallet of yours that pays; without it, your mailbox's."),
    )
    order_webhook_url = web_url(
        metadata=about(
            "Where `order.*` events of this order are sent; no route shows it again. A later call "
            "that names none keeps it."
        )
    )
    order_webhook_secret = text(
        500,
        1,
        metadata=about(
            "What signs them, of your choice: any text, whose UTF-8 bytes are the key, or `whsec_` "
            "and base64. With a URL and without it they are unsigned; only with a URL."
        ),
    )
    authorization = fields.Nested(
        Authorization,
        metadata=about("What another wallet has signed of a quote, in place of `wallet_alias_id`."),
    )


class AskQuote(Schema):
    amount = Money(
        attribute="amount_units", metadata=about("Dollars to deposit, as for publishing.")
    )
    wallet_address = text(
        100,
        1,
        required=True,
        metadata=about("Who deposits and signs: an EVM address whose key is not kept here."),
    )


def _dollars(words: str) -> Raw:
    described = {"type": "number", "format": "decimal", "description": words}
    return Raw(required=True, metadata=described)


class Split(Schema):
    """What becomes of the deposit: vendor + fee + residue = deposit, to the last base unit."""

    deposit = _dollars("Dollars that the buyer pays.")
    vendor = _dollars("Dollars that the vendor gets: the deposit less the fee, in whole cents.")
    fee = _dollars("Dollars that the platform keeps, at `fee_bps`.")
    residue = _dollars("Dollars that are left by rounding down to whole cents.")
    tip = _dollars("Dollars of the deposit above the shop's price.")
    fee_bps = fields.Integer(
        required=True, metadata=about("The rate, in hundredths of a per cent of what is paid.")
    )


class Terms(Schema):
    """The deposit's terms as the contract takes them, in the order of its `Terms`."""

    depositor = fields.String(required=True)
    payee = fields.String(
        required=True, metadata=about("The vendor's wallet; these terms fix it (O-11).")
    )
    gig_key = fields.String(required=True, metadata=about("Keccak of the gig's id, 0x hex."))
    amount = fields.String(
        required=True, metadata=about("Base units of USDC, a millionth of a dollar each.")
    )
    fee_bps = fields.Integer(required=True, metadata=about("If the rate moves, these are no good."))
    reclaimer = fields.String(
        required=True,
        metadata=about("Who beside the depositor may reclaim it in time; all zero: nobody."),
    )
    salt = fields.String(required=True, metadata=about("32 bytes, 0x hex."))


class Quoted(Schema):
    message_id = fields.String(required=True, metadata=about("The order."))
    deposit_id = fields.String(
        required=True, metadata=about("The deposit's id on chain, which follows from the terms.")
    )
    treasury_address = fields.String(required=True, metadata=about("The contract that takes it."))
    terms = fields.Nested(Terms, required=True)
    split = fields.Nested(Split, required=True)
    typed_data = fields.Dict(
        keys=fields.String(),
        required=True,
        metadata=about(
            "What the wallet signs, by `eth_signTypedData_v4`: a ReceiveWithAuthorization of the "
            "token, whose nonce is the deposit's id."
        ),
    )
    expires_at = fields.String(
        required=True,
        metadata={"format": "date-time", "description": "Until when the signature is good."},
    )
