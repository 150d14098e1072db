"""Private keys, addresses and signatures. Needs no node.

The libraries are imported on first use: they take most of a second and most processes never sign.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True)
class Call:
    """Something to do at an address. `to` is None to create a contract from `data`."""

    to: str | None
    data: bytes = b""
    value_wei: int = 0


@dataclass(frozen=True)
class Transaction:
    """What is signed: a call with its place among the signer's, and what it may cost (EIP-1559)."""

    chain_id: int
    nonce: int
    call: Call
    gas: int
    max_fee_per_gas_wei: int
    priority_fee_wei: int


def checksum(address: str) -> str:
    """The EIP-55 spelling of an address (Y-06). All lower case is accepted as it is.

    Raises ValueError, with a sentence to show, for anything else that is not spelled right.
    """
    from eth_utils.address import to_checksum_address

    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ValueError("An address is 0x and 40 hexadecimal digits.")
    right = to_checksum_address(address.lower())
    if address not in (right, address.lower()):
        raise ValueError(
            "The address has a wrong checksum (EIP-55), so one of its letters may be mistyped. "
            "Copy it again, or write it all in lower case."
        )
    return str(right)


def new_key() -> tuple[str, str]:
    """A fresh private key (0x hex) and its address."""
    key = "0x" + secrets.token_hex(32)
    return key, address_of(key)


def address_of(private_key: str) -> str:
    """The EIP-55 address of a private key. Raises ValueError without ever repeating the key."""
    from eth_keys.datatypes import PrivateKey

    try:
        secret = bytes.fromhex(private_key.removeprefix("0x"))
        return str(PrivateKey(secret).public_key.to_checksum_address())
    except Exception:
        # The libraries' messages can contain the key: neither they nor their trace may get out.
        raise ValueError("This is not a private key: it must be 32 bytes of hexadecimal.") from None


def sign(private_key: str, transaction: Transaction) -> tuple[str, str]:
    """Sign, and answer (transaction hash, raw transaction), both 0x hex. Sends nothing."""
    from eth_account import Account

    fields: dict[str, Any] = {
        "type": 2,
        "chainId": transaction.chain_id,
        "nonce": transaction.nonce,
        "data": transaction.call.data,
        "value": transaction.call.value_wei,
        "gas": transaction.gas,
        "maxFeePerGas": transaction.max_fee_per_gas_wei,
        "maxPriorityFeePerGas": transaction.priority_fee_wei,
    }
    if transaction.call.to is not None:
        fields["to"] = checksum(transaction.call.to)
    address_of(private_key)  # refuses an unusable key in words that do not repeat it
    signed = Account.sign_transaction(fields, private_key)
    return "0x" + bytes(signed.hash).hex(), "0x" + bytes(signed.raw_transaction).hex()


def contract_address(creator: str, nonce: int) -> str:
    """Where the contract lands that `creator` creates with this nonce."""
    import rlp  # type: ignore[import-untyped]
    from eth_utils.crypto import keccak

    digest = keccak(rlp.encode([bytes.fromhex(creator[2:]), nonce]))
    return checksum("0x" + digest[-20:].hex())
