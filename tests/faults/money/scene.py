"""A gig with workers, a filled pot and named deposits, and the proof that no money went astray."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from engine.chain.treasury import (
    DepositOpened,
    DepositRefunded,
    DepositSettled,
    PaidOut,
    PotDeposited,
    PotRefunded,
)
from engine.gig_keys import key as gig_key
from engine.rules.money import UNITS_PER_DOLLAR
from tests.faults.flow import Miner
from tests.faults.money.node import Node
from tests.processes import Broken, Stack
from tests.world import Answer, Gig, Person, approved_proof, eventually

PRICE = "2.50"
PRICE_UNITS = 2_500_000
# Longer than a command's lease, than the age at which a lost bell is rung again, and than the wait
# before a transaction is sent again.
LONG_SECONDS = 200
PATIENCE_SECONDS = 120
NOT_WAITING = {"prefer": "wait=0"}


class Scene:
    """People who are owed, on a stack with a chain."""

    def __init__(self, stack: Stack, workers: int = 1, pot: str = "100") -> None:
        assert stack.chain is not None
        self.stack = stack
        self.node = Node(stack.chain)
        self.gig = stack.gig(price=PRICE, review_timeout=-1)
        self.people = [stack.worker(self.gig) for _ in range(workers)]
        self.wallet_id = stack.funded_wallet(self.gig.owner, 1000)
        with Miner(stack):
            self.deposit(pot)()

    # -- asking -----------------------------------------------------------------------------

    def ask(self, path: str, body: Any = None) -> str:
        """POST under a key until there is an answer; answers the path of its command."""
        headers = {**NOT_WAITING, "idempotency-key": uuid.uuid4().hex}
        return str(eventually(lambda: self._asked(path, body, headers), PATIENCE_SECONDS, path))

    def _asked(self, path: str, body: Any, headers: dict[str, str]) -> str | None:
        try:
            answer: Answer = self.gig.owner.call("POST", path, body, headers=headers)
        except Broken:
            self.revive()
            return None
        if answer.status == 409 and answer.json["reason"] == "in_progress":
            return None
        assert answer.status in (200, 202), answer.text
        return cast(str, answer.headers["location"].removeprefix("/api"))

    def deposit(self, amount: str) -> Callable[[], Any]:
        """Begin a deposit; what it answers waits for its end."""
        body = {"wallet_alias_id": self.wallet_id, "amount": amount}
        path = self.ask(f"{self.gig.path}/deposit", body)
        return lambda: self.done(path)

    def settle(self, gig: Gig | None = None) -> Callable[[], Any]:
        """Begin a settlement; what it answers waits for its end."""
        path = self.ask(f"{(gig or self.gig).path}/rollups")
        return lambda: self.done(path)

    def done(self, path: str) -> Any:
        """The command's result, once it is done."""

        def look() -> Any:
            told = self.gig.owner.get(path)
            assert told["status"] != "failed", told
            return told if told["status"] == "done" else None

        return eventually(look, PATIENCE_SECONDS, f"{path} is done")

    def approved(self, worker: Person | None = None, **query: Any) -> str:
        return approved_proof(self.stack, self.gig, worker or self.people[0], **query)

    def revive(self) -> None:
        """Start what has died, once it has."""
        processes = self.stack.processes
        eventually(lambda: not all(one.running for one in processes), PATIENCE_SECONDS, "a death")
        self.stack.start()

    # -- seeing -----------------------------------------------------------------------------

    def address(self, worker: Person | None = None) -> str:
        mailbox = (worker or self.people[0]).mailbox  # type: ignore[attr-defined]
        return str(mailbox["wallet_address"])

    def earned(self, worker: Person | None = None) -> int:
        """What the worker's wallet holds, by the chain."""
        return self.node.treasury.usdc_units(self.address(worker))

    def rollups(self) -> list[Any]:
        return self.stack.pages(self.gig.owner, self.gig, "rollups")

    def statuses(self) -> list[str]:
        return [one["status"] for one in self.rollups()]

    def all_paid(self) -> bool:
        proofs = self.stack.pages(self.gig.owner, self.gig, "proofs")
        return all(proof["paid_out_at"] is not None for proof in proofs)

    def wait_paid(self) -> None:
        eventually(self.all_paid, PATIENCE_SECONDS, f"all are paid: {self.rollups()}")

    def wait_status(self, *statuses: str) -> None:
        eventually(
            lambda: self.statuses() == list(statuses), PATIENCE_SECONDS, f"rollups are {statuses}"
        )

    def wait_pooled(self) -> None:
        """Wait until the node has what is said to be sent: the row of it comes first."""
        hashes = self.stack.rows(
            "SELECT a.tx_hash FROM chain_attempt a JOIN chain_transaction t "
            "ON t.id = a.transaction_id WHERE t.status = 'sent'"
        )
        eventually(
            lambda: all(self.node.waits(tx_hash) for (tx_hash,) in hashes),
            PATIENCE_SECONDS,
            f"{hashes} are in the pool",
        )

    def available(self) -> float:
        return float(self.gig.owner.get(self.gig.path)["gig"]["available_funds"])

    def events(self, kind: str) -> list[Any]:
        return self.stack.events(self.gig, kind)

    def cursor(self) -> int:
        ((value,),) = self.stack.rows("SELECT value FROM meta WHERE key = 'reconcile_cursor'")
        return int(value)

    def mine(self, blocks: int, confirmations: int) -> None:
        """Mine blocks, and wait until Muster has read all that these have made final, or more."""
        self._wait_cursor(self.node.head() - confirmations)
        before = self.cursor()
        self.node.mine(blocks)
        self._wait_cursor(max(before + 1, self.node.head() - confirmations))

    def _wait_cursor(self, block: int) -> None:
        eventually(lambda: self.cursor() >= block, PATIENCE_SECONDS, f"{block} is read")

    # -- the proof --------------------------------------------------------------------------

    def check(self) -> None:
        """The chain's logs, the books and what was told agree; all that is owed is paid once."""
        self.check_money()
        rollups = self.rollups()
        assert {one["status"] for one in rollups} <= {"paid"}, rollups
        carried = Counter(proof for one in rollups for proof in one["proof_ids"])
        proofs = self.stack.pages(self.gig.owner, self.gig, "proofs")
        assert carried == Counter(proof["id"] for proof in proofs)
        told = Counter(event["subject"]["id"] for event in self.events("payout.paid"))
        told.subtract(event["subject"]["id"] for event in self.events("payout.taken_back"))
        assert told == Counter(one["id"] for one in rollups)
        assert self.stack.complaints() == []

    def check_money(self) -> None:
        """Every unit that came in is held or went out as the chain's logs say, and as the books."""
        with Miner(self.stack):
            report = self.audit()
        assert report["faults"] == []
        node = self.node
        paid = node.events(PaidOut)
        settled = node.events(DepositSettled)
        keys = [event.payout_key for event in [*paid, *settled]]  # type: ignore[attr-defined]
        assert len(set(keys)) == len(keys), "a payout was made twice"
        came = _sum(node.events(PotDeposited)) + _sum(node.events(DepositOpened))
        went = sum(event.gross_units for event in paid) + _sum(settled)  # type: ignore[attr-defined]
        back = _sum(node.events(PotRefunded)) + _sum(node.events(DepositRefunded))
        gifts = report["unsolicited_units"]
        assert node.treasury.held_units() == came + gifts - went - back
        assert report["deposits_units"] == came
        assert report["paid_units"] == went
        assert report["refunded_units"] == back
        pot = sum(
            event.amount_units  # type: ignore[attr-defined]
            for event in node.events(PotDeposited)
            if event.gig_key == gig_key(self.gig.id)  # type: ignore[attr-defined]
        )
        told = [event["data"]["amount"] for event in self.events("pot.deposited")]
        undone = [
            event["data"]["amount"]
            for event in self.events("chain.taken_back")
            if event["data"]["what"] == "pot.deposited"
        ]
        assert int((sum(told) - sum(undone)) * UNITS_PER_DOLLAR) == pot

    def audit(self) -> Any:
        done = self.stack.run("audit", "--json")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)


def _sum(events: list[Any]) -> int:
    return sum(event.amount_units for event in events)
