"""The chain of `muster up`: one per data folder, kept over restarts and crashes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.chain import anvil_process, local
from engine.chain.abi import artifact
from engine.chain.anvil import find_anvil
from engine.chain.anvil_process import Running
from engine.chain.client import Call, Chain, address_of, checksum, new_key
from engine.chain.deploy import send_and_wait
from engine.chain.keys import contract_address
from engine.chain.local import LocalChainError
from engine.chain.treasury import Treasury

# anvil's first well-known account.
EVERYBODYS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    find_anvil()
    yield tmp_path
    local.stop(tmp_path)


def treasury_of(made: local.LocalChain) -> Treasury:
    return Treasury(Chain(made.rpc_url), made.treasury_address, made.usdc_address)


def kill(made: local.LocalChain) -> None:
    running = Running.read(made.data_dir / "chain")
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while anvil_process.alive(running, made.data_dir / "chain") and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.rule("Z-01")
def test_it_comes_up_in_seconds_with_a_treasury_that_the_operator_runs(folder: Path) -> None:
    began = time.monotonic()
    made = local.ensure(folder)
    assert time.monotonic() - began < 3
    treasury = treasury_of(made)
    assert treasury.fee_bps() == 1000
    assert treasury.accounted_units() == 0
    assert made.operator_address == address_of(made.operator_key) != EVERYBODYS
    assert treasury.chain.eth_balance_wei(made.operator_address) > 10**18
    assert made.rpc_url.startswith("http://127.0.0.1:")
    assert stat.S_IMODE((folder / "chain" / "keys.json").stat().st_mode) == 0o600
    keys = [made.owner_key, made.operator_key, made.refunder_key, made.guardian_key]
    keys.append(made.minter_key)
    assert len(set(keys)) == 5
    assert not any(key in repr(made) for key in keys)


def test_each_role_of_the_local_chain_has_a_key_of_its_own_with_gas(folder: Path) -> None:
    made = local.ensure(folder)
    treasury = treasury_of(made)
    for role, key in enumerate((made.operator_key, made.refunder_key, made.guardian_key)):
        held = [treasury._ask("hasRole", one, address_of(key), block=None) for one in range(3)]
        assert held == [one == role for one in range(3)]
        assert treasury.chain.eth_balance_wei(address_of(key)) > 10**18
    assert address_of(made.owner_key) == checksum(treasury._ask("owner", block=None))


def test_a_chain_with_an_older_versions_keys_is_said_in_a_sentence(folder: Path) -> None:
    keys = folder / "chain" / "keys.json"
    keys.parent.mkdir()
    keys.write_text(json.dumps({"operator": new_key()[0], "minter": new_key()[0]}))
    with pytest.raises(LocalChainError, match="made by another version of Muster"):
        local.ensure(folder)


@pytest.mark.rule("Z-01")
def test_a_second_start_takes_up_the_running_one(folder: Path) -> None:
    first = local.ensure(folder)
    assert local.ensure(folder) == first


@pytest.mark.rule("Z-01")
def test_a_restart_keeps_money_code_nonces_blocks_and_logs(folder: Path) -> None:
    first = local.ensure(folder)
    treasury, bob = treasury_of(first), new_key()[1]
    local.faucet(first, first.operator_address, 9_000_000, 0)
    local.faucet(first, bob, 5_000_000, 10**18)
    calls = [treasury.approve(9_000_000), treasury.deposit("GIG_a", 4_000_000)]
    deposited = send_and_wait(treasury.chain, first.operator_key, calls)[-1]
    nonce = treasury.chain.nonce(first.operator_address)
    height = treasury.chain.block_number()
    told = treasury.events(0, height)
    local.stop(folder)

    second = local.ensure(folder)
    assert second.pid != first.pid
    assert second.genesis_hash == first.genesis_hash
    assert second.treasury_address == first.treasury_address
    treasury = treasury_of(second)
    assert treasury.usdc_units(bob) == 5_000_000
    assert treasury.chain.eth_balance_wei(bob) == 10**18
    assert treasury.pot_units("GIG_a") == 4_000_000
    assert treasury.chain.nonce(second.operator_address) == nonce
    assert treasury.chain.block_number() >= height
    assert treasury.events(0, height) == told
    assert treasury.chain.receipt(deposited.tx_hash) == deposited
    assert treasury.chain.block(deposited.block_number).hash == deposited.block_hash
    local.mine(second, 3)
    assert treasury.chain.block_number() >= height + 3


def test_two_starts_at_once_make_one_chain(folder: Path) -> None:
    code = "import sys; from pathlib import Path; from engine.chain import local; "
    code += "print(local.ensure(Path(sys.argv[1])).pid)"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    pids = {process.communicate(timeout=30)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert pids == {str(local.ensure(folder).pid)}


def test_a_killed_chain_comes_back_with_what_it_had_written(folder: Path) -> None:
    first = local.ensure(folder)
    bob = new_key()[1]
    local.faucet(first, bob, 1, 0)
    local.stop(folder)
    kill(local.ensure(folder))
    second = local.ensure(folder)
    assert second.genesis_hash == first.genesis_hash
    assert treasury_of(second).usdc_units(bob) == 1


def test_a_chain_killed_before_it_wrote_anything_is_made_anew_at_the_same_addresses(
    folder: Path,
) -> None:
    first = local.ensure(folder)
    bob = new_key()[1]
    local.faucet(first, bob, 1, 0)
    kill(first)
    second = local.ensure(folder)
    assert treasury_of(second).usdc_units(bob) == 0
    assert second.treasury_address == first.treasury_address
    assert treasury_of(second).fee_bps() == 1000


def test_a_state_file_cut_in_half_gives_way_to_the_last_starts_copy(folder: Path) -> None:
    first = local.ensure(folder)
    bob = new_key()[1]
    local.faucet(first, bob, 1, 0)
    local.stop(folder)
    kill(local.ensure(folder))
    state = folder / "chain" / "state.json"
    text = state.read_text()
    state.write_text(text[: len(text) // 2].rstrip("}"))
    second = local.ensure(folder)
    assert second.genesis_hash == first.genesis_hash
    assert treasury_of(second).usdc_units(bob) == 1
    assert (folder / "chain" / "state.broken.json").exists()


def test_a_crash_between_the_two_deployments_is_finished_by_the_next_start(folder: Path) -> None:
    inside = folder / "chain"
    inside.mkdir()
    minter_key = local._keys(inside)["minter"]
    minter = address_of(minter_key)
    running = anvil_process.start(inside, anvil_process.free_port(), 4)
    chain = Chain(running.rpc_url)
    chain.request("anvil_setBalance", minter, hex(10**24))
    token = Call(None, artifact("MockUSDC").creation([minter]))
    send_and_wait(chain, minter_key, [token], gas=4_000_000)

    made = local.ensure(folder)
    assert made.pid == running.pid
    assert made.usdc_address == contract_address(minter, 0)
    assert treasury_of(made).fee_bps() == 1000
    assert local.ensure(folder) == made


def test_a_treasury_of_another_version_is_said_in_a_sentence(folder: Path) -> None:
    made = local.ensure(folder)
    Chain(made.rpc_url).request("anvil_setCode", made.treasury_address, "0x5f5ff30000")
    with pytest.raises(LocalChainError, match="made by another version of Muster"):
        local.ensure(folder)


def test_a_process_id_that_was_given_to_somebody_else_is_left_alone(folder: Path) -> None:
    first = local.ensure(folder)
    local.stop(folder)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        record = folder / "chain" / "chain.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "pid": other.pid}))
        local.stop(folder)
        second = local.ensure(folder)
        assert second.pid != other.pid
        assert second.genesis_hash == first.genesis_hash
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_chain_of_ours_that_nobody_heard_of_since_its_start_is_begun_again(folder: Path) -> None:
    first = local.ensure(folder)
    record = folder / "chain" / "chain.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "genesis_hash": ""}))
    second = local.ensure(folder)
    assert second.pid != first.pid
    assert second.genesis_hash == first.genesis_hash


def test_a_port_in_use_is_said_in_a_sentence(folder: Path, running: local.LocalChain) -> None:
    with pytest.raises(LocalChainError, match=f"Port {running.port} for the local chain is taken"):
        local.ensure(folder, port=running.port)


@pytest.mark.rule("Z-06")
def test_the_faucet_serves_processes_and_threads_at_once(
    running: local.LocalChain, tmp_path: Path
) -> None:
    bob = new_key()[1]
    code = "import sys; from pathlib import Path; from engine.chain import local; "
    code += "made = local.ensure(Path(sys.argv[1])); "
    code += "[local.faucet(made, sys.argv[2], 1, 10) for _ in range(5)]"
    arguments = [sys.executable, "-c", code, str(running.data_dir), bob]
    others = [subprocess.Popen(arguments) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: local.faucet(running, bob, 1, 10), range(10)))
    assert [process.wait(30) for process in others] == [0, 0]
    treasury = treasury_of(running)
    assert treasury.usdc_units(bob) == 20
    assert treasury.chain.eth_balance_wei(bob) == 200
    # The operator's own place in line is untouched.
    assert treasury.chain.nonce(running.operator_address) == 0


@pytest.mark.rule("Z-06")
def test_a_local_chain_is_known_as_one(running: local.LocalChain) -> None:
    assert local.is_local(Chain(running.rpc_url))


def test_a_process_that_becomes_another_program_is_not_taken_for_gone() -> None:
    """While it does, the kernel shows it without arguments; so the local chain once seemed dead."""
    again = '[ $1 -gt 0 ] && exec /bin/sh -c "$2" sh $(($1 - 1)) "$2"; exec sleep 30'
    process = subprocess.Popen(["/bin/sh", "-c", again, "sh", "300", again])
    try:
        while not (seen := anvil_process.command_line(process.pid)).startswith("sleep"):
            assert seen
    finally:
        process.kill()
        process.wait()
    assert anvil_process.command_line(process.pid) == ""
