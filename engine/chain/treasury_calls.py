"""The two contracts, asked and called by function name. What they mean stands in `treasury`."""

from __future__ import annotations

from typing import Any

from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, checksum
from engine.chain.errors import ChainUnavailable


class TreasuryCalls:
    """One Treasury and its token, on one chain. Stateless; share it among threads."""

    def __init__(self, chain: Chain, treasury_address: str, usdc_address: str) -> None:
        self.chain = chain
        self.address = checksum(treasury_address)
        self.usdc_address = checksum(usdc_address)

    def _call(self, function: str, *values: Any) -> Call:
        return Call(self.address, artifact("Treasury").encode(function, values))

    def _usdc_call(self, function: str, *values: Any) -> Call:
        return Call(self.usdc_address, artifact("MockUSDC").encode(function, values))

    def _ask(self, function: str, *values: Any, block: int | None) -> Any:
        return self._row(function, *values, block=block)[0]

    def _row(self, function: str, *values: Any, block: int | None) -> tuple[Any, ...]:
        return self._answer("Treasury", function, self._call(function, *values), block)

    def _ask_usdc(self, function: str, *values: Any, block: int | None) -> Any:
        return self._answer("MockUSDC", function, self._usdc_call(function, *values), block)[0]

    def _answer(
        self, contract: str, function: str, call: Call, block: int | None
    ) -> tuple[Any, ...]:
        answer = self.chain.call(call, block=block)
        try:
            return artifact(contract).decode(function, answer)
        except ValueError:
            raise ChainUnavailable(
                f"There is no {contract.removeprefix('Mock')} contract at {call.to} on this chain."
            ) from None
