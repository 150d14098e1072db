"""A gig in full swing: tasks are sent, taken, proven, approved and paid, whatever breaks meanwhile.

Nobody here is clever: who gets no answer asks again until he has one. Only submissions carry an id
of their own (`external_id`), so only they are repeated as they are; a worker who lost the answer of
his poll finds what he holds by reading the tasks.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from engine.chain import local
from engine.rules.money import UNITS_PER_DOLLAR
from tests.processes import Broken, Stack
from tests.world import Answer, Person, eventually

WORKERS = 3
# Longer than the lease of a command, and than the age at which a lost message is sent again.
LONG_SECONDS = 200
DRAIN_SECONDS = 180
PAUSE_SECONDS = 0.3


class Miner:
    """Blocks go on, so that what was sent becomes final."""

    def __init__(self, stack: Stack, blocks: int = 1) -> None:
        assert stack.chain is not None
        self._url, self._blocks = stack.chain.rpc_url, blocks
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._mine, daemon=True)

    def _mine(self) -> None:
        while not self._done.wait(PAUSE_SECONDS):
            local.mine(self._url, self._blocks)

    def __enter__(self) -> Miner:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()


class Flow:
    """Start it with `with`, do harm inside, and `finish()` before leaving."""

    def __init__(self, stack: Stack, seed: int) -> None:
        self.stack, self.seed = stack, seed
        self.gig = stack.gig(price="1.25", review_timeout=-1)
        self.people = [stack.worker(self.gig) for _ in range(WORKERS)]
        with Miner(stack):
            stack.fund(self.gig, "500")
        # external id -> (query, the one answer that all repeats must give)
        self.sent: dict[str, tuple[dict[str, str], str]] = {}
        self.handed_out: list[tuple[str, str]] = []
        self.errors: list[BaseException] = []
        self._sending, self._running = threading.Event(), threading.Event()
        self._parts = [self._send, self._approve, self._settle]
        self._parts += [lambda one=person: self._work(one) for person in self.people]  # type: ignore[misc]
        self._threads = [
            threading.Thread(target=self._guarded, args=(part,), daemon=True)
            for part in self._parts
        ]

    def __enter__(self) -> Flow:
        self._sending.set()
        self._running.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._sending.clear()
        self._running.clear()
        for thread in self._threads:
            thread.join(60)

    # -- the people -------------------------------------------------------------------------

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:
            self.errors.append(error)

    def _ask(self, person: Person | None, method: str, path: str, body: Any = None) -> Any:
        """An answer's body; None when there was no answer, or a refusal that a repeat may meet."""
        caller = self.stack if person is None else person
        try:
            answer: Answer = caller.call(method, path, body, headers={"prefer": "wait=1"})
        except Broken:
            time.sleep(0.1)
            return None
        assert answer.status < 500, f"{method} {path}: {answer.status} {answer.text}"
        return answer.json if answer.status < 300 else None

    def _send(self) -> None:
        while self._sending.is_set():
            name = f"order-{len(self.sent)}"
            # A repeat is the same to the byte, so its price follows from its name.
            cents = random.Random(f"{self.seed} {name}").randint(5, 150)
            query = {"external_id": name, "price": f"{cents / 100:.2f}"}
            try:
                answer = self.stack.send(self.gig, name, **query)
            except Broken:
                time.sleep(0.1)
                continue
            self.sent[name] = (query, answer.ok()["message_id"])
            time.sleep(0.15)

    def _work(self, worker: Person) -> None:
        while self._running.is_set():
            polled = self._ask(worker, "POST", f"{self.gig.path}/queue/poll", {"count": 2})
            tasks = [] if polled is None else [task["id"] for task in polled["tasks"]]
            self.handed_out += [(task_id, worker.id) for task_id in tasks]
            if not tasks:
                tasks = self._held_by(worker)
            for task_id in tasks:
                body = {"task_identifier": task_id, "proofs": [f"by {worker.id}"]}
                self._ask(worker, "POST", f"{self.gig.path}/proofs", body)
            time.sleep(0.1)

    def _held_by(self, worker: Person) -> list[str]:
        """What he took without hearing of it; the owner sees who holds what."""
        held = []
        known = [task_id for _, task_id in list(self.sent.values())]
        # All of them at the end; before that the newest, which he may have taken just now.
        for task_id in known[-40:] if self._sending.is_set() else known:
            told = self._ask(self.gig.owner, "GET", f"{self.gig.path}/tasks/{task_id}")
            if told is None:
                break
            mine = told["task"]["mailbox_id"] == worker.mailbox["id"]  # type: ignore[attr-defined]
            if mine and told["task"]["status"] == "claimed":
                held.append(task_id)
        return held

    def _approve(self) -> None:
        owner, path = self.gig.owner, self.gig.path
        while self._running.is_set():
            found = self._ask(owner, "GET", f"{path}/proofs?status=pending")
            for proof in [] if found is None else found["proofs"]:
                self._ask(owner, "PATCH", f"{path}/proofs/{proof['id']}", {"action": "approve"})
            time.sleep(0.1)

    def _settle(self) -> None:
        while self._running.is_set():
            self._ask(self.gig.owner, "POST", f"{self.gig.path}/rollups")
            time.sleep(0.4)

    # -- the end ----------------------------------------------------------------------------

    def finish(self) -> None:
        """No more tasks; the harm is over and time passes; wait until all of them are paid."""
        self._sending.clear()
        self.stack.advance(LONG_SECONDS)
        eventually(self._all_paid, DRAIN_SECONDS, f"all are paid (seed {self.seed})")
        assert self.errors == [], f"seed {self.seed}: {self.errors}"

    def _all_paid(self) -> bool:
        if self.errors:
            return True
        proofs = self.stack.pages(self.gig.owner, self.gig, "proofs")
        paid = [proof for proof in proofs if proof["paid_out_at"] is not None]
        time.sleep(0.2)
        return len(paid) == len(self.sent)

    def check(self) -> None:
        """Each task was held once, proven once, approved once and paid once, by the chain's word.

        Call it after the threads have ended.
        """
        told = f"seed {self.seed}"
        owner, stack, gig = self.gig.owner, self.stack, self.gig
        for name, (query, message_id) in self.sent.items():
            assert stack.send(gig, name, **query).ok()["message_id"] == message_id, told
        assert len({message_id for _, message_id in self.sent.values()}) == len(self.sent), told
        twice = [task for task, n in Counter(task for task, _ in self.handed_out).items() if n > 1]
        assert twice == [], f"{told}: handed out twice: {twice}"

        proofs = stack.pages(owner, gig, "proofs")
        assert Counter(proof["task_identifier"] for proof in proofs) == Counter(
            message_id for _, message_id in self.sent.values()
        ), told
        assert {proof["status"] for proof in proofs} <= {"approved"}, told
        rollups = stack.pages(owner, gig, "rollups")
        print(f"{told}: {len(proofs)} proofs in {len(rollups)} rollups")
        assert len(proofs) > WORKERS, "nothing was going on"
        carried = Counter(proof_id for rollup in rollups for proof_id in rollup["proof_ids"])
        assert carried == Counter(proof["id"] for proof in proofs), told
        assert {rollup["status"] for rollup in rollups} <= {"paid"}, told
        paid_events = Counter(e["subject"]["id"] for e in stack.events(gig, "payout.paid"))
        assert paid_events == Counter(rollup["id"] for rollup in rollups), told
        for worker in self.people:
            mailbox = worker.mailbox  # type: ignore[attr-defined]
            own = [proof for proof in proofs if proof["mailbox_id"] == mailbox["id"]]
            earned = sum(int(proof["locked_price"] * UNITS_PER_DOLLAR) for proof in own)
            assert stack.usdc_units(mailbox["wallet_address"]) == earned, told
        stack.audit()
        assert stack.complaints() == [], told
