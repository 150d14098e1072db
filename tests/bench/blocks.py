"""Settlements a block, beside the most that the blocks' gas and the batch size allow.

The chain makes a block every two seconds and mines nothing in between, as chains do. So a sender
that waits for each receipt pays one batch a block, and one that does not fills the blocks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from engine import clock, commands, install, reconcile, settlement
from engine.chain.deploy import send_and_wait
from engine.chain.local import LocalChain, faucet
from engine.chain.treasury import MAX_BATCH
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.rollup import Rollup
from engine.operations import Caller
from tests.bench import owed
from tests.bench.install import KINDS, NAMES, Bench, database, installed
from tests.bench.measure import Effort, Findings, Row
from tests.bench.settlements import chain_of_its_own

BLOCK_SECONDS = 2
# 10,000 proofs of 500 workers, and many more batches than one block takes.
SIZES = ((500, 20), (2_000, 5))
POT_UNITS = 100_000 * 10**6
FOLLOW_SECONDS = 0.25


def measure(effort: Effort) -> Findings:
    findings = Findings()
    for kind in KINDS:
        for workers, proofs_each in SIZES if effort.rounds > 1 else SIZES[:1]:
            with (
                chain_of_its_own() as chain,
                database(kind) as url,
                installed(url, chain=chain) as bench,
            ):
                rates, limits, seconds = _settled(bench, chain, workers, proofs_each)
            what = f"{workers * proofs_each:,} proofs of {workers:,} workers, {NAMES[kind]}"
            limit = "a block's gas ÷ a batch's gas × its 100 payouts"
            findings.rows.append(Row("blocks", what, "payouts/block", rates, limit, limits))
            told = ", ".join(f"{part} {spent:.1f} s" for part, spent in seconds.items())
            findings.notes.append(f"blocks, {what}: {told}; blocks of {BLOCK_SECONDS} s")
    return findings


def _settled(
    bench: Bench, chain: LocalChain, workers: int, proofs_each: int
) -> tuple[list[float], list[float], dict[str, float]]:
    """(payouts per block, the most there could be, seconds by part) of one settlement."""
    treasury = install.treasury()
    faucet(chain, chain.operator_address, POT_UNITS, 0)
    gig_id = bench.gig.id
    calls = [treasury.approve(POT_UNITS), treasury.deposit(gig_id, POT_UNITS)]
    send_and_wait(treasury.chain, chain.operator_key, calls)
    treasury.chain.request("anvil_mine", hex(2))
    reconcile.run()
    owed.approved_proofs(bench.gig, workers, proofs_each)
    treasury.chain.request("evm_setAutomine", False)
    treasury.chain.request("evm_setIntervalMining", BLOCK_SECONDS)

    seconds: dict[str, float] = {}
    command = settlement.request(Caller(bench.gig.owner.id), gig_id)
    _timed(seconds, "decide and send", lambda: commands.run(command.id))
    began = time.perf_counter()
    while not _done(command.id):
        time.sleep(FOLLOW_SECONDS)
        reconcile.run()
        commands.run(command.id)
    seconds["mine and book"] = time.perf_counter() - began

    with db.reading():
        sent = list(ChainTransaction.select().where(ChainTransaction.intent.startswith("payout:")))
        paid = Rollup.select().where(Rollup.gig_id == gig_id, Rollup.status == "paid").count()
    assert paid == workers
    numbers = [int(row.block_number) for row in sent]
    used = max(numbers) - min(numbers) + 1
    block_gas = int(treasury.chain.request("eth_getBlockByNumber", "latest", False)["gasLimit"], 16)
    # A miner leaves room for a transaction's whole limit.
    fit = block_gas // max(int(row.gas) for row in sent)
    least = math.ceil(math.ceil(workers / MAX_BATCH) / fit)
    return [workers / used], [workers / least], seconds


def _timed(seconds: dict[str, float], part: str, fn: Callable[[], object]) -> None:
    began = time.perf_counter()
    fn()
    seconds[part] = time.perf_counter() - began


def _done(command_id: str) -> bool:
    with db.reading():
        command = Command.get(Command.id == command_id)
        # It looks again after a second; here it is asked whenever the books were brought up.
        if command.status == "waiting":
            due = clock.now() - 1
            db.write(
                lambda: Command.update(run_after=due).where(Command.id == command_id).execute()
            )
    assert command.status != "failed", command.error
    return bool(command.status == "done")
