"""What only a development install may do: give out test money and mine blocks (Z-06)."""

from __future__ import annotations

import time

from engine import install
from engine.chain import local, sender
from engine.chain.client import Call, Chain, Receipt, address_of
from engine.chain.errors import CallReverted, ChainUnavailable
from engine.errors import Refused, SettingsError
from engine.ids import new_id

WAIT_SECONDS = 30
PAUSE_SECONDS = 0.05


def require_local() -> None:
    """A chain that is not local is never touched; without a chain there is only the clock."""
    chain = install.current().chain
    if chain is not None and not local.is_local(chain):
        raise Refused("not_local", "The chain of this install is not a local one.")


def check_stage() -> None:
    """Stop a development install on a real chain at its start; one that is away is asked later."""
    try:
        require_local()
    except Refused as refusal:
        raise SettingsError(
            "MUSTER_STAGE is dev, but the chain at MUSTER_CHAIN_RPC_URL is not a local one."
        ) from refusal
    except ChainUnavailable:
        return


def _chain() -> Chain:
    chain = install.current().chain
    if chain is None:
        raise Refused("chain_not_configured", "This install is connected to no chain.")
    return chain


def faucet(address: str, usdc_units: int, wei: int) -> None:
    """Add USDC and ether to an address; back once both are mined.

    409 `faucet_refused` when the token, or a contract at that address, does not take it.
    """
    chain = _chain()
    private_key = install.current().settings.FAUCET_KEY
    if not private_key:
        raise Refused("no_faucet_key", "This install has no faucet. Set MUSTER_FAUCET_KEY.")
    key = sender.Key(address_of(private_key), private_key)
    calls = []
    if usdc_units:
        calls.append(install.treasury().mint(address, usdc_units))
    if wei:
        calls.append(Call(address, b"", wei))
    try:
        # Each is tried before the first is sent.
        for call in calls:
            chain.estimate_gas(key.address, call)
        sent = [
            sender.send(chain, key, f"faucet:{new_id('TRY')}", call, lambda _: None)
            for call in calls
        ]
    except CallReverted as error:
        raise _refused(address, error.reason) from error
    for row in sent:
        if _mined(chain, sender.hash_of(row)).status != 1:
            raise _refused(address, "it was mined, and failed.")


def _refused(address: str, why: str) -> Refused:
    return Refused("faucet_refused", f"{address} cannot be given this: {why} Name another address.")


def _mined(chain: Chain, tx_hash: str) -> Receipt:
    until = time.monotonic() + WAIT_SECONDS
    while (receipt := chain.receipt(tx_hash)) is None:
        if time.monotonic() > until:
            raise ChainUnavailable(f"The chain did not mine {tx_hash} in {WAIT_SECONDS} s.")
        time.sleep(PAUSE_SECONDS)
    return receipt


def mine(blocks: int) -> int:
    """Mine blocks at once; answers the newest block's number."""
    chain = _chain()
    local.mine(chain.rpc_url, blocks)
    return chain.block_number()
