"""A named deposit's terms: what they are, the id that follows from them, what a depositor signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.chain.keys import checksum

STATES = ("none", "open", "settled", "refunded")  # as the contract numbers them
NOBODY = "0x" + "0" * 40
_CENT_UNITS = 10_000
_TERMS = "(address,address,bytes32,uint256,uint256,address,bytes32)"


@dataclass(frozen=True)
class Terms:
    """`units` holds gross and fee. A payee of `NOBODY` is named when the deposit is settled.

    Addresses are EIP-55; `salt` is 32 bytes as 0x hex; `reclaimer` may be `NOBODY`.
    """

    depositor: str
    payee: str
    gig_id: str
    units: int
    fee_bps: int
    reclaimer: str
    salt: str

    def row(self) -> tuple[Any, ...]:
        """The terms as the contract takes them."""
        return (
            checksum(self.depositor),
            checksum(self.payee),
            key_of(self.gig_id),
            self.units,
            self.fee_bps,
            checksum(self.reclaimer),
            bytes_of(self.salt),
        )


@dataclass(frozen=True)
class Settlement:
    """`units` of a deposit to `to`; the fee comes out of the deposit too, at its own rate (Y-07).

    `to` is the payee of the terms, unless they name nobody.
    """

    rollup_id: str
    deposit_id: str
    to: str
    units: int


@dataclass(frozen=True)
class DepositOnChain:
    """The chain's own word on a deposit.

    `gig_key` is 0x hex; times are milliseconds since 1970, 0 for never.
    """

    state: str
    depositor: str
    payee: str
    gig_key: str
    units: int
    fee_bps: int
    opened_at: int
    reclaim_at: int


def key_of(our_id: str) -> bytes:
    """The 32 bytes that stand for one of our ids on chain: keccak of its UTF-8."""
    from eth_utils.crypto import keccak

    return bytes(keccak(text=our_id))


def bytes_of(key: str) -> bytes:
    """A 32-byte key or id from its 0x hex. Raises ValueError for any other length."""
    found = bytes.fromhex(key.removeprefix("0x"))
    if len(found) != 32:
        raise ValueError("A key on chain is 0x and 64 hexadecimal digits.")
    return found


def deposit_id(chain_id: int, treasury_address: str, terms: Terms) -> str:
    """The id of a deposit on these terms: the hash of chain, contract and terms."""
    from eth_abi.abi import encode
    from eth_utils.crypto import keccak

    text = encode(["uint256", "address", _TERMS], [chain_id, treasury_address, terms.row()])
    return "0x" + keccak(text).hex()


def residue_below(fee_bps: int) -> int:
    """A settlement must leave less than this of its deposit: one cent and the fee on it."""
    return _CENT_UNITS + fee_bps


def typed_data(
    domain: dict[str, Any],
    to: str,
    terms: Terms,
    nonce: str,
    valid_after: int,
    valid_before: int,
) -> dict[str, Any]:
    """What the depositor signs for a deposit without gas: EIP-712 of `receiveWithAuthorization`."""
    return {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "ReceiveWithAuthorization": [
                {"name": "from", "type": "address"},
                {"name": "to", "type": "address"},
                {"name": "value", "type": "uint256"},
                {"name": "validAfter", "type": "uint256"},
                {"name": "validBefore", "type": "uint256"},
                {"name": "nonce", "type": "bytes32"},
            ],
        },
        "primaryType": "ReceiveWithAuthorization",
        "domain": domain,
        "message": {
            "from": terms.depositor,
            "to": to,
            "value": terms.units,
            "validAfter": valid_after,
            "validBefore": valid_before,
            "nonce": nonce,
        },
    }


def signature_parts(signature: str) -> tuple[int, bytes, bytes]:
    """(v, r, s) of a 65-byte signature in 0x hex. Raises ValueError for anything else."""
    found = bytes.fromhex(signature.removeprefix("0x"))
    if len(found) != 65:
        raise ValueError("A signature is 0x and 130 hexadecimal digits.")
    v = found[64]
    return v + 27 if v < 27 else v, found[:32], found[32:64]
