"""Gigs whose tasks have a deposit each, beside a scene's own gig."""

from __future__ import annotations

from tests.faults.money.scene import NOT_WAITING, PATIENCE_SECONDS, PRICE, Scene
from tests.processes import Broken
from tests.world import Gig, eventually


def escrow_gig(scene: Scene) -> Gig:
    """Of the scene's owner, out of his wallet."""
    wallets = scene.gig.owner.get("/wallets")["wallets"]
    (address,) = [one["evm_address"] for one in wallets if one["id"] == scene.wallet_id]
    return scene.stack.gig(
        scene.gig.owner,
        price=PRICE,
        review_timeout=-1,
        task_escrow=True,
        owner_wallet=address,
        webhook_daily_spend="100",
    )


def submit(scene: Scene, gig: Gig, external_id: str) -> None:
    """Send a task until that is answered, whoever dies of it."""
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id={external_id}"

    def sent() -> bool:
        try:
            answer = scene.stack.call("POST", path, {"n": 1}, headers=NOT_WAITING)
        except Broken:
            scene.revive()
            return False
        assert answer.status in (200, 202), answer.text
        return True

    eventually(sent, PATIENCE_SECONDS, "the task is taken")


def states(scene: Scene, gig: Gig) -> list[str]:
    """Of the gig's deposits, in the order in which they were planned."""
    rows = scene.stack.rows(
        f"SELECT status FROM escrow WHERE gig_id = '{gig.id}' ORDER BY created_at, attempt"
    )
    return [status for (status,) in rows]


def wait_states(scene: Scene, gig: Gig, *wanted: str) -> None:
    eventually(
        lambda: states(scene, gig) == list(wanted),
        PATIENCE_SECONDS,
        f"the deposits are {wanted}",
    )
