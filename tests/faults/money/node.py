"""What a test does to the chain past Muster: blocks, the pool, the contracts' owners."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, Receipt, Transaction, address_of
from engine.chain.local import LocalChain
from engine.chain.treasury import Treasury, TreasuryEvent
from tests.world import eventually

FOR_EVER_SECONDS = 1_000_000
GWEI = 10**9
# What is offered for being the first of a block.
FIRST_GWEI = 400


class Node:
    """Anvil's levers, and the contracts' roles that no server holds."""

    def __init__(self, chain: LocalChain) -> None:
        self.local = chain
        self.chain = Chain(chain.rpc_url, timeout_seconds=60)
        self.treasury = Treasury(self.chain, chain.treasury_address, chain.usdc_address)
        self.operator = address_of(chain.operator_key)

    # -- blocks -----------------------------------------------------------------------------

    def mine(self, blocks: int = 1) -> None:
        """One after another, each with what waits in the pool."""
        for _ in range(blocks):
            self.chain.request("evm_mine")

    @contextmanager
    def not_mining(self) -> Iterator[None]:
        """What is sent meanwhile waits in the pool, until it is mined by hand or after this."""
        self.chain.request("evm_setIntervalMining", FOR_EVER_SECONDS)
        try:
            yield
        finally:
            self.chain.request("evm_setAutomine", True)

    def reorg(self, blocks: int) -> None:
        """The newest blocks are replaced by as many that are empty; the pool forgets as well."""
        self.chain.request("anvil_reorg", blocks, [])

    def head(self) -> int:
        return self.chain.block_number()

    # -- the pool ---------------------------------------------------------------------------

    def drop(self, tx_hash: str) -> None:
        self.chain.request("anvil_dropTransaction", tx_hash)

    def known(self, tx_hash: str) -> bool:
        """It waits or is mined."""
        return self.chain.transaction_known(tx_hash)

    def waits(self, tx_hash: str) -> bool:
        """It is in the pool, and in no block."""
        return self.known(tx_hash) and self.chain.receipt(tx_hash) is None

    def by_hand(
        self, nonce: int | None = None, call: Call | None = None, gwei: int = 60, gas: int = 600_000
    ) -> str:
        """A transaction from the operator's key that Muster knows nothing of; answers its hash.

        By default a transfer of nothing to himself, behind all that waits.
        """
        if nonce is None:
            nonce = self.chain.nonce(self.operator, "pending")
        fields = Transaction(
            self.chain.chain_id(), nonce, call or Call(self.operator), gas, gwei * GWEI, gwei * GWEI
        )
        tx_hash, raw = self.chain.sign(self.local.operator_key, fields)
        assert self.chain.broadcast(raw).error is None
        return tx_hash

    def receipt(self, tx_hash: str) -> Receipt:
        # A node that mines again has what it mines of the pool a moment later.
        what = f"{tx_hash} is mined"
        found: Receipt = eventually(lambda: self.chain.receipt(tx_hash), 20, what)
        return found

    def set_ether(self, address: str, wei: int) -> None:
        self.chain.request("anvil_setBalance", address, hex(wei))

    # -- the contracts ----------------------------------------------------------------------

    # Each of these is mined at once, before all that waits in the pool, which comes in behind it.

    def token(self, function: str, *values: object) -> None:
        """A function of the token, by its owner."""
        data = artifact("MockUSDC").encode(function, values)
        self._push(self.local.minter_key, Call(self.local.usdc_address, data))

    def owner(self, function: str, *values: object) -> None:
        """A function of the Treasury, by its owner."""
        self._push(self.local.owner_key, self._treasury(function, *values))

    def guardian(self, function: str, *values: object) -> None:
        self._push(self.local.guardian_key, self._treasury(function, *values))

    def empty(self, *addresses: str) -> None:
        """Their USDC goes elsewhere."""
        somewhere = "0x" + "ab" * 20
        for address in addresses:
            call = self.treasury.transfer_usdc(somewhere, self.treasury.usdc_units(address))
            self.set_ether(address, 10**20)
            self.chain.request("anvil_impersonateAccount", address)
            fee = hex(FIRST_GWEI * GWEI)
            fields = {"from": address, "to": call.to, "data": "0x" + call.data.hex()}
            more = {"maxFeePerGas": fee, "maxPriorityFeePerGas": fee, "gas": hex(200_000)}
            self.chain.request("eth_sendTransaction", fields | more)
        self.mine()

    def _treasury(self, function: str, *values: object) -> Call:
        data = artifact("Treasury").encode(function, values)
        return Call(self.local.treasury_address, data)

    def _push(self, private_key: str, call: Call) -> None:
        fee = FIRST_GWEI * GWEI
        nonce = self.chain.nonce(address_of(private_key), "pending")
        fields = Transaction(self.chain.chain_id(), nonce, call, 300_000, fee, fee)
        tx_hash, raw = self.chain.sign(private_key, fields)
        answer = self.chain.broadcast(raw)
        assert answer.error is None, answer
        self.mine()
        assert self.receipt(tx_hash).status == 1, call

    def events(self, kind: type[TreasuryEvent]) -> list[TreasuryEvent]:
        """All of this kind that the chain has now."""
        found = self.treasury.events(0, self.head())
        return [event for event in found if isinstance(event, kind)]
