"""A chain that mines only when it is told to, and an install that sends to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine import clock, install, settings
from engine.chain import outbox, sender
from engine.chain.abi import artifact
from engine.chain.anvil import find_anvil
from engine.chain.anvil_process import free_port
from engine.chain.client import Broadcast, Call, Chain, Receipt, Transaction, new_key
from engine.chain.errors import ChainUnavailable
from engine.chain.keys import Key, contract_address
from engine.db import db
from engine.models.chain import ChainAttempt, ChainTransaction
from tests.forking import Forked
from tests.process import FORKS

RICH_WEI = 10**21
CONFIRMATIONS = 3
GWEI = 10**9
ROOT = Path(__file__).parents[2]


@contextmanager
def anvil_without_miner() -> Iterator[str]:
    """The URL of a fresh chain on which nothing is mined by itself."""
    port = free_port()
    program = str(find_anvil())
    command = [program, "--port", str(port), "--no-mining", "--enable-tx-gas-limit", "--quiet"]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(url)
            yield url
        finally:
            process.kill()


def _wait(url: str) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            Chain(url).block_number()
            return
        except ChainUnavailable:
            assert time.monotonic() < until, "anvil does not answer"
            time.sleep(0.01)


def a_key() -> Key:
    private_key, address = new_key()
    return Key(address, private_key)


class Sending:
    """What a test of the sender needs: a funded key, a miner by hand, and a clock to move."""

    def __init__(self, url: str, database_url: str, **more: str) -> None:
        self.url, self.database_url = url, database_url
        self.key, self.refunder = a_key(), a_key()
        self.more = more
        self.chain = Chain(url)
        self.fund(self.key.address)
        self.fund(self.refunder.address)
        self.failed: list[tuple[str, str, str | None]] = []
        self.someone = new_key()[1]
        self.configure()

    def configure(self, **more: str) -> None:
        """Begin (again) with these settings."""
        given = {
            "STAGE": "dev",
            "DATABASE_URL": self.database_url,
            "OPERATOR_KEY": self.key.private_key,
            "REFUNDER_KEY": self.refunder.private_key,
        }
        install.configure(settings.load({}, {**given, **self.more, **more}))

    # -- what we do -------------------------------------------------------------------------

    def send(
        self,
        intent: str = "one",
        call: Call | None = None,
        *,
        chain: Chain | None = None,
        key: Key | None = None,
        stored: sender.Stored = lambda _: None,
    ) -> ChainTransaction:
        made = call or Call(self.someone, b"", 1)
        return sender.send(chain or self.chain, key or self.key, intent, made, stored)

    @contextmanager
    def held_back(self) -> Iterator[list[str]]:
        """What is sent meanwhile reaches the node only afterwards, so that nobody sees it coming.

        Answers the raw transactions; what is taken from that list never leaves.
        """
        raws: list[str] = []

        def keep(_: Chain, raw_hex: str) -> Broadcast:
            raws.append(raw_hex)
            raise ChainUnavailable("held back")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Chain, "broadcast", keep)
            yield raws
        for raw_hex in raws:
            assert self.chain.broadcast(raw_hex).error is None

    def follow(self, final_block: int | None = None) -> set[str]:
        if final_block is None:
            final_block = self.chain.block_number() - CONFIRMATIONS
        return sender.follow(self.chain, final_block, self._failed)

    def _failed(self, row: ChainTransaction) -> None:
        assert db.transaction is not None
        self.failed.append((row.intent, row.status, row.failure))

    def later(self, seconds: int) -> None:
        clock.advance(seconds)

    # -- what the chain does ----------------------------------------------------------------

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.request("evm_mine")

    def reorg(self, blocks: int) -> None:
        """The newest blocks are replaced by as many, and one more, with nothing in them."""
        self.chain.request("anvil_reorg", blocks, [])
        # Until the next block anvil goes on counting what it has lost as pending.
        self.mine()

    def drop(self, tx_hash: str) -> None:
        self.chain.request("anvil_dropTransaction", tx_hash)

    def base_fee(self, gwei: int) -> None:
        """Of the next block, which is mined."""
        self.chain.request("anvil_setNextBlockBaseFeePerGas", hex(gwei * GWEI))
        self.mine()

    def fund(self, address: str, wei: int = RICH_WEI) -> None:
        self.chain.request("anvil_setBalance", address, hex(wei))

    def by_hand(self, nonce: int, gwei: int = 50, wei: int = 7) -> str:
        """A transaction from our key that the product knows nothing of."""
        fields = Transaction(
            self.chain.chain_id(),
            nonce,
            Call(self.someone, b"", wei),
            21_000,
            gwei * GWEI,
            gwei * GWEI // 2,
        )
        tx_hash, raw = self.chain.sign(self.key.private_key, fields)
        assert self.chain.broadcast(raw).error is None
        return tx_hash

    def token(self) -> str:
        """A test token whose owner is the settler, with 100 units for him."""
        maker, usdc = a_key(), artifact("MockUSDC")
        self.fund(maker.address)
        address = contract_address(maker.address, 0)
        creation = Call(None, usdc.creation([self.key.address]))
        fields = Transaction(self.chain.chain_id(), 0, creation, 4_000_000, 9 * GWEI, GWEI)
        self.chain.broadcast(self.chain.sign(maker.private_key, fields)[1])
        self.mine()
        self.send("mint", Call(address, usdc.encode("mint", [self.key.address, 100])))
        self.mine(1 + CONFIRMATIONS)
        assert len(self.follow()) == 1
        return address

    # -- what one sees ----------------------------------------------------------------------

    def row(self, intent: str = "one") -> ChainTransaction:
        found = sender.find(intent)
        assert found is not None
        return found

    def attempts(self, intent: str = "one") -> list[ChainAttempt]:
        """The oldest first."""
        return outbox.attempts(self.row(intent).id)[::-1]

    def receipt(self, intent: str = "one") -> Receipt | None:
        found = [self.chain.receipt(one.tx_hash) for one in self.attempts(intent)]
        return next((one for one in found if one is not None), None)

    def known(self, tx_hash: str) -> bool:
        return self.chain.transaction_known(tx_hash)

    def rows(self) -> list[ChainTransaction]:
        with db.reading():
            return list(ChainTransaction.select().order_by(ChainTransaction.nonce))

    # -- other processes --------------------------------------------------------------------

    def process(self, log: Path, what: str, *words: str) -> subprocess.Popen[bytes] | Forked:
        """`tests/chain/sending_process.py` over this install's database and chain."""
        command = [sys.executable, "-m", "tests.chain.sending_process", self.database_url, self.url]
        command += [self.key.private_key, what, *words]
        if FORKS:
            return Forked(command, dict(os.environ), ROOT, log)
        with log.open("ab") as said:
            return subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)


@pytest.fixture
def sending(backend: tuple[str, str], anvil: None) -> Iterator[Sending]:
    with anvil_without_miner() as url:
        made = Sending(url, backend[0])
        yield made
        install.close()


class Lossy:
    """A node's front that can lose a request, or the answer to one that it passed on."""

    def __init__(self, target: str) -> None:
        self.lose_request: set[str] = set()
        self.lose_answer: set[str] = set()
        self.lost = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                method = json.loads(body)["method"]
                if method in outer.lose_request:
                    self._lose()
                    return
                passed = urllib.request.Request(target, body, {"content-type": "application/json"})
                with urllib.request.urlopen(passed) as reply:
                    answer = reply.read()
                if method in outer.lose_answer:
                    self._lose()
                    return
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def _lose(self) -> None:
                outer.lost += 1
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Lossy:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
