"""Ether for gas: who lacks it waits, and is told of before."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest
from structlog.testing import capture_logs

from engine import commands, install, signers
from engine.chain import gas, sender
from engine.chain.answers import as_revert, lacks_gas_money
from engine.chain.client import Call, Chain, Transaction
from engine.chain.errors import CallReverted, ChainUnavailable, NodeRefused, OutOfGas
from engine.db import db
from engine.errors import Refused
from engine.keyring import new_master_key
from engine.models.account import Account
from engine.models.chain import Signer
from engine.models.command import Command
from engine.models.wallet import Wallet
from tests.chain.sending import CONFIRMATIONS, GWEI, RICH_WEI, Sending, a_key
from web.metrics import REGISTRY


@pytest.mark.rule("Y-03")
def test_a_signer_without_ether_stores_nothing_and_goes_on_once_it_has_some(
    sending: Sending,
) -> None:
    sending.fund(sending.key.address, 20_000 * GWEI)
    with capture_logs() as logs, pytest.raises(OutOfGas, match="too little ether") as caught:
        sending.send()
    assert isinstance(caught.value, ChainUnavailable)
    assert sending.key.address in str(caught.value)
    (line,) = [one for one in logs if one["event"] == "signer.gas_low"]
    assert (line["signer"], line["log_level"]) == (sending.key.address, "warning")
    assert sending.rows() == []
    sending.fund(sending.key.address)
    assert sending.send().nonce == 0


@pytest.mark.rule("Y-03")
def test_a_command_whose_signer_is_out_of_gas_waits_instead_of_failing(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(_: Command) -> commands.Outcome:
        return commands.Done({"id": sending.send().id})

    monkeypatch.setitem(commands._handlers, "test.sends", step)
    command = db.write(lambda: commands.record("test.sends", {}, account_id=None, gig_id=None))
    sending.fund(sending.key.address, 0)
    commands.run(command.id)
    assert commands.peek(command.id).status == "waiting"
    sending.fund(sending.key.address)
    sending.later(3)
    commands.run(command.id)
    assert commands.peek(command.id).status == "done"


@pytest.mark.rule("Y-03")
def test_what_is_on_its_way_is_counted_before_more_is_promised(sending: Sending) -> None:
    sending.send("one", Call(sending.someone))
    (attempt,) = sending.attempts()
    cost = sending.row().gas * int(attempt.max_fee_wei)
    sending.fund(sending.key.address, 2 * cost - 1)
    with pytest.raises(OutOfGas, match="Send it 1 wei or more"):
        sending.send("two", Call(sending.someone))
    sending.fund(sending.key.address, 2 * cost)
    sending.send("two", Call(sending.someone))
    sending.mine()
    # What is mined has been paid for, final or not.
    sending.fund(sending.key.address, cost)
    sending.send("three", Call(sending.someone))
    assert len(sending.rows()) == 3


def test_the_value_is_part_of_what_it_costs(sending: Sending) -> None:
    sending.fund(sending.key.address, 10**18)
    with pytest.raises((OutOfGas, CallReverted)):
        sending.send(call=Call(sending.someone, b"", 10**18))
    assert sending.rows() == []


# As nodes say it: anvil, geth (twice), Nethermind, OpenEthereum.
NO_GAS_MONEY = [
    "Insufficient funds for gas * price + value",
    "insufficient funds for gas * price + value: address 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    " have 5 want 21000",
    "err: insufficient funds for gas * price + value: balance 0, tx cost 9, overshot 9 (supplied "
    "gas 50000000)",
    "insufficient funds for gas * price + value: address 0x0, have 0, want 9",
    "Insufficient funds. The account you tried to send transaction from does not have enough "
    "funds. Required 9 and got: 0.",
]


@pytest.mark.parametrize("said", NO_GAS_MONEY)
def test_a_node_that_says_that_gas_cannot_be_paid_says_nothing_about_the_call(said: str) -> None:
    refused = NodeRefused(-32000, said)
    assert lacks_gas_money(refused)
    assert as_revert(refused) is None


@pytest.mark.parametrize(
    "refused",
    [
        NodeRefused(-32000, "insufficient funds for transfer"),
        NodeRefused(3, "execution reverted: insufficient funds for gas"),
        NodeRefused(-32000, "execution reverted: insufficient funds for gas"),
        NodeRefused(-32603, "VM Exception: revert insufficient funds for gas"),
        NodeRefused(-32000, "insufficient funds for gas", "0xe450d38c"),
        NodeRefused(-32000, "ERC20: transfer amount exceeds balance (reverted)"),
        NodeRefused(-32000, "insufficient balance"),
    ],
)
def test_a_tokens_own_refusal_is_not_mistaken_for_it(refused: NodeRefused) -> None:
    assert not lacks_gas_money(refused)
    assert isinstance(as_revert(refused), CallReverted)


def test_an_estimate_that_is_refused_for_want_of_gas_money_is_out_of_gas(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NodeRefused(-32000, NO_GAS_MONEY[1])

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "request", refuse)
        with pytest.raises(OutOfGas):
            sending.chain.estimate_gas(sending.key.address, Call(sending.someone))


def test_the_words_of_the_node_at_hand_are_known(sending: Sending) -> None:
    poor = a_key()
    fields = Transaction(sending.chain.chain_id(), 0, Call(poor.address), 21_000, 9 * GWEI, GWEI)
    answer = sending.chain.broadcast(sending.chain.sign(poor.private_key, fields)[1])
    assert lacks_gas_money(NodeRefused(-32003, str(answer.error)))


def _metrics() -> dict[str, float]:
    found = {}
    for line in generate_latest(REGISTRY).decode().splitlines():
        if line.startswith("muster_signer_"):
            name, _, number = line.rpartition(" ")
            found[name] = float(number)
    return found


@pytest.mark.rule("Y-03")
def test_the_operators_ether_is_measured_now_and_then_and_shown(sending: Sending) -> None:
    asked: list[str] = []
    real = Chain.eth_balance_wei

    def count(chain: Chain, address: str, block: int | None = None) -> int:
        asked.append(address)
        return real(chain, address, block)

    settler, refunder = sending.key.address, sending.refunder.address
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chain, "eth_balance_wei", count)
        for _ in range(3):
            sending.follow()
        assert sorted(asked) == sorted([settler, refunder])
        sending.later(gas.WATCH_MS // 1000)
        sending.follow()
        assert len(asked) == 4
        shown = _metrics()
        assert len(asked) == 4, "a scrape asks no node"
    for address, role in ((settler, "settler"), (refunder, "refunder")):
        labels = f'{{role="{role}",signer="{address}"}}'
        assert shown[f"muster_signer_balance_wei{labels}"] == RICH_WEI
        assert shown[f"muster_signer_open_transactions{labels}"] == 0
        assert shown[f"muster_signer_oldest_transaction_seconds{labels}"] == 0


def test_open_transactions_are_counted_by_signer_and_hot_wallets_together(
    sending: Sending,
) -> None:
    for number in range(2):
        sending.send(f"ours-{number}")
    for wallet in (a_key(), a_key()):
        sending.fund(wallet.address)
        sending.send(f"theirs-{wallet.address}", key=wallet)
    sending.later(40)
    shown = _metrics()
    settler = f'{{role="settler",signer="{sending.key.address}"}}'
    wallets = '{role="wallet",signer="any"}'
    assert shown[f"muster_signer_open_transactions{settler}"] == 2
    assert shown[f"muster_signer_open_transactions{wallets}"] == 2
    assert shown[f"muster_signer_oldest_transaction_seconds{settler}"] >= 40
    assert shown[f"muster_signer_oldest_transaction_seconds{wallets}"] >= 40


def test_little_ether_is_warned_of_below_the_alarm(sending: Sending) -> None:
    sending.configure(GAS_ALARM_WEI="1000")
    for wei, warned in ((1000, []), (999, ["settler"])):
        sending.fund(sending.key.address, wei)
        sending.later(60)
        with capture_logs() as logs:
            sending.follow()
        low = [one for one in logs if one["event"] == "signer.gas_low"]
        assert [one["role"] for one in low] == warned
    assert low[0]["balance_wei"] == 999


def test_a_balance_that_the_node_does_not_tell_holds_up_nothing(sending: Sending) -> None:
    row = sending.send()
    sending.mine(1 + CONFIRMATIONS)

    def away(*_: object) -> int:
        raise ChainUnavailable("away")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chain, "eth_balance_wei", away)
        assert sending.follow() == {row.id}
    with db.reading():
        assert Signer.get(Signer.address == row.signer).balance_wei is None


# -- whose key is whose


def test_each_role_has_its_key_and_the_settlers_stands_in_for_the_refunders(
    sending: Sending,
) -> None:
    assert signers.settler() == sending.key
    assert signers.refunder() == sending.refunder
    assert signers.roles() == {
        sending.key.address: "settler",
        sending.refunder.address: "refunder",
    }
    sending.configure(REFUNDER_KEY="")
    assert signers.refunder() == sending.key
    assert signers.roles() == {sending.key.address: "settler"}
    sending.configure(OPERATOR_KEY="", REFUNDER_KEY="")
    for role in (signers.settler, signers.refunder):
        with pytest.raises(Refused, match="MUSTER_OPERATOR_KEY"):
            role()


def test_a_key_is_found_by_its_address_among_roles_and_hot_wallets(sending: Sending) -> None:
    sending.configure(MASTER_KEYS=new_master_key())
    wallet, outside = a_key(), a_key()

    def write() -> None:
        Account.create(
            id="USER_1", email="a@example.com", display_name="", status="active", created_at=0
        )
        for key, sealed in (
            (wallet, install.current().keyring.encrypt(wallet.private_key)),
            (outside, None),
        ):
            Wallet.create(
                id=key.address,
                account_id="USER_1",
                label="",
                evm_address=key.address,
                is_hot_wallet=sealed is not None,
                encrypted_key=sealed,
                created_at=0,
            )

    db.write(write)
    assert signers.key_of(sending.key.address) == sending.key
    assert signers.key_of(sending.refunder.address) == sending.refunder
    assert signers.key_of(wallet.address) == wallet
    with capture_logs() as logs:
        assert signers.key_of(outside.address) is None
        sending.configure(MASTER_KEYS=new_master_key())
        assert signers.key_of(wallet.address) is None
    assert [one["event"] for one in logs] == ["signer.key_missing", "signer.key_closed"]
    assert wallet.private_key not in repr(logs)


def test_no_key_is_ever_in_what_is_logged_or_shown(sending: Sending) -> None:
    with capture_logs() as logs:
        sending.send()
        sending.base_fee(100)
        sending.mine(2)
        sending.later(61)
        sending.follow()
    assert "chain.fee_raised" in {one["event"] for one in logs}
    shown = repr(logs) + repr(sending.key) + repr(signers.settler()) + repr(sender.find("one"))
    assert sending.key.private_key[2:] not in shown
