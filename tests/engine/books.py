"""A gig with money on a chain that a test can reorganise: nothing runs in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import audit, commands, gig_keys, install, ledger, reconcile, settlement
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, Transaction, address_of, new_key
from engine.chain.deploy import send_and_wait
from engine.chain.local import faucet
from engine.chain.treasury import PotPayout, Treasury
from engine.db import db
from engine.models.escrow import Escrow
from engine.models.ledger import LedgerTransaction
from engine.models.rollup import Rollup
from tests.world import Gig, World, approved_proof

DOLLAR = 1_000_000
GAS = 400_000


@dataclass
class Books:
    """The install's reader of the chain, driven by hand."""

    world: World

    @property
    def chain(self) -> Chain:
        return self.treasury.chain

    @property
    def treasury(self) -> Treasury:
        return install.treasury()

    # ------------------------------------------------------------ the chain

    def mine(self, blocks: int = 1) -> None:
        self.chain.request("anvil_mine", hex(blocks))

    def snapshot(self) -> str:
        return str(self.chain.request("evm_snapshot"))

    def reorg(self, snapshot: str, blocks: int) -> None:
        """All since the snapshot is gone; this many other blocks stand there."""
        assert self.chain.request("evm_revert", snapshot) is True
        self.chain.request("anvil_setCoinbase", new_key()[1])
        self.mine(blocks)

    def account(self, units: int = 1_000 * DOLLAR) -> str:
        """The key of a new account with money, which has let the Treasury take it."""
        key, address = new_key()
        assert self.world.chain is not None
        faucet(self.world.chain, address, units, 10**19)
        send_and_wait(self.chain, key, [self.treasury.approve(units)])
        return key

    def send(self, key: str, *calls: Call) -> list[str]:
        """Send and mine; answers the transactions' hashes."""
        return [row.tx_hash for row in send_and_wait(self.chain, key, list(calls), GAS)]

    def signed(self, key: str, call: Call) -> str:
        """The bytes of a transaction that is sent later, perhaps more than once."""
        max_fee, priority = self.chain.fees()
        nonce = self.chain.nonce(address_of(key))
        fields = Transaction(self.chain.chain_id(), nonce, call, GAS, 100 * max_fee, priority)
        return self.chain.sign(key, fields)[1]

    def broadcast(self, raw_hex: str) -> None:
        answer = self.chain.broadcast(raw_hex)
        assert answer.error is None, answer.error

    def token(self, function: str, *values: object) -> None:
        """A function of the test token that only its owner may call."""
        assert self.world.chain is not None
        data = artifact("MockUSDC").encode(function, values)
        self.send(self.world.chain.minter_key, Call(self.treasury.usdc_address, data))

    def pay_from_outside(self, gig_id: str, units: int, payout_id: str = "ANOTHER_1") -> str:
        """A payout by another copy of us, with the same key; answers the payee."""
        assert self.world.chain is not None
        payee = new_key()[1]
        call = self.treasury.pay_from_pots([PotPayout(payout_id, gig_id, payee, units)])
        self.send(self.world.chain.operator_key, call)
        return payee

    # ------------------------------------------------------------ us

    def read(self) -> int:
        """Let everything become final, and read it."""
        self.mine(2)
        return reconcile.run()

    def settle(self, gig: Gig) -> str:
        """Settle a gig's only approved proof; answers the rollup's id once it is sent and mined."""
        command = db.write(lambda: settlement.record(gig.id))
        commands.run(command.id)
        with db.reading():
            (rollup,) = Rollup.select().where(Rollup.command_id == command.id)
        assert rollup.status == "sent", (rollup.status, rollup.failure)
        return str(rollup.id)

    def owed_work(self, gig: Gig) -> str:
        """A worker's approved proof; answers his address."""
        worker: Any = self.world.worker(gig)
        approved_proof(self.world, gig, worker)
        address: str = worker.mailbox["wallet_address"]
        return address

    def pot(self, gig: Gig) -> tuple[int, int]:
        """(free, owed) by the books."""
        return ledger.free_units(gig.id), ledger.owed_units(gig.id)

    def account_of(self, gig: Gig, account: str) -> int:
        return ledger.balance_units(account, gig_keys.key(gig.id))

    def bookings(self, kind: str) -> list[LedgerTransaction]:
        with db.reading():
            query = LedgerTransaction.select().where(LedgerTransaction.kind == kind)
            return list(query.order_by(LedgerTransaction.id))

    def rollup(self, rollup_id: str) -> Rollup:
        with db.reading():
            return Rollup.get(Rollup.id == rollup_id)

    def escrow(self, deposit_id: str) -> Escrow:
        with db.reading():
            return Escrow.get(Escrow.id == deposit_id)

    def told(self, gig: Gig, *kinds: str) -> list[Any]:
        """What the gig's owner was told, of these kinds: (kind, data)."""
        found = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        return [(row["type"], row["data"]) for row in found if row["type"] in kinds]

    def fine(self) -> audit.Report:
        report = audit.run()
        assert report.faults == []
        assert report.warnings == []
        assert report.deposits_units == (
            report.paid_units
            + report.fees_units
            + report.residue_units
            + report.withdrawn_units
            + report.refunded_units
            + report.held_units
        )
        return report
