"""The operator's nonces, when the pool forgets, and when somebody else sends with the same key."""

from __future__ import annotations

from typing import Any

import pytest

from engine.chain.client import Call
from engine.chain.local import LocalChain
from engine.chain.treasury import PaidOut
from tests.faults.flow import Miner
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import Layout, Starter
from tests.world import approved_proof, at_once, eventually

LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", 2, 2, 1)}
ROLLUPS = 10
DAY = 86_400


def _sent(scene: Scene, statuses: str = "'sent'") -> list[tuple[Any, ...]]:
    """(nonce, hash, to, data, rollup) of the payouts' transactions, by nonce."""
    return scene.stack.rows(
        "SELECT t.nonce, a.tx_hash, t.to_address, t.data, r.id FROM chain_transaction t "
        "JOIN chain_attempt a ON a.transaction_id = t.id "
        "JOIN rollup r ON r.chain_transaction_id = t.id "
        f"WHERE t.status IN ({statuses}) AND t.intent LIKE 'payout:%' ORDER BY t.nonce"
    )


@pytest.mark.case("F24")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
def test_ten_rollups_at_once_a_lost_one_and_one_by_hand_are_all_mined_and_paid_once(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    # What was stored is sent again as it is, and not for more.
    stack = start_stack(LAYOUTS[name], chain, BUMP_SECONDS=str(DAY))
    scene = Scene(stack)
    gigs = [stack.gig(scene.gig.owner, price="2.50") for _ in range(ROLLUPS)]
    people = [stack.worker(gig) for gig in gigs]
    with Miner(stack):
        for end in [scene.ask(f"{gig.path}/deposit", _amount(scene)) for gig in gigs]:
            scene.done(end)
    for gig, worker in zip(gigs, people, strict=True):
        approved_proof(stack, gig, worker)

    with scene.node.not_mining():
        ends = at_once(ROLLUPS, lambda number: scene.settle(gigs[number]))
        waiting = eventually(lambda: _pooled(scene), 60, "all ten wait in the pool")
        nonces = [row[0] for row in waiting]
        assert nonces == list(range(nonces[0], nonces[0] + ROLLUPS))
        by_hand = scene.node.by_hand()
        dropped = waiting[ROLLUPS // 2]
        scene.node.drop(dropped[1])
        assert not scene.node.known(dropped[1])
    stack.advance(LONG_SECONDS)

    with Miner(stack):
        for end in ends:
            end()
    again = {row[4]: row for row in _succeeded(scene, ROLLUPS)}
    # The very same bytes, so the very same nonce.
    assert again[dropped[4]][:2] == dropped[:2]
    assert scene.node.receipt(dropped[1]).status == 1
    for worker in people:
        assert scene.earned(worker) == PRICE_UNITS
    assert len(scene.node.events(PaidOut)) == ROLLUPS
    for gig in gigs:
        assert len(stack.events(gig, "payout.paid")) == 1
    # What was sent by hand stood behind ours, so the pool forgot it together with those.
    assert not scene.node.known(by_hand) or scene.node.receipt(by_hand).status == 1
    _goes_on(scene)
    scene.check()


def _succeeded(scene: Scene, count: int) -> list[tuple[Any, ...]]:
    def look() -> list[tuple[Any, ...]]:
        found = _sent(scene, "'succeeded'")
        return found if len(found) == count else []

    return eventually(look, 60, f"{count} have succeeded")  # type: ignore[no-any-return]


def _pooled(scene: Scene) -> list[tuple[Any, ...]]:
    rows = _sent(scene)
    return rows if sum(scene.node.waits(row[1]) for row in rows) == ROLLUPS else []


def _amount(scene: Scene) -> dict[str, str]:
    return {"wallet_alias_id": scene.wallet_id, "amount": "10"}


def _goes_on(scene: Scene) -> None:
    """The queue moves without hand work: another payout goes through."""
    before = scene.earned()
    with Miner(scene.stack):
        scene.approved()
        scene.settle()()
    assert scene.earned() == before + PRICE_UNITS


@pytest.mark.case("F24")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
def test_one_sent_by_hand_only_shifts_the_nonces(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack, workers=2)
    with scene.node.not_mining():
        scene.approved(scene.people[0])
        first = scene.settle()
        scene.wait_status("sent")
        scene.wait_pooled()
        by_hand = scene.node.by_hand()
        scene.approved(scene.people[1])
        second = scene.settle()
        scene.wait_status("sent", "sent")
    with Miner(stack):
        first()
        second()
    nonces = [row[0] for row in _succeeded(scene, 2)]
    assert nonces == [nonces[0], nonces[0] + 2]
    assert scene.node.receipt(by_hand).status == 1
    assert [scene.earned(worker) for worker in scene.people] == [PRICE_UNITS] * 2
    scene.check()


@pytest.mark.case("F24")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("same", [True, False], ids=["the-same-call", "another"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_payout_whose_nonce_is_taken_by_hand_is_paid_once(
    start_stack: Starter, chain: LocalChain, name: str, same: bool
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack)
    with scene.node.not_mining():
        scene.approved()
        end = scene.settle()
        ((nonce, tx_hash, to, data, _),) = eventually(lambda: _sent(scene), 60, "it is sent")
        eventually(lambda: scene.node.waits(tx_hash), 60, "it is in the pool")
        call = Call(to, bytes.fromhex(data[2:])) if same else None
        by_hand = scene.node.by_hand(nonce, call)
        assert not scene.node.known(tx_hash)
    assert scene.node.receipt(by_hand).status == 1

    with Miner(stack):
        end()

    assert scene.earned() == PRICE_UNITS
    (paid,) = scene.node.events(PaidOut)
    assert (paid.tx_hash == by_hand) == same
    (rollup,) = scene.rollups()
    assert rollup["tx_hash"] == paid.tx_hash
    ours = (
        f"SELECT status FROM chain_transaction WHERE nonce = {nonce} "
        f"AND signer = '{scene.node.operator}'"
    )
    ended = [("succeeded",)] if same else [("replaced",)]
    eventually(lambda: stack.rows(ours) == ended, 60, f"ours has {ended}, not {stack.rows(ours)}")
    scene.check()
