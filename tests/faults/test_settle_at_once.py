"""Ten settlements of one gig at the same moment, through several API processes."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.processes import Layout, Stack, Starter
from tests.world import Gig, Person, approved_proof, at_once, eventually

LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", 2, 2, 1)}
AT_ONCE, WORKERS, PROOFS = 10, 3, 3


@pytest.mark.case("F24")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
def test_ten_settlements_at_once_pay_each_proof_once(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    gig = stack.gig(price="2.50")
    people = [stack.worker(gig) for _ in range(WORKERS)]
    with Miner(stack):
        stack.fund(gig, "100")
        proofs = [approved_proof(stack, gig, one) for one in people for _ in range(PROOFS)]

        def settle(number: int) -> int:
            return gig.owner.call("POST", f"{gig.path}/rollups", via=number).status

        answers = Counter(at_once(AT_ONCE, settle))
        assert set(answers) <= {200, 202}, answers
        rollups = eventually(lambda: _all_paid(stack, gig), 60, "all are paid")

    assert Counter(one for rollup in rollups for one in rollup["proof_ids"]) == Counter(proofs)
    for worker in people:
        assert _earned(stack, worker) == PROOFS * 2_500_000
    stack.audit()
    assert stack.complaints() == []


def _all_paid(stack: Stack, gig: Gig) -> list[dict[str, object]]:
    rollups = stack.pages(gig.owner, gig, "rollups")
    return rollups if all(one["status"] == "paid" for one in rollups) else []


def _earned(stack: Stack, worker: Person) -> int:
    return stack.usdc_units(worker.mailbox["wallet_address"])  # type: ignore[attr-defined]
