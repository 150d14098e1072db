"""An install of an example's own, its people, and what they ask it for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from engine import clock, proofs
from engine.chain.client import Call
from engine.chain.treasury import PotPayout, Settlement
from engine.db import db
from engine.models.rollup import UNPAID, Rollup
from tests.machines.driver import Driver, Time
from tests.machines.model import Model, Place, Work, address_of, dollars
from tests.machines.node import Node, node
from tests.services import Postgres, Sqlite
from tests.world import Answer, Gig, Person, World

NOT_WAITING = {"prefer": "wait=0"}
RICH_DOLLARS = 1_000_000


class Scene:
    """One owner with two wallets, any gigs, any workers."""

    def __init__(self, world: World, chain: Node, time: Time) -> None:
        self.world, self.node, self.time = world, chain, time
        self.driver = Driver(chain, time)
        self.model = Model()
        self.wallets: list[str] = []
        self.wallet_addresses: list[str] = []
        self.arrive()
        chain.automine(False)
        chain.settle_floor()
        # Was something taken back that had been final?
        self.reorganised = False

    def arrive(self) -> None:
        """The people, before the chain stops mining by itself."""
        self.owner = self.world.person("owner")
        self.wallets = [self.world.funded_wallet(self.owner, RICH_DOLLARS) for _ in range(2)]
        found = {one["id"]: one["evm_address"] for one in self.owner.get("/wallets")["wallets"]}
        self.wallet_addresses = [found[wallet_id] for wallet_id in self.wallets]

    def ask(self, person: Person, method: str, path: str, body: Any = None) -> Answer:
        """A refusal is an answer too; an error of ours is not."""
        answer = person.call(method, path, body, headers=NOT_WAITING)
        self._check(answer)
        return answer

    def _check(self, answer: Answer) -> None:
        away = answer.status in (502, 503) and not self.driver.gate.is_good
        assert answer.status < 500 or away, f"{answer.status}: {answer.text}"

    # -- asking -----------------------------------------------------------------------------

    def open_gig(self, *, escrow: bool, min_payout_units: int) -> Place:
        fields: dict[str, Any] = {
            "price": "1",
            # Nothing rings for it but `run_out`.
            "review_timeout": 1,
            "min_payout": dollars(min_payout_units),
            "allow_price_offers": not escrow,
        }
        if escrow:
            fields |= {
                "task_escrow": True,
                "owner_wallet": self.wallet_addresses[0],
                "webhook_daily_spend": "100000",
            }
        gig: Gig = self.world.gig(self.owner, **fields)
        place = Place(gig, escrow, min_payout_units)
        self.model.places.append(place)
        self.join(place)
        return place

    def join(self, place: Place) -> None:
        if not place.cancelled:
            place.workers.append(self.world.worker(place.gig))

    def fill(self, place: Place, cents: int, wallet: int = 0) -> None:
        body = {"wallet_alias_id": self.wallets[wallet], "amount": dollars(cents * 10_000)}
        answer = self.ask(self.owner, "POST", f"{place.gig.path}/deposit", body)
        if answer.status == 202:
            place.deposits[answer.json["command_id"]] = cents * 10_000

    def send(self, place: Place, units: int) -> None:
        query = {"token": place.gig.token, "price": dollars(units)}
        path = f"/inbound/webhook/{place.gig.id}?" + "&".join(f"{k}={v}" for k, v in query.items())
        headers = {**NOT_WAITING, "content-type": "text/plain"}
        answer = self.world.call("POST", path, raw=b"do it", headers=headers)
        self._check(answer)
        if answer.status == 200:
            self.model.prices[answer.json["message_id"]] = units

    def prove(self, place: Place, worker: Person, *, asks: bool = False) -> list[str]:
        """Take the next task and hand in a proof of it, `asks` for more than its price."""
        answer = self.ask(worker, "POST", f"{place.gig.path}/queue/poll", {"count": 1})
        if answer.status != 200:
            return []
        made = []
        for task in answer.json["tasks"]:
            body = {"task_identifier": task["id"], "proofs": ["done"]}
            asking = 2 * int(task["price"] * 1_000_000) + 1 if asks and not place.escrow else None
            if asking is not None:
                body["asking_price"] = dollars(asking)
            proof = self.ask(worker, "POST", f"{place.gig.path}/proofs", body).ok()["proof"]
            # The price of a task that was funded first is told here for the first time.
            units = self.model.prices.setdefault(task["id"], int(task["price"] * 1_000_000))
            assert int(proof["locked_price"] * 1_000_000) == units
            self.model.works[proof["id"]] = Work(place, worker, task["id"], units, asking)
            made.append(proof["id"])
        return made

    def verdict(self, proof_id: str, action: str) -> None:
        """Approve, reject, or agree to what is asked."""
        work = self.model.works[proof_id]
        body: dict[str, Any] = {"action": "reject" if action == "reject" else "approve"}
        if action == "agree" and work.asking_units is not None:
            body["amount"] = dollars(work.asking_units)
        path = f"{work.place.gig.path}/proofs/{proof_id}"
        answer = self.ask(self.owner, "PATCH", path, body)
        if answer.status != 200:
            return
        if "amount" in body:
            work.units = work.asking_units or 0
        elif action == "reject" or work.verdict != "approved":
            work.units = work.locked_units
        work.verdict = {"reject": "rejected", "approve": "approved"}[body["action"]]
        assert int(answer.json["locked_price"] * 1_000_000) == work.units

    def run_out(self) -> int:
        """The review time of all that waits for a verdict is over; answers how many it was."""
        self.time.advance(2)
        waiting = [work for work in self.model.works.values() if work.verdict == "pending"]
        assert proofs.time_out() == len(waiting)
        for work in waiting:
            work.verdict, work.units = "timeout_approved", work.locked_units
        return len(waiting)

    def report(self, proof_id: str) -> bool:
        work = self.model.works[proof_id]
        path = f"{work.place.gig.path}/proofs/{proof_id}/report"
        done = self.ask(self.owner, "POST", path, {}).status == 200
        if done:
            work.verdict = "reported"
        return done

    def settle(self, place: Place) -> None:
        self.ask(self.owner, "POST", f"{place.gig.path}/rollups")

    def cancel(self, place: Place) -> None:
        answer = self.ask(self.owner, "POST", f"{place.gig.path}/cancel", {})
        place.cancelled = place.cancelled or answer.status in (200, 202)

    # -- others with our key ----------------------------------------------------------------

    def unpaid(self) -> list[Rollup]:
        with db.reading():
            query = Rollup.select().where(UNPAID)
            return list(query.order_by(Rollup.created_at, Rollup.id))

    def pay_by_another_copy(self, rollup: Rollup, nonce: int | None = None, gwei: int = 60) -> bool:
        """The same payout, signed with the same key outside of this install."""
        return bool(
            self.node.by_hand(self.node.local.operator_key, self._payout(rollup), nonce, gwei)
        )

    def _payout(self, rollup: Rollup) -> Call:
        treasury = self.node.treasury
        if rollup.deposit_id is None:
            one = PotPayout(rollup.id, rollup.gig_id, rollup.wallet_address, rollup.gross_units)
            return treasury.pay_from_pots([one])
        return treasury.settle(
            [Settlement(rollup.id, rollup.deposit_id, rollup.wallet_address, rollup.gross_units)]
        )

    def worker_addresses(self) -> list[str]:
        return self.model.addresses()

    def blacklist(self, worker: Person, on: bool) -> None:
        self.node.token("blacklist" if on else "unBlacklist", address_of(worker))


SceneT = TypeVar("SceneT", bound=Scene)


@contextmanager
def opened(make: type[SceneT], databases: Sqlite | Postgres, **settings: str) -> Iterator[SceneT]:
    """A chain, a database and an install, all fresh."""
    url, time = databases.fresh(), Time()
    with node() as chain, pytest.MonkeyPatch.context() as patched:
        world = World(url, "memory://", chain=chain.local, CONFIRMATIONS="2", **settings)
        patched.setattr(clock, "now", time.now)
        try:
            yield make(world, chain, time)
        finally:
            world.stop()
            databases.drop(url)


@contextmanager
def scene(databases: Sqlite | Postgres) -> Iterator[Scene]:
    with opened(Scene, databases) as made:
        yield made
