"""One Idempotency-Key, many processes at the same moment, and after all of them were killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.processes import SQLITE_MANY, Layout, Stack, Starter
from tests.waiting.callers import taken
from tests.waiting.test_keys import same
from tests.world import Answer, Gig, Person, at_once, eventually

LAYOUTS = {"sqlite": SQLITE_MANY, "postgres": Layout("postgres", 3, 1, 1)}
AT_ONCE = 25
Send = Callable[..., Answer]


@dataclass(frozen=True)
class Keyed:
    """One kind of request: sent with its body or another, by its person or somebody else."""

    name: str
    person: Person | None
    path: str
    body: dict[str, Any]
    other_body: dict[str, Any]
    effects: Callable[[], int]
    method: str = "POST"

    def send(self, stack: Stack, via: int | None = None, other: bool = False) -> Answer:
        headers = {"idempotency-key": "the one key", "prefer": "wait=60"}
        if self.person is not None:
            headers["x-api-key"] = self.person.key
        body = self.other_body if other else self.body
        return stack.call(self.method, self.path, body, headers=headers, via=via)


def _requests(stack: Stack, gig: Gig, worker: Person, late: Person) -> Iterator[Keyed]:
    owner, path = gig.owner, gig.path

    def rows(sql: str) -> Callable[[], int]:
        before = int(stack.rows(sql)[0][0])
        return lambda: int(stack.rows(sql)[0][0]) - before

    def of(table: str, where: str = "1 = 1") -> Callable[[], int]:
        return rows(f"SELECT count(*) FROM {table} WHERE {where}")

    webhook = f"/inbound/webhook/{gig.id}?token={gig.token}"
    yield Keyed("webhook", None, webhook, {"n": 1}, {"n": 2}, of("task"))
    gig_body = {"title": "One"}
    yield Keyed("gig", owner, "/gigs", gig_body, {"title": "Two"}, of("gig"))
    yield Keyed("wallet", owner, "/wallets", {"label": "a"}, {"label": "b"}, of("wallet"))
    join = {"invite": gig.invite}
    mailboxes = of("mailbox")
    yield Keyed("join", late, f"{path}/mailboxes", join, {**join, "name": "x"}, mailboxes)
    for number in range(4):
        stack.task(gig, str(number))
    one, two = {"count": 1}, {"count": 2}
    claimed = of("event", "type = 'task.claimed'")
    yield Keyed("poll", worker, f"{path}/queue/poll", one, two, claimed)
    (task_id,) = taken(worker.call("POST", f"{path}/queue/poll", one))
    proof = {"task_identifier": task_id, "proofs": ["done"]}
    other_proof = {**proof, "proofs": ["another"]}
    yield Keyed("proof", worker, f"{path}/proofs", proof, other_proof, of("proof"))
    (proof_id,) = (proof["id"] for proof in stack.pages(owner, gig, "proofs"))
    review = f"{path}/proofs/{proof_id}"
    yes, no = {"action": "approve"}, {"action": "reject"}
    approved = of("event", "type = 'proof.approved'")
    yield Keyed("review", owner, review, yes, no, approved, method="PATCH")
    deposit = {"wallet_alias_id": stack.funded_wallet(owner), "amount": "20"}
    deposits = of("command", "kind LIKE '%deposit%' AND status = 'done'")
    other_deposit = {**deposit, "amount": "21"}
    yield Keyed("deposit", owner, f"{path}/deposit", deposit, other_deposit, deposits)
    yield Keyed("rollups", owner, f"{path}/rollups", {}, {"x": 1}, of("rollup"))


@pytest.mark.case("F13")
@pytest.mark.rule("H-07")
@pytest.mark.parametrize("name", LAYOUTS)
def test_of_25_at_once_under_one_key_one_has_an_effect_and_its_answer_stays(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    gig = stack.gig(price="2")
    worker, late = stack.worker(gig), stack.person("late")
    first: list[tuple[Keyed, Answer]] = []

    with Miner(stack):
        for request in _requests(stack, gig, worker, late):
            answers = at_once(AT_ONCE, lambda n, one=request: one.send(stack, via=n))

            served = [one for one in answers if one.status < 300]
            for other in (one for one in answers if one.status >= 300):
                other.refused(409, "in_progress")
                assert int(other.headers["retry-after"]) > 0
            original = [one for one in served if "idempotency-replayed" not in one.headers]
            assert len(original) == 1, request.name
            for again in served:
                if again is not original[0]:
                    same(original[0], again)
            assert request.effects() == 1, request.name
            same(original[0], request.send(stack))
            first.append((request, original[0]))

    stack.restart()
    before = _counts(stack)
    for request, original_answer in first:
        same(original_answer, request.send(stack))
        request.send(stack, other=True).refused(422, "idempotency_mismatch")
    assert _counts(stack) == before
    assert stack.complaints() == []


def _counts(stack: Stack) -> list[Any]:
    tables = ("task", "gig", "wallet", "mailbox", "proof", "event", "command", "rollup")
    return [stack.rows(f"SELECT count(*) FROM {table}") for table in tables]


@pytest.mark.rule("H-07")
@pytest.mark.rule("H-08")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_key_whose_command_is_under_way_says_so_in_every_process(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain, CONFIRMATIONS="30")
    gig = stack.gig()
    body = {"wallet_alias_id": stack.funded_wallet(gig.owner), "amount": "20"}

    def deposit(prefer: str) -> Answer:
        headers = {"idempotency-key": "d", "prefer": prefer}
        return gig.owner.call("POST", f"{gig.path}/deposit", body, headers=headers)

    assert deposit("respond-async").status == 202
    for _ in stack.serves:
        told = deposit("wait=10")
        told.refused(409, "in_progress")
        assert told.headers["retry-after"] == "1"
    stack.restart()
    deposit("wait=10").refused(409, "in_progress")
    # Past the lease of whoever was at it when he was killed.
    stack.advance(60)
    with Miner(stack, blocks=30):
        eventually(lambda: deposit("wait=1").status == 200, 60, "it is final")
    assert deposit("wait=1").headers["idempotency-replayed"] == "true"
    assert len(stack.rows("SELECT id FROM command WHERE kind LIKE '%deposit%'")) == 1
    assert stack.complaints() == []
