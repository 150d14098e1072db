"""A chain of an example's own that mines only when told, and what a hand can do to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, Transaction, address_of, new_key
from engine.chain.deploy import Holders, deploy
from engine.chain.local import LocalChain
from engine.chain.treasury import Treasury
from tests.chain.sending import anvil_without_miner

GWEI = 10**9
# Offered for being the first of a block, before whatever waits.
FIRST_GWEI = 400
RICH_WEI = 10**24
GAS = 900_000
NOWHERE = "0x" + "ab" * 20
MONTH_SECONDS = 31 * 86_400


class Node:
    """The levers of anvil, and the keys that no server holds."""

    def __init__(self, local: LocalChain) -> None:
        self.local = local
        self.chain = Chain(local.rpc_url, timeout_seconds=60)
        self.treasury = Treasury(self.chain, local.treasury_address, local.usdc_address)
        self.operator = address_of(local.operator_key)
        self.refunder = address_of(local.refunder_key)
        # No reorg goes below this block.
        self.floor = 0
        # What was sent by hand, by its hash, to be sent again after a reorg.
        self.raws: dict[str, str] = {}

    # -- blocks -----------------------------------------------------------------------------

    def head(self) -> int:
        return self.chain.block_number()

    def automine(self, on: bool) -> None:
        self.chain.request("evm_setAutomine", on)

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.request("evm_mine")

    def settle_floor(self) -> None:
        """What is there now stays for good."""
        self.mine(12)
        self.floor = self.head()

    def reorg(self, depth: int) -> list[str]:
        """The newest blocks are replaced by empty ones, and one more; answers what they had."""
        head = self.head()
        depth = min(depth, head - self.floor)
        if depth <= 0:
            return []
        lost: list[str] = []
        for number in range(head - depth + 1, head + 1):
            lost += self.chain.request("eth_getBlockByNumber", hex(number), False)["transactions"]
        self.chain.request("anvil_reorg", depth, [])
        # Until the next block anvil goes on counting what it has lost as pending.
        self.mine()
        return lost

    # -- the pool ---------------------------------------------------------------------------

    def mined_nonce(self, address: str) -> int:
        return self.chain.nonce(address)

    def drop(self, tx_hash: str) -> None:
        self.chain.request("anvil_dropTransaction", tx_hash)

    def by_hand(self, private_key: str, call: Call, nonce: int | None, gwei: int) -> str | None:
        """Sign and send; None when the pool would rather keep what it has."""
        if nonce is None:
            nonce = self.chain.nonce(address_of(private_key), "pending")
        fields = Transaction(self.chain.chain_id(), nonce, call, GAS, gwei * GWEI, gwei * GWEI)
        tx_hash, raw = self.chain.sign(private_key, fields)
        if self.chain.broadcast(raw).error is not None:
            return None
        self.raws[tx_hash] = raw
        return tx_hash

    def push(self, private_key: str, call: Call) -> bool:
        """Mined at once, before what waits in the pool; did it succeed?"""
        self.set_ether(address_of(private_key), RICH_WEI)
        # Behind what a reorg has put back into the pool.
        tx_hash = self.by_hand(private_key, call, None, FIRST_GWEI)
        assert tx_hash is not None
        for _ in range(3):
            self.mine()
            receipt = self.chain.receipt(tx_hash)
            if receipt is not None:
                return receipt.status == 1
        raise AssertionError(f"{call} is not mined")

    def set_ether(self, address: str, wei: int) -> None:
        self.chain.request("anvil_setBalance", address, hex(wei))

    # -- the contracts ----------------------------------------------------------------------

    def token(self, function: str, *values: object) -> None:
        """A function of the token, by its owner."""
        data = artifact("MockUSDC").encode(function, values)
        assert self.push(self.local.minter_key, Call(self.local.usdc_address, data))

    def token_says(self, function: str, *values: object) -> Any:
        usdc = artifact("MockUSDC")
        answer = self.chain.call(Call(self.local.usdc_address, usdc.encode(function, values)))
        return usdc.decode(function, answer)

    def treasury_call(self, function: str, *values: object) -> Call:
        data = artifact("Treasury").encode(function, values)
        return Call(self.local.treasury_address, data)

    def is_paused(self) -> bool:
        return self.chain.block().timestamp < self.treasury.paused_until()

    def pause(self) -> None:
        """By the guardian; time goes by first if he paused a short while ago."""
        if self.is_paused():
            return
        if self.treasury.paused_until():
            self.chain.request("evm_increaseTime", MONTH_SECONDS)
            self.mine()
        assert self.push(self.local.guardian_key, self.treasury_call("pause"))

    def resume(self) -> None:
        if self.is_paused():
            assert self.push(self.local.guardian_key, self.treasury_call("resume"))

    def set_fee(self, bps: int) -> None:
        assert self.push(self.local.owner_key, self.treasury_call("setFeeBps", bps))

    def withdraw_fees(self, part: int) -> None:
        due = self.treasury.fees_due_units() + self.treasury.residue_due_units()
        units = due // part
        if units:
            self.push(self.local.owner_key, self.treasury.withdraw_fees(NOWHERE, units))

    def gift(self, units: int) -> None:
        mint = self.treasury.mint(self.local.treasury_address, units)
        self.push(self.local.minter_key, mint)


@contextmanager
def node() -> Iterator[Node]:
    """A fresh chain with the contracts on it; mines by itself until told not to."""
    with anvil_without_miner() as url:
        chain = Chain(url, timeout_seconds=60)
        chain.request("evm_setAutomine", True)
        keys = {
            name: new_key()[0] for name in ("minter", "owner", "operator", "refunder", "guardian")
        }
        holders = Holders(
            owner=address_of(keys["owner"]),
            settler=address_of(keys["operator"]),
            refunder=address_of(keys["refunder"]),
            guardian=address_of(keys["guardian"]),
        )
        contracts = deploy(chain, keys["minter"], holders)
        yield Node(
            LocalChain(
                data_dir=Path(),
                rpc_url=url,
                port=0,
                pid=0,
                genesis_hash=chain.block(0).hash,
                usdc_address=contracts.usdc,
                treasury_address=contracts.treasury,
                operator_address=holders.settler,
                operator_key=keys["operator"],
                owner_key=keys["owner"],
                refunder_key=keys["refunder"],
                guardian_key=keys["guardian"],
                minter_key=keys["minter"],
            )
        )
