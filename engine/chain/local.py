"""The chain of `muster up`: an anvil of our own with a token and a Treasury on it (Z-01, Z-06).

`ensure` starts it or takes up the one that is running, `stop` ends it, `faucet` and `mine` are for
development. Everything about it lies in `<data_dir>/chain`; removing that folder forgets the chain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from engine.chain import anvil_process
from engine.chain.anvil_process import LocalChainError, Running
from engine.chain.client import Call, Chain
from engine.chain.deploy import OTHER_VERSION, Holders, deploy, send_and_wait
from engine.chain.errors import NodeRefused
from engine.chain.keys import address_of, new_key
from engine.chain.networks import LOCAL_CHAIN_ID
from engine.chain.treasury import Treasury

__all__ = ["LocalChain", "LocalChainError", "ensure", "faucet", "is_local", "mine", "stop"]

LOCK_SECONDS = 60
# An empty block that often; a transaction is mined at once. Below 4 seconds anvil keeps 1,000 to
# 1,500 old states whatever it is told, which is gigabytes after a day.
BLOCK_SECONDS = 4
_HOLDERS = ("owner", "operator", "refunder", "guardian", "minter")


@dataclass(frozen=True)
class LocalChain:
    """A running local chain. The keys are worth nothing anywhere else, and still not shown."""

    data_dir: Path
    rpc_url: str
    port: int
    pid: int
    genesis_hash: str
    usdc_address: str
    treasury_address: str
    operator_address: str
    operator_key: str = field(repr=False)  # the settler
    owner_key: str = field(repr=False)
    refunder_key: str = field(repr=False)
    guardian_key: str = field(repr=False)
    minter_key: str = field(repr=False)
    chain_id: int = LOCAL_CHAIN_ID


def ensure(
    data_dir: Path, port: int | None = None, block_seconds: int = BLOCK_SECONDS
) -> LocalChain:
    """Start the folder's chain, or adopt the running one; deploy what is missing. Idempotent.

    `block_seconds` is the time between empty blocks. `port` matters for a new process only; None
    takes the last one again if it is free. Raises LocalChainError and AnvilMissing.
    """
    folder = _folder(data_dir)
    with _locked(folder, "start.lock"):
        keys = _keys(folder)
        running = _adopt(folder) or anvil_process.start(folder, _port(folder, port), block_seconds)
        holders = Holders(
            owner=address_of(keys["owner"]),
            settler=address_of(keys["operator"]),
            refunder=address_of(keys["refunder"]),
            guardian=address_of(keys["guardian"]),
        )
        contracts = deploy(Chain(running.rpc_url), keys["minter"], holders)
    return LocalChain(
        data_dir=folder.parent,
        rpc_url=running.rpc_url,
        port=running.port,
        pid=running.pid,
        genesis_hash=running.genesis_hash,
        usdc_address=contracts.usdc,
        treasury_address=contracts.treasury,
        operator_address=holders.settler,
        operator_key=keys["operator"],
        owner_key=keys["owner"],
        refunder_key=keys["refunder"],
        guardian_key=keys["guardian"],
        minter_key=keys["minter"],
    )


def stop(data_dir: Path) -> None:
    """Stop it and wait until its state is on disk; nothing happens when none runs."""
    folder = _folder(data_dir)
    with _locked(folder, "start.lock"):
        running = Running.read(folder)
        if running is not None:
            anvil_process.terminate(running, folder)


def faucet(local: LocalChain, address: str, usdc_units: int, wei: int) -> None:
    """Mint USDC and give ETH to an address; answers when both are mined.

    Any number of processes may call it: the minter's account is used by nobody else, one at a time.
    """
    chain = Chain(local.rpc_url)
    treasury = Treasury(chain, local.treasury_address, local.usdc_address)
    calls = []
    if usdc_units:
        calls.append(treasury.mint(address, usdc_units))
    if wei:
        calls.append(Call(address, b"", wei))
    with _locked(_folder(local.data_dir), "faucet.lock"):
        send_and_wait(chain, local.minter_key, calls)


def mine(local: LocalChain | str, blocks: int) -> None:
    """Mine empty blocks now. Takes a LocalChain or the URL of a development node.

    They all carry the present second: blocks go on, the chain's clock does not.
    """
    rpc_url = local if isinstance(local, str) else local.rpc_url
    Chain(rpc_url, timeout_seconds=60).request("anvil_mine", hex(blocks))


def is_local(chain: Chain) -> bool:
    """Is this a development node, where money is play money (Z-06)?"""
    if chain.chain_id() == LOCAL_CHAIN_ID:
        return True
    try:
        return chain.client_version().lower().startswith(("anvil/", "hardhat"))
    except NodeRefused:
        return False


def _adopt(folder: Path) -> Running | None:
    running = Running.read(folder)
    if running is None or not anvil_process.alive(running, folder):
        return None
    if anvil_process.answers_right(running):
        return running
    # Ours, but hung, or never heard of since its start: begin again from what it wrote.
    anvil_process.terminate(running, folder)
    return None


def _port(folder: Path, asked: int | None) -> int:
    if asked is not None:
        if not anvil_process.is_free(asked):
            raise LocalChainError(f"Port {asked} for the local chain is taken. Choose another.")
        return asked
    last = Running.read(folder)
    if last is not None and anvil_process.is_free(last.port):
        return last.port
    return anvil_process.free_port()


def _keys(folder: Path) -> dict[str, str]:
    """A key for each of `_HOLDERS`, made once; never anvil's well-known ones, which all know.

    Raises LocalChainError for the keys of an older version's chain.
    """
    path = folder / "keys.json"
    if not path.exists():
        temporary = folder / "keys.json.new"
        temporary.unlink(missing_ok=True)
        made = {name: new_key()[0] for name in _HOLDERS}
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            json.dump(made, new)
            new.flush()
            os.fsync(new.fileno())
        temporary.replace(path)
    keys: dict[str, str] = json.loads(path.read_text())
    if any(name not in keys for name in _HOLDERS):
        raise LocalChainError(OTHER_VERSION)
    return keys


def _folder(data_dir: Path) -> Path:
    folder = Path(data_dir).resolve() / "chain"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """A file lock among processes and threads, with a sentence when it is not to be had."""
    lock = FileLock(folder / name, timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise LocalChainError(
            f"Another process has held {folder / name} for {LOCK_SECONDS} s."
        ) from None
    try:
        yield
    finally:
        lock.release()
