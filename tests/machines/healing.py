"""Everything that was broken is mended, and the install is left to work until it is quiet."""

from __future__ import annotations

from engine import deposits, settlement
from engine.chain import sender
from engine.db import db
from engine.models.proof import UNCARRIED, Proof
from engine.rules import money
from tests.machines import checks
from tests.machines.model import Place
from tests.machines.node import RICH_WEI
from tests.machines.scene import Scene

MOST_ROUNDS = 40
# Past every pause before another try, and every patience with what somebody else has sent.
ROUND_SECONDS = 7 * 3600


def heal(scene: Scene) -> None:
    """Nothing is in the way any more."""
    node = scene.node
    scene.driver.gate.heal()
    # What a reorg has put back into the pool may stop something again.
    node.mine(3)
    for address in (node.operator, node.refunder, *scene.wallet_addresses):
        node.set_ether(address, RICH_WEI)
    for address in (*scene.wallet_addresses, *scene.worker_addresses()):
        if node.token_says("isBlacklisted", address)[0]:
            node.token("unBlacklist", address)
    if node.token_says("paused")[0]:
        node.token("unpause")
    node.resume()


def until_quiet(scene: Scene) -> None:
    """Work on until nothing is under way and nobody is owed; AssertionError if that never comes."""
    for _ in range(MOST_ROUNDS):
        scene.time.advance(ROUND_SECONDS)
        scene.driver.ring()
        if not any(one.kind == deposits.KIND for one in scene.driver.unfinished()):
            for place in scene.model.places:
                _top_up(scene, place)
        settlement.request_all()
        scene.driver.step_all()
        scene.node.mine(3)
        assert scene.driver.reconcile()
        checks.always(scene)
        if not _left(scene):
            return
    raise AssertionError(f"not quiet after {MOST_ROUNDS} rounds: {_left(scene)}")


def _left(scene: Scene) -> list[str]:
    """What is not at its end, and can come to it."""
    left = under_way(scene)
    with db.reading():
        for proof in Proof.select().where(UNCARRIED, Proof.locked_price_units > 0):
            if _is_due(scene, proof):
                left.append(f"{proof.id} of {proof.gig_id} is not carried")
    return left


def under_way(scene: Scene) -> list[str]:
    """Commands, payouts and transactions that have not ended."""
    left = [f"{one.kind} {one.id} {one.status}" for one in scene.driver.unfinished()]
    for rollup in scene.unpaid():
        left.append(f"{rollup.id} {rollup.status} {rollup.failure}")
    if sender.has_open():
        left.append("a transaction is open")
    return left


def _is_due(scene: Scene, proof: Proof) -> bool:
    (place,) = [one for one in scene.model.places if one.gig.id == proof.gig_id]
    together = Proof.select().where(UNCARRIED, Proof.mailbox_id == proof.mailbox_id)
    return sum(one.locked_price_units or 0 for one in together) >= place.min_payout_units


def _top_up(scene: Scene, place: Place) -> None:
    """What the pot lacks for all that it owes is put in."""
    if place.escrow:
        return
    treasury = scene.node.treasury
    fee_bps = treasury.fee_bps()
    with db.reading():
        owed = [
            one.gross_units
            for one in scene.unpaid()
            if one.gig_id == place.gig.id and one.deposit_id is None
        ]
        loose = Proof.select().where(UNCARRIED, Proof.gig_id == place.gig.id)
        owed += [one.locked_price_units or 0 for one in loose]
    needed = sum(units + money.fee_on_top(units, fee_bps) for units in owed)
    reserved = sum(
        one.gross_units + one.fee_units for one in scene.unpaid() if one.gig_id == place.gig.id
    )
    held = treasury.pot_units(place.gig.id)
    short = max(needed - held, 0) + max(needed - reserved, 0)
    if needed > held or reserved:
        scene.fill(place, short // 10_000 + 100)
