"""Paid workers a second, beside what the chain does when it is sent the same batches bare.

The settlement is driven without its bells: the command runs, a block is mined, the books are
brought up to date, until the command is done. So it is the work that is measured; in an install
the waiting for bells and blocks comes on top, however large or small the settlement is.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine import commands, install, reconcile, settlement
from engine.chain import local
from engine.chain.anvil import AnvilMissing, find_anvil, install_anvil
from engine.chain.client import Call, Transaction
from engine.chain.deploy import send_and_wait
from engine.chain.local import LocalChain
from engine.chain.treasury import MAX_BATCH, PotPayout
from engine.db import db
from engine.ids import new_id
from engine.models.command import Command
from engine.operations import Caller
from tests.bench import owed
from tests.bench.install import KINDS, NAMES, Bench, database, installed
from tests.bench.measure import Effort, Findings, Row, in_turns, noise

WORKERS = 200
POT_UNITS = 50_000 * 10**6
GAS_EACH = 130_000
TRANSFERS = 10


@contextmanager
def chain_of_its_own() -> Iterator[LocalChain]:
    try:
        find_anvil()
    except AnvilMissing:
        install_anvil()
    with tempfile.TemporaryDirectory(prefix="muster-bench-chain-") as folder:
        running = local.ensure(Path(folder))
        try:
            yield running
        finally:
            local.stop(Path(folder))


def measure(effort: Effort) -> Findings:
    findings = Findings()
    workers = effort.scaled(WORKERS)
    for kind in KINDS:
        with (
            chain_of_its_own() as chain,
            database(kind) as url,
            installed(url, chain=chain) as bench,
        ):
            paying = _Paying(bench, chain, workers)
            contenders = {
                "muster": paying.settle,
                "bare": paying.bare,
                "bare again": paying.bare,
            }
            rates = in_turns(contenders, effort.rounds)
            row = Row(
                "settlements",
                f"settle {workers} workers, {NAMES[kind]}",
                "workers/s",
                rates["muster"],
                "the same payFromPots batches, sent bare",
                rates["bare"],
            )
            findings.rows.append(row)
            findings.notes += paying.notes(kind)
            findings.notes.append(noise("bare batches", rates["bare"], rates["bare again"]))
    return findings


class _Paying:
    """One gig with a full pot; each measurement pays workers who were never paid before."""

    def __init__(self, bench: Bench, chain: LocalChain, workers: int) -> None:
        self.bench, self.local, self.workers = bench, chain, workers
        self.treasury = install.treasury()
        self.chain = self.treasury.chain
        self.parts: dict[str, list[float]] = {"decide and send": [], "book": [], "finish": []}
        self.gas_each: list[float] = []
        local.faucet(chain, chain.operator_address, POT_UNITS + TRANSFERS, 0)
        gig_id = bench.gig.id
        calls = [self.treasury.approve(POT_UNITS), self.treasury.deposit(gig_id, POT_UNITS)]
        send_and_wait(self.chain, chain.operator_key, calls)
        self._catch_up()

    def _catch_up(self) -> None:
        """Book all that is on chain, so that nothing of it falls into the next measurement."""
        local.mine(self.local, 1)
        reconcile.run()

    def settle(self) -> float:
        owed.approved_proofs(self.bench.gig, self.workers)
        caller = Caller(self.bench.gig.owner.id)
        began = time.perf_counter()
        command = settlement.request(caller, self.bench.gig.id)
        self._timed("decide and send", lambda: commands.run(command.id))
        while True:
            self._timed("book", self._catch_up)
            self._timed("finish", lambda: commands.run(command.id))
            with db.reading():
                status = Command.get(Command.id == command.id).status
            if status in commands.FINISHED:
                break
        elapsed = time.perf_counter() - began
        assert status == "done", status
        assert owed.unpaid(self.bench.gig.id) == 0
        return self.workers / elapsed

    def _timed(self, part: str, fn: Callable[[], object]) -> None:
        began = time.perf_counter()
        fn()
        self.parts[part].append((time.perf_counter() - began) * 1000)

    def bare(self) -> float:
        """Sign, broadcast all, then collect the receipts: nothing else is known to anybody."""
        addresses = [owed.new_address() for _ in range(self.workers)]
        payouts = [
            PotPayout(new_id("ROLLUP"), self.bench.gig.id, to, owed.UNITS_EACH) for to in addresses
        ]
        began = time.perf_counter()
        calls = [
            self.treasury.pay_from_pots(payouts[first : first + MAX_BATCH])
            for first in range(0, len(payouts), MAX_BATCH)
        ]
        receipts = self._send(calls, GAS_EACH * MAX_BATCH)
        elapsed = time.perf_counter() - began
        self.gas_each.append(sum(receipts) / self.workers)
        self._catch_up()
        return self.workers / elapsed

    def _send(self, calls: list[Call], gas: int) -> list[int]:
        """Gas used by each call, all of them under way at once."""
        chain, key = self.chain, self.local.operator_key
        nonce, chain_id = chain.nonce(self.local.operator_address), chain.chain_id()
        max_fee, priority = chain.fees()
        hashes = []
        for place, call in enumerate(calls):
            signed = Transaction(chain_id, nonce + place, call, gas, max_fee, priority)
            tx_hash, raw = chain.sign(key, signed)
            answer = chain.broadcast(raw)
            assert answer.error is None, answer.error
            hashes.append(tx_hash)
        return [self._gas_used(tx_hash) for tx_hash in hashes]

    def _gas_used(self, tx_hash: str) -> int:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            receipt = self.chain.receipt(tx_hash)
            if receipt is not None:
                assert receipt.status == 1, "the transaction was mined but failed"
                return receipt.gas_used
            time.sleep(0.001)
        raise AssertionError("the transaction was not mined in time")

    def notes(self, kind: str) -> list[str]:
        calls = [self.treasury.transfer_usdc(owed.new_address(), 1) for _ in range(TRANSFERS)]
        transfer = statistics.median(self._send(calls, 100_000))
        each = statistics.median(self.gas_each)
        told = ", ".join(
            f"{part} {statistics.median(ms):.0f} ms" for part, ms in self.parts.items()
        )
        return [
            f"settlements, {NAMES[kind]}: gas per paid worker {each:,.0f}, of a plain transfer of "
            f"the token to a new address {transfer:,.0f}: {each / transfer:.2f}",
            f"settlements, {NAMES[kind]}: {told}",
        ]
