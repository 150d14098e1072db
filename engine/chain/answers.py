"""What a node is asked and what it answers, in our types.

The readers raise KeyError, TypeError, ValueError or AttributeError for an answer that makes no
sense; the client turns those into ChainUnavailable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.chain.errors import CallReverted, NodeRefused
from engine.chain.keys import Call, checksum
from engine.chain.reverts import explain

BlockId = int | str

# How nodes say that the sender cannot pay the gas. A contract may use the same words for its own
# refusal; those come with "revert" before them, with code 3, or with revert data.
_NO_GAS_MONEY = (
    "insufficient funds for gas",
    "insufficient funds. the account you tried to send transaction from",
)
# The words with which nodes say that a call itself fails, when they send no revert data with it.
_CALL_FAILS = ("revert", "insufficient", "out of gas", "gas required exceeds", "invalid opcode")


@dataclass(frozen=True)
class Block:
    number: int
    hash: str
    timestamp: int
    base_fee_wei: int


@dataclass(frozen=True)
class Receipt:
    """Proof that a transaction was mined. Status 0 is a failure that cost gas."""

    tx_hash: str
    block_number: int
    block_hash: str
    status: int
    gas_used: int
    effective_gas_price_wei: int


@dataclass(frozen=True)
class Log:
    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int


class Sent(NamedTuple):
    """A mined transaction, ours or not, and what it asked for."""

    tx_hash: str
    call: Call


class Broadcast(NamedTuple):
    """What the node said to a transaction: its hash, or an error's text. Both are only hints.

    "already known" and "nonce too low" can mean that it was sent before; an unknown error can
    come from a node that passed it on. The receipt decides.
    """

    tx_hash: str | None
    error: str | None


def block_id(which: BlockId | None) -> str:
    if which is None:
        return "latest"
    return hex(which) if isinstance(which, int) else which


def call_fields(call: Call, sender: str | None) -> dict[str, str]:
    fields = {"data": "0x" + call.data.hex(), "value": hex(call.value_wei)}
    if call.to is not None:
        fields["to"] = checksum(call.to)
    if sender is not None:
        fields["from"] = checksum(sender)
    return fields


def read_quantity(answer: str) -> int:
    return int(answer, 16)


def read_bytes(answer: str) -> bytes:
    return bytes.fromhex(answer.removeprefix("0x"))


def read_block(answer: dict[str, Any]) -> Block:
    return Block(
        number=read_quantity(answer["number"]),
        hash=str(answer["hash"]),
        timestamp=read_quantity(answer["timestamp"]),
        base_fee_wei=read_quantity(answer.get("baseFeePerGas") or "0x0"),
    )


def read_sent(answer: dict[str, Any], sender: str) -> dict[int, Sent]:
    return {
        read_quantity(one["nonce"]): Sent(str(one["hash"]), _read_call(one))
        for one in answer["transactions"]
        if one["from"].lower() == sender.lower()
    }


def _read_call(one: dict[str, Any]) -> Call:
    to = None if one["to"] is None else checksum(one["to"].lower())
    return Call(to, read_bytes(one["input"]), read_quantity(one["value"]))


def read_receipt(answer: dict[str, Any]) -> Receipt:
    return Receipt(
        tx_hash=str(answer["transactionHash"]),
        block_number=read_quantity(answer["blockNumber"]),
        block_hash=str(answer["blockHash"]),
        status=read_quantity(answer["status"]),
        gas_used=read_quantity(answer["gasUsed"]),
        effective_gas_price_wei=read_quantity(answer.get("effectiveGasPrice") or "0x0"),
    )


def read_logs(answer: list[dict[str, Any]]) -> list[Log]:
    return [
        Log(
            address=checksum(row["address"].lower()),
            topics=tuple(read_bytes(topic) for topic in row["topics"]),
            data=read_bytes(row["data"]),
            block_number=read_quantity(row["blockNumber"]),
            block_hash=str(row["blockHash"]),
            tx_hash=str(row["transactionHash"]),
            log_index=read_quantity(row["logIndex"]),
        )
        for row in answer
        if not row.get("removed")
    ]


def read_refusal(error: dict[str, Any]) -> NodeRefused:
    code = error.get("code")
    data = error.get("data")
    if isinstance(data, dict):
        data = data.get("data")
    return NodeRefused(
        code if isinstance(code, int) else 0,
        str(error.get("message") or "no reason given"),
        data if isinstance(data, str) and data.startswith("0x") else None,
    )


def lacks_gas_money(refused: NodeRefused) -> bool:
    """Is it the sender's ether that is short, rather than the call that fails?"""
    said = refused.message.lower()
    own = refused.code != 3 and not refused.data and "revert" not in said
    return own and any(word in said for word in _NO_GAS_MONEY)


def as_revert(refused: NodeRefused) -> CallReverted | None:
    """The refusal of a call in words; None when the call itself is not to blame."""
    if lacks_gas_money(refused):
        return None
    said = refused.message.lower()
    if refused.code != 3 and not refused.data and not any(word in said for word in _CALL_FAILS):
        return None
    try:
        data = read_bytes(refused.data or "0x")
    except ValueError:
        data = b""
    return explain(data, refused.message)
