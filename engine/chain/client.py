"""One chain node over HTTP: typed, thin, thread safe.

web3's HTTP provider carries the requests; its formatters and middleware are left out, since we
read plain quantities and they cost more than the request. It is imported on first use.

Every failure between us and the node is ChainUnavailable. Nothing is sent twice by this file:
web3's own retries are off, because a transaction repeated after a lost answer comes back as
"nonce too low" although the first one was mined.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from engine.chain.answers import (
    Block,
    BlockId,
    Broadcast,
    Log,
    Receipt,
    Sent,
    as_revert,
    block_id,
    call_fields,
    lacks_gas_money,
    read_block,
    read_bytes,
    read_logs,
    read_quantity,
    read_receipt,
    read_refusal,
    read_sent,
)
from engine.chain.errors import ChainUnavailable, NodeRefused, OutOfGas
from engine.chain.keys import Call, Transaction, address_of, checksum, new_key, sign

if TYPE_CHECKING:
    from web3 import HTTPProvider

__all__ = [
    "Block",
    "Broadcast",
    "Call",
    "Chain",
    "Log",
    "Receipt",
    "Transaction",
    "address_of",
    "checksum",
    "new_key",
]

T = TypeVar("T")

LOG_RANGE = 2_000  # blocks per eth_getLogs; public nodes refuse more
POOL = 64  # kept connections, so that many threads do not wait for each other


class Chain:
    """A node. Make one per process and share it among threads."""

    def __init__(self, rpc_url: str, timeout_seconds: float = 5) -> None:
        self.rpc_url = rpc_url
        self.timeout_seconds = timeout_seconds
        # Messages name the host only: keys of hosted nodes are part of the path.
        self.host = urlsplit(rpc_url).hostname or "?"
        self._lock = threading.Lock()
        self._connected: tuple[int, HTTPProvider] | None = None
        self._chain_id: int | None = None

    # ------------------------------------------------------------ the chain

    def chain_id(self) -> int:
        """Asked once, then remembered."""
        if self._chain_id is None:
            self._chain_id = self._quantity("eth_chainId")
        return self._chain_id

    def client_version(self) -> str:
        return str(self.request("web3_clientVersion"))

    def block_number(self) -> int:
        return self._quantity("eth_blockNumber")

    def block(self, which: BlockId = "latest") -> Block:
        """A block by number or tag. One that the node does not have is ChainUnavailable."""
        answer = self.request("eth_getBlockByNumber", block_id(which), False)
        if answer is None:
            raise ChainUnavailable(f"The chain node at {self.host} has no block {which}.")
        return self._read(partial(read_block, answer))

    def eth_balance_wei(self, address: str, block: BlockId | None = None) -> int:
        return self._quantity("eth_getBalance", checksum(address), block_id(block))

    def nonce(self, address: str, block: BlockId = "latest") -> int:
        """How many transactions of this address are mined (or, with "pending", known)."""
        return self._quantity("eth_getTransactionCount", checksum(address), block_id(block))

    def code(self, address: str) -> bytes:
        answer = self.request("eth_getCode", checksum(address), "latest")
        return self._read(partial(read_bytes, answer))

    def fees(self) -> tuple[int, int]:
        """(max_fee_per_gas_wei, priority_fee_wei): room for the base fee to double."""
        base = self.block("latest").base_fee_wei
        try:
            priority = self._quantity("eth_maxPriorityFeePerGas")
        except NodeRefused:
            # An older method that every node has; it includes the base fee.
            priority = max(0, self._quantity("eth_gasPrice") - base)
        return 2 * base + priority, priority

    # ------------------------------------------------------------ calls

    def call(
        self,
        call: Call,
        sender: str | None = None,
        block: BlockId | None = None,
        gas: int | None = None,
    ) -> bytes:
        """Run a call without sending it. Raises CallReverted with the reason.

        A node that no longer keeps that block's state answers ChainUnavailable.
        """
        fields = call_fields(call, sender)
        if gas is not None:
            fields["gas"] = hex(gas)
        answer = self._reverting("eth_call", fields, block_id(block))
        return self._read(partial(read_bytes, answer))

    def estimate_gas(self, sender: str, call: Call) -> int:
        """Gas that the call would use now. Raises CallReverted, at no cost, when it would fail.

        OutOfGas when the node says that the sender could not pay for it.
        """
        answer = self._reverting("eth_estimateGas", call_fields(call, sender))
        return self._read(partial(read_quantity, answer))

    # ------------------------------------------------------------ transactions

    def sign(self, private_key: str, transaction: Transaction) -> tuple[str, str]:
        """(transaction hash, raw transaction), both 0x hex. Sends nothing."""
        return sign(private_key, transaction)

    def broadcast(self, raw_hex: str) -> Broadcast:
        """Hand a signed transaction to the node. ChainUnavailable: it may or may not have it."""
        try:
            return Broadcast(str(self.request("eth_sendRawTransaction", raw_hex)), None)
        except NodeRefused as refused:
            return Broadcast(None, refused.message)

    def receipt(self, tx_hash: str) -> Receipt | None:
        """None while it is not mined (or no longer, after a reorg)."""
        answer = self.request("eth_getTransactionReceipt", tx_hash)
        if answer is None:
            return None
        return self._read(partial(read_receipt, answer))

    def transaction_known(self, tx_hash: str) -> bool:
        """True when the node has it, waiting or mined."""
        return self.request("eth_getTransactionByHash", tx_hash) is not None

    def sent_in(self, block: int, sender: str) -> dict[int, Sent]:
        """The transactions of `sender` in a block, by nonce."""
        answer = self.request("eth_getBlockByNumber", hex(block), True)
        if answer is None:
            raise ChainUnavailable(f"The chain node at {self.host} has no block {block}.")
        return self._read(partial(read_sent, answer, sender))

    def logs(
        self,
        address: str,
        from_block: int,
        to_block: int,
        topics: Sequence[str | None] | None = None,
    ) -> list[Log]:
        """Every log of a contract in these blocks, both ends included, in order.

        With `topics` only those that carry them (0x hex), None standing for any.
        Ask only for blocks that are known to exist: behind a load balancer a node that lags
        answers an empty list for blocks it has not seen.
        """
        found: list[Log] = []
        for start in range(from_block, to_block + 1, LOG_RANGE):
            end = min(start + LOG_RANGE - 1, to_block)
            where: dict[str, Any] = {
                "address": checksum(address),
                "fromBlock": hex(start),
                "toBlock": hex(end),
            }
            if topics is not None:
                where["topics"] = list(topics)
            rows = self.request("eth_getLogs", where)
            found += self._read(partial(read_logs, rows))
        return sorted(found, key=lambda log: (log.block_number, log.log_index))

    # ------------------------------------------------------------ the wire

    def request(self, method: str, *params: Any) -> Any:
        """One JSON-RPC call. NodeRefused (a ChainUnavailable) for the node's own errors."""
        from web3.types import RPCEndpoint

        provider = self._provider()
        try:
            answer: Any = provider.make_request(RPCEndpoint(method), list(params))
        except (OSError, ValueError) as error:
            # requests' errors are OSErrors, unreadable JSON is a ValueError. Their text holds the
            # whole URL, so only the kind is told and the cause is cut off.
            raise self._unavailable(method, type(error).__name__) from None
        if isinstance(answer, dict):
            if isinstance(answer.get("error"), dict):
                raise read_refusal(answer["error"])
            if "result" in answer:
                return answer["result"]
        raise self._unavailable(method, "not a JSON-RPC answer")

    def _reverting(self, method: str, *params: Any) -> Any:
        try:
            return self.request(method, *params)
        except NodeRefused as refused:
            if lacks_gas_money(refused):
                raise OutOfGas(refused.message) from None
            reverted = as_revert(refused)
            if reverted is None:
                raise
            raise reverted from None

    def _quantity(self, method: str, *params: Any) -> int:
        answer = self.request(method, *params)
        return self._read(partial(read_quantity, answer))

    def _read(self, reader: Callable[[], T]) -> T:
        try:
            return reader()
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ChainUnavailable(
                f"The chain node at {self.host} gave an answer that makes no sense."
            ) from None

    def _unavailable(self, method: str, why: str) -> ChainUnavailable:
        return ChainUnavailable(f"The chain node at {self.host} did not answer {method}: {why}.")

    def _provider(self) -> HTTPProvider:
        # A forked child must not share its parent's sockets: they would read each other's answers.
        connected = self._connected
        if connected is not None and connected[0] == os.getpid():
            return connected[1]
        with self._lock:
            connected = self._connected
            if connected is None or connected[0] != os.getpid():
                connected = (os.getpid(), _connect(self.rpc_url, self.timeout_seconds))
                self._connected = connected
        return connected[1]


def _connect(rpc_url: str, timeout_seconds: float) -> HTTPProvider:
    import requests
    from requests.adapters import HTTPAdapter
    from web3 import HTTPProvider

    session = requests.Session()
    # No proxy to reach ourselves, whatever the environment says.
    session.trust_env = urlsplit(rpc_url).hostname not in ("127.0.0.1", "localhost", "::1")
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=POOL, max_retries=0))
    return HTTPProvider(
        rpc_url,
        request_kwargs={"timeout": timeout_seconds},
        session=session,
        exception_retry_configuration=None,
    )
