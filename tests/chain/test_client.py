"""The client: plain numbers in, plain numbers out, and one kind of failure for a bad line."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from engine.chain import networks
from engine.chain.anvil_process import free_port
from engine.chain.client import Call, Chain, Transaction, address_of, checksum, new_key
from engine.chain.errors import CallReverted, ChainUnavailable
from engine.chain.reverts import explain
from tests.chain.world import Person, World

# From EIP-55 itself.
SPELLED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@contextmanager
def node(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A node that reads one request and then does what the test says."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/secret-key"
    finally:
        thread.join(3)
        server.close()


def http(status: str, body: str) -> Callable[[socket.socket], None]:
    text = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    return lambda connection: connection.sendall(text.encode())


def test_importing_the_client_does_not_import_web3() -> None:
    code = "import sys, engine.chain.client, engine.chain.treasury, engine.chain.local; "
    code += "sys.exit('web3' in sys.modules or 'eth_account' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_dead_port_is_chain_unavailable() -> None:
    with pytest.raises(ChainUnavailable, match=r"did not answer eth_blockNumber: ConnectionError"):
        Chain(f"http://127.0.0.1:{free_port()}").block_number()


@pytest.mark.parametrize(
    "answer",
    [
        http("200 OK", "<html>a proxy's page</html>"),
        http("200 OK", "[]"),
        http("200 OK", '{"jsonrpc": "2.0", "id": 0}'),
        http("200 OK", '{"jsonrpc": "2.0", "id": 0, "result": "a few"}'),
        http("200 OK", '{"jsonrpc": "2.0", "id": 0, "result": null}'),
        http("429 Too Many Requests", "slow down"),
        http("502 Bad Gateway", ""),
        http("200 OK", '{"jsonrpc": "2.0", "id": 0, "error": {"code": -32005, "message": "x"}}'),
        lambda connection: None,
    ],
)
def test_a_useless_answer_is_chain_unavailable(answer: Callable[[socket.socket], None]) -> None:
    with node(answer) as url, pytest.raises(ChainUnavailable) as caught:
        Chain(url).block_number()
    # Keys of hosted nodes are part of the address, and errors end up in logs.
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_node_that_says_nothing_is_given_up_in_time() -> None:
    done = threading.Event()

    def silence(_: socket.socket) -> None:
        done.wait(5)

    with node(silence) as url:
        with pytest.raises(ChainUnavailable, match="ReadTimeout"):
            Chain(url, timeout_seconds=0.2).block_number()
        done.set()


@pytest.mark.rule("Y-03")
def test_a_transaction_whose_answer_is_lost_is_sent_once() -> None:
    asked: list[int] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                asked.append(1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with pytest.raises(ChainUnavailable):
        Chain(f"http://127.0.0.1:{server.getsockname()[1]}").broadcast("0x02")
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(3)
    assert len(asked) == 1


def test_a_transaction_is_signed_sent_and_found_again(chain: Chain, world: World) -> None:
    alice, to = world.alice, world.someone()
    gas = chain.estimate_gas(alice.address, Call(to, b"", 5))
    max_fee, priority = chain.fees()
    before = chain.nonce(alice.address)
    tx_hash, raw = chain.sign(
        alice.key,
        Transaction(chain.chain_id(), before, Call(to, b"", 5), gas, max_fee, priority),
    )
    assert not chain.transaction_known(tx_hash)
    assert chain.receipt(tx_hash) is None
    assert chain.broadcast(raw) == (tx_hash, None)
    assert chain.transaction_known(tx_hash)
    receipt = None
    while receipt is None:
        receipt = chain.receipt(tx_hash)
    assert (receipt.tx_hash, receipt.status, receipt.gas_used) == (tx_hash, 1, 21_000)
    assert receipt.effective_gas_price_wei <= max_fee
    block = chain.block(receipt.block_number)
    assert (block.number, block.hash) == (receipt.block_number, receipt.block_hash)
    assert chain.eth_balance_wei(to) == 5
    assert chain.eth_balance_wei(to, receipt.block_number - 1) == 0
    assert chain.nonce(alice.address) == before + 1
    # Sent again, it is a hint in words and nothing more.
    again = chain.broadcast(raw)
    assert again.tx_hash is None
    assert again.error


def test_status_0_is_told_when_a_given_gas_limit_hides_a_revert(world: World) -> None:
    chain, who = world.chain, world.charlie
    call = world.treasury.pay_from_pots([])
    max_fee, priority = chain.fees()
    fields = Transaction(
        chain.chain_id(), chain.nonce(who.address), call, 100_000, max_fee, priority
    )
    tx_hash, raw = chain.sign(who.key, fields)
    chain.broadcast(raw)
    receipt = None
    while receipt is None:
        receipt = chain.receipt(tx_hash)
    assert receipt.status == 0


def test_a_sender_without_money_is_told_so(chain: Chain) -> None:
    poor = Person(new_key()[0])
    fields = Transaction(chain.chain_id(), 0, Call(poor.address, b"", 1), 21_000, 10**10, 1)
    answer = chain.broadcast(chain.sign(poor.key, fields)[1])
    assert answer.tx_hash is None
    assert "insufficient funds" in str(answer.error).lower()


def test_a_refusal_without_revert_data_is_still_a_refusal() -> None:
    error = '{"code": -32000, "message": "insufficient funds for transfer"}'
    with (
        node(http("200 OK", f'{{"jsonrpc": "2.0", "id": 0, "error": {error}}}')) as url,
        pytest.raises(CallReverted, match=r"insufficient funds for transfer\."),
    ):
        Chain(url).estimate_gas(SPELLED, Call(SPELLED, b"", 1))


def test_a_block_that_is_not_there_is_unavailable(chain: Chain) -> None:
    with pytest.raises(ChainUnavailable, match="has no block"):
        chain.block(10**9)


def test_many_threads_share_one_client(chain: Chain) -> None:
    shared = Chain(chain.rpc_url)
    people = [new_key()[1] for _ in range(24)]
    for wei, person in enumerate(people):
        chain.request("anvil_setBalance", person, hex(wei))
    with ThreadPoolExecutor(24) as pool:
        for _ in range(5):
            assert list(pool.map(shared.eth_balance_wei, people)) == list(range(24))


@pytest.mark.rule("Y-06")
def test_an_address_is_taken_in_its_checksum_spelling_or_in_lower_case() -> None:
    assert checksum(SPELLED) == checksum(SPELLED.lower()) == SPELLED
    for wrong, words in (
        (SPELLED.replace("5aA", "5aa"), "wrong checksum"),
        (SPELLED.upper().replace("0X", "0x"), "wrong checksum"),
        (SPELLED[:-1], "40 hexadecimal digits"),
        (SPELLED[2:], "40 hexadecimal digits"),
        (SPELLED + "\n", "40 hexadecimal digits"),
        ("vitalik.eth", "40 hexadecimal digits"),
    ):
        with pytest.raises(ValueError, match=words):
            checksum(wrong)


@pytest.mark.rule("Y-06")
def test_a_private_key_is_never_repeated_in_an_error() -> None:
    key, address = new_key()
    assert address_of(key) == address_of(key[2:]) == address
    for broken in (key + "00", key[:-1], key.replace("0x", "zz"), "0x" + "0" * 64):
        with pytest.raises(ValueError, match="not a private key") as caught:
            address_of(broken)
        assert broken[2:] not in str(caught.value)
        assert caught.value.__suppress_context__
        fields = Transaction(1, 0, Call(address), 21_000, 1, 1)
        with pytest.raises(ValueError, match="not a private key"):
            Chain("http://127.0.0.1:1").sign(broken, fields)


@pytest.mark.rule("Y-04")
def test_every_refusal_becomes_a_sentence() -> None:
    assert explain(b"").reason == "The call reverted without a reason."
    assert explain(b"", "execution reverted: no").reason == "execution reverted: no."
    assert explain(b"\xde\xad\xbe\xef").reason.endswith("unknown error, 0xdeadbeef.")
    overflow = bytes.fromhex("4e487b71") + (0x11).to_bytes(32, "big")
    assert explain(overflow).reason == "The contract broke off: an amount overflowed."
    cut_short = bytes.fromhex("08c379a0") + b"\0" * 8
    assert explain(cut_short).reason == "The call reverted without a reason."


@pytest.mark.rule("H-13")
def test_chains_have_names_and_an_unknown_one_counts_as_real_money() -> None:
    assert (networks.chain_name(8453), networks.is_testnet(8453)) == ("Base", False)
    assert (networks.chain_name(84532), networks.is_testnet(84532)) == ("Base Sepolia", True)
    assert (networks.chain_name(31337), networks.is_testnet(31337)) == ("Local", True)
    assert (networks.chain_name(77), networks.is_testnet(77)) == ("Chain 77", False)
