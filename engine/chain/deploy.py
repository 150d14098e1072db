"""Puts MockUSDC and the Treasury on the local chain, once.

Both are made by the minter, as its first two transactions, so their addresses follow from its key:
whatever was lost in a crash, the same step is done again at the same place.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass

from engine.chain.abi import artifact
from engine.chain.anvil_process import LocalChainError
from engine.chain.client import Call, Chain, Receipt, Transaction
from engine.chain.keys import address_of, contract_address

LOCAL_FEE_BPS = 1000  # 10 %
_GAS = 6_000_000
_RICH_WEI = 10**27
WAIT_SECONDS = 30.0
OTHER_VERSION = (
    "The local chain's Treasury was made by another version of Muster. "
    "Remove the folder chain/ in the data folder to begin a new chain."
)


@dataclass(frozen=True)
class Contracts:
    usdc: str
    treasury: str


@dataclass(frozen=True)
class Holders:
    """Addresses: who owns the Treasury, and who first holds which role."""

    owner: str
    settler: str
    refunder: str
    guardian: str


def deploy(chain: Chain, minter_key: str, holders: Holders) -> Contracts:
    """Make what is missing, and give every holder the ETH that it needs: local only."""
    minter = address_of(minter_key)
    contracts = Contracts(contract_address(minter, 0), contract_address(minter, 1))
    steps = [
        (contracts.usdc, artifact("MockUSDC").creation([minter])),
        (
            contracts.treasury,
            artifact("Treasury").creation(
                [
                    contracts.usdc,
                    holders.owner,
                    LOCAL_FEE_BPS,
                    holders.settler,
                    holders.refunder,
                    holders.guardian,
                ]
            ),
        ),
    ]
    for nonce, (address, creation) in enumerate(steps):
        if chain.code(address):
            continue
        for account in (minter, *astuple(holders)):
            chain.request("anvil_setBalance", account, hex(_RICH_WEI))
        if chain.nonce(minter) != nonce:
            raise LocalChainError(
                "The local chain's contracts are gone but its accounts are not. "
                "Remove the folder chain/ in the data folder to begin a new chain."
            )
        send_and_wait(chain, minter_key, [Call(None, creation)], gas=_GAS)
    _check_version(chain, contracts.treasury, steps[-1][1])
    return contracts


def _check_version(chain: Chain, address: str, creation: bytes) -> None:
    """Is the Treasury there the one that this version speaks to?

    A creation that is called answers the code it would leave behind.
    """
    if _program(chain.call(Call(None, creation))) != _program(chain.code(address)):
        raise LocalChainError(OTHER_VERSION)


def _program(code: bytes) -> bytes:
    """Code without the compiler's note at its end, which changes with every comment."""
    note = int.from_bytes(code[-2:], "big") + 2
    return code[:-note]


def send_and_wait(
    chain: Chain, private_key: str, calls: list[Call], gas: int = 200_000
) -> list[Receipt]:
    """Send from an account that nobody else uses meanwhile, and wait until all are mined.

    For the local chain only: the engine's own money goes through `sender`.
    """
    nonce = chain.nonce(address_of(private_key), "pending")
    max_fee, priority = chain.fees()
    hashes = []
    for place, call in enumerate(calls):
        fields = Transaction(chain.chain_id(), nonce + place, call, gas, max_fee, priority)
        tx_hash, raw = chain.sign(private_key, fields)
        answer = chain.broadcast(raw)
        if answer.error is not None:
            raise LocalChainError(f"The local chain refused a transaction: {answer.error}")
        hashes.append(tx_hash)
    receipts = [_wait(chain, tx_hash) for tx_hash in hashes]
    if any(receipt.status != 1 for receipt in receipts):
        raise LocalChainError("A transaction on the local chain was mined but failed.")
    return receipts


def _wait(chain: Chain, tx_hash: str) -> Receipt:
    until = time.monotonic() + WAIT_SECONDS
    pause = 0.002
    while time.monotonic() < until:
        receipt = chain.receipt(tx_hash)
        if receipt is not None:
            return receipt
        time.sleep(pause)
        pause = min(0.1, pause * 2)
    raise LocalChainError(f"The local chain did not mine {tx_hash} in {WAIT_SECONDS:.0f} s.")
