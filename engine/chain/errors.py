"""What can go wrong between us and a chain."""

from __future__ import annotations

from collections.abc import Mapping


class ChainUnavailable(Exception):
    """The node could not be reached, was too slow, or answered something unusable.

    Nothing is known about what happened on the chain: ask again later, assume neither way.
    """


class NodeRefused(ChainUnavailable):
    """The node answered with a JSON-RPC error instead of a result.

    `code` and `message` are the node's own; `data` is a revert's return data as 0x hex, or None.
    """

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"The chain node refused: {self.message} ({self.code})."


class OutOfGas(ChainUnavailable):
    """The signer's ether does not pay for the transaction. Nothing was stored and nothing sent.

    It goes away by itself once the address is filled up, so whoever waits for the chain waits on.
    """


class FeesTooHigh(ChainUnavailable):
    """Gas costs more now than the install is set to pay. Nothing was stored and nothing sent."""


class CallReverted(Exception):
    """The contract, or the node on its behalf, said no to a call.

    `reason` is a sentence to show; `name` the custom error's name, None for a plain string;
    `values` its arguments by name (integers, EIP-55 addresses, 0x hex; a token's nested reason as
    text), so that a caller can find the `index` or `payoutId` of a bad item (Y-04).
    """

    def __init__(
        self, reason: str, name: str | None = None, values: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(reason, name, dict(values or {}))
        self.reason = reason
        self.name = name
        self.values: dict[str, object] = dict(values or {})

    def __str__(self) -> str:
        return self.reason
