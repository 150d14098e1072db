"""Private keys, addresses and signatures. Needs no node.

The libraries are imported on first use: they take most of a second and most processes never sign.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}")
# The last byte of a signature; some wallets leave out the 27.
_RECOVERY_IDS = (0, 1, 27, 28)
# Half of the order of the curve: of a signature's two forms the token takes that with the lower s.
_MOST_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


@dataclass(frozen=True)
class Key:
    """Who signs. The private key is never shown and never logged."""

    address: str
    private_key: str

    def __repr__(self) -> str:
        return f"Key({self.address})"


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


def unsigned(raw_hex: str) -> Transaction:
    """What was signed, read back from a raw transaction that `sign` made."""
    import rlp  # type: ignore[import-untyped]

    fields = rlp.decode(bytes.fromhex(raw_hex.removeprefix("0x"))[1:])
    chain_id, nonce, priority, most, gas, to, value, data = fields[:8]
    return Transaction(
        chain_id=int.from_bytes(chain_id, "big"),
        nonce=int.from_bytes(nonce, "big"),
        call=Call(checksum("0x" + to.hex()) if to else None, data, int.from_bytes(value, "big")),
        gas=int.from_bytes(gas, "big"),
        max_fee_per_gas_wei=int.from_bytes(most, "big"),
        priority_fee_wei=int.from_bytes(priority, "big"),
    )


def signer_of(message: str, signature: str) -> str | None:
    """The address whose key signed this text by `personal_sign` (EIP-191); None if none did.

    Raises ValueError, with a sentence to show, for what has not the shape of a signature.
    """
    from eth_account import Account
    from eth_account.messages import encode_defunct

    if not _SIGNATURE.fullmatch(signature):
        raise ValueError("A signature is 0x and 130 hexadecimal digits, as personal_sign gives it.")
    signed = bytes.fromhex(signature[2:])
    if signed[-1] not in _RECOVERY_IDS:
        return None
    try:
        return str(Account.recover_message(encode_defunct(text=message), signature=signed))
    except Exception:
        # The libraries have no common error for numbers that are no point of the curve.
        return None


def signer_of_typed_data(data: dict[str, Any], signature: str) -> str | None:
    """The address whose key signed this EIP-712 data; None if none did. Errors as `signer_of`.

    None also for the other form of a good signature, with a high s, which the token refuses.
    """
    from eth_account import Account
    from eth_account.messages import encode_typed_data

    if not _SIGNATURE.fullmatch(signature):
        raise ValueError("a signature is 0x and 130 hexadecimal digits")
    signed = bytes.fromhex(signature[2:])
    if signed[-1] not in _RECOVERY_IDS or int.from_bytes(signed[32:64], "big") > _MOST_S:
        return None
    try:
        message = encode_typed_data(full_message=data)
        return str(Account.recover_message(message, signature=signed))
    except Exception:
        # The libraries have no common error for numbers that are no point of the curve.
        return None


def contract_address(creator: str, nonce: int) -> str:
    """Where the contract lands that `creator` creates with this nonce."""
    import rlp
    from eth_utils.crypto import keccak

    digest = keccak(rlp.encode([bytes.fromhex(creator[2:]), nonce]))
    return checksum("0x" + digest[-20:].hex())


def sign_typed_data(private_key: str, data: dict[str, Any]) -> str:
    """Sign EIP-712 data, as `Treasury.deposit_typed_data` makes it: 65 bytes, 0x hex."""
    from eth_account import Account

    address_of(private_key)  # refuses an unusable key in words that do not repeat it
    return "0x" + bytes(Account.sign_typed_data(private_key, full_message=data).signature).hex()
