"""What may happen to a gig and its money, as rules that hypothesis puts in any order."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from engine import settlement
from engine.chain.keys import Call, unsigned
from tests.machines import checks, healing
from tests.machines.driver import PLAIN, READS, STEPS
from tests.machines.model import Place, Work
from tests.machines.node import RICH_WEI
from tests.machines.rpc import MODES, UP
from tests.machines.scene import Scene, scene
from tests.services import Postgres, Sqlite

MOST_GIGS, MOST_WORKERS = 4, 3

# Whole cents, parts of cents, single base units.
PRICES = st.one_of(
    st.integers(1, 300).map(lambda cents: cents * 10_000),
    st.integers(1, 3_000_000),
    st.integers(1, 20),
)
PICKS = st.integers(0, 11)
DEPTHS = st.integers(1, 10)
OFFERS = st.sampled_from([30, 90, 300])
DROP, SAME, OTHER = "dropped", "replaced by the same", "replaced by another"
PAY_IN_ITS_PLACE, PAY_AT_ANY_PLACE = "paid in its place", "paid beside it"
MINIMA = (0, 10_000, 1_500_000)
PAUSES = (2, 6, 61, 301, 7 * 3600)
RATES = (0, 1, 333, 1000, 5000)
MANAGING = ("open", "join", "fill", "fill", "review", "review", "agree", "cancel")
# What becomes of a proof: agreed to at what its worker asks, approved by the clock, and disputed.
VERDICTS = {"a": "approve", "r": "reject", "g": "agree", "t": "run out", "d": "report"}
LEFT = "-"
FAULTS = (
    *("time", "time", "blacklist", "token", "payouts", "operator", "refunder"),
    *("fee", "gift", "fees", "down soon", *MODES, UP, UP),
)
HANDS = (DROP, SAME, OTHER, PAY_IN_ITS_PLACE, PAY_AT_ANY_PLACE)


def machine(databases: Sqlite | Postgres, seen: Counter[str]) -> type[RuleBasedStateMachine]:
    """The machine over one kind of database; `seen` counts what came about."""

    class Money(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self._opened = scene(databases)
            self.scene: Scene = self._opened.__enter__()
            self.is_over = False

        # -- picking ------------------------------------------------------------------------

        @property
        def places(self) -> list[Place]:
            return self.scene.model.places

        def place(self, pick: int) -> Place:
            return self.places[pick % len(self.places)]

        # -- work ---------------------------------------------------------------------------

        @initialize(cents=st.integers(300, 3000), prices=st.lists(PRICES, min_size=2, max_size=4))
        def begin(self, cents: int, prices: list[int]) -> None:
            """A gig with a pot and one that funds each task, with work in both."""
            for escrow in (False, True):
                place = self.scene.open_gig(escrow=escrow, min_payout_units=0)
                self.scene.join(place)
                self._fill(place, cents, 0)
                for units in prices:
                    self.scene.send(place, units)
            self.carry_on()
            for place in self.places:
                self._work(place, 0, "aad")

        @rule(
            what=st.sampled_from(MANAGING),
            pick=PICKS,
            who=PICKS,
            cents=st.integers(1, 3000),
            yes=st.booleans(),
        )
        def manage(self, what: str, pick: int, who: int, cents: int, yes: bool) -> None:
            place = self.place(pick)
            works: dict[str, Work] = self.scene.model.works
            if what == "open" and len(self.places) < MOST_GIGS and self.scene.driver.gate.is_good:
                self.scene.open_gig(escrow=yes, min_payout_units=MINIMA[who % len(MINIMA)])
            elif what == "join" and len(place.workers) < MOST_WORKERS:
                self.scene.join(place)
            elif what == "fill":
                self._fill(place, cents, who % 2)
            elif what == "review" and works:
                proof_id = list(works)[-1 - who % len(works)]
                self.scene.verdict(proof_id, "approve" if yes else "reject")
            elif what == "agree" and works:
                self.scene.verdict(list(works)[-1 - who % len(works)], "agree")
            elif what == "cancel" and (yes or place.cancelled):
                seen["cancelled"] += 1
                self.scene.cancel(place)

        def _fill(self, place: Place, cents: int, wallet: int) -> None:
            if not place.escrow:
                self.scene.fill(place, cents, wallet)

        @rule(
            pick=PICKS,
            who=PICKS,
            prices=st.lists(PRICES, min_size=1, max_size=3),
            verdicts=st.text(f"aaargtd{LEFT}{LEFT}", max_size=4),
            settled=st.sampled_from(["", "asked", "sent", "sent", "mined", "everywhere"]),
        )
        def work(self, pick: int, who: int, prices: list[int], verdicts: str, settled: str) -> None:
            place = self.place(pick)
            for units in prices:
                self.scene.send(place, units)
            self._work(place, who, verdicts)
            if settled == "everywhere":
                settlement.request_all()
            elif settled:
                self.scene.settle(place)
            if settled in ("sent", "mined"):
                self.scene.driver.step_all()
            if settled == "mined":
                self.scene.node.mine()

        def _work(self, place: Place, who: int, verdicts: str) -> None:
            worker = place.workers[who % len(place.workers)]
            for verdict in verdicts:
                for proof_id in self.scene.prove(place, worker, asks=verdict in ("g", LEFT)):
                    seen["proofs"] += 1
                    if verdict != LEFT:
                        self._judge(proof_id, VERDICTS[verdict])

        def _judge(self, proof_id: str, how: str) -> None:
            if how in ("run out", "report"):
                seen["timed out"] += self.scene.run_out()
            if how == "report":
                seen["reported"] += self.scene.report(proof_id)
            elif how != "run out":
                self.scene.verdict(proof_id, how)

        # -- what runs by itself, otherwise ---------------------------------------------------

        @rule(pick=PICKS, how=st.sampled_from(STEPS))
        def step(self, pick: int, how: str) -> None:
            commands = self.scene.driver.unfinished()
            if commands:
                seen[f"step {how}"] += 1
                self.scene.driver.step(commands[pick % len(commands)].id, how)

        @rule(
            pick=PICKS,
            who=PICKS,
            prices=st.lists(PRICES, min_size=1, max_size=3),
            what=st.none() | st.sampled_from(HANDS),
            gwei=OFFERS,
            blocks=st.integers(0, 5),
            read=st.booleans(),
            depth=st.integers(0, 10),
            returned=st.booleans(),
        )
        def payday(
            self,
            pick: int,
            who: int,
            prices: list[int],
            what: str | None,
            gwei: int,
            blocks: int,
            read: bool,
            depth: int,
            returned: bool,
        ) -> None:
            """Work is paid, and something comes between before it is final, or after."""
            self.work(pick, who, prices, "aaa", "sent")
            if what is not None:
                self.by_hand(who, what, gwei)
            self.scene.node.mine(blocks)
            if read:
                self.look(PLAIN, 0, False)
            if depth:
                self._reorg(depth, returned)

        @rule(how=st.sampled_from([PLAIN, PLAIN, *READS]), depth=DEPTHS, returned=st.booleans())
        def look(self, how: str, depth: int, returned: bool) -> None:
            done = self.scene.driver.reconcile(how, lambda: self._reorg(depth, returned))
            if done and self.scene.driver.gate.is_good:
                seen["looks"] += 1
                checks.at_cursor(self.scene)

        @rule()
        def carry_on(self) -> None:
            """A while in which nothing happens to anybody."""
            for _ in range(2):
                self.scene.driver.step_all()
                self.scene.node.mine(3)
                self.look(PLAIN, 0, False)

        # -- the chain ------------------------------------------------------------------------

        @rule(blocks=st.integers(1, 5))
        def mine(self, blocks: int) -> None:
            self.scene.node.mine(blocks)

        @rule(depth=DEPTHS, returned=st.booleans())
        def reorg(self, depth: int, returned: bool) -> None:
            self._reorg(depth, returned)

        def _reorg(self, depth: int, returned: bool) -> None:
            self.scene.reorganised = True
            seen["lost in a reorg"] += self.scene.driver.reorg(depth, returned=returned)

        @rule(pick=PICKS, what=st.sampled_from(HANDS), gwei=OFFERS)
        def by_hand(self, pick: int, what: str, gwei: int) -> None:
            """With the operator's key, outside of this install; or the pool forgets something."""
            node, waiting = self.scene.node, self.scene.driver.in_pool()
            if what == DROP:
                if waiting:
                    seen[what] += 1
                    node.drop(waiting[pick % len(waiting)][1].tx_hash)
                return
            ours = [one for one in waiting if one[0].signer == node.operator]
            row, attempt = ours[pick % len(ours)] if ours else (None, None)
            nonce = None if row is None else row.nonce
            key = node.local.operator_key
            if what in (PAY_AT_ANY_PLACE, PAY_IN_ITS_PLACE):
                rollups = self.scene.unpaid()
                if rollups:
                    where = nonce if what == PAY_IN_ITS_PLACE else None
                    rollup = rollups[pick % len(rollups)]
                    seen[what] += self.scene.pay_by_another_copy(rollup, where, gwei)
            elif attempt is not None:
                call = unsigned(attempt.raw_hex).call if what == SAME else Call(node.operator)
                seen[what] += bool(node.by_hand(key, call, nonce, gwei))

        # -- everybody else -------------------------------------------------------------------

        @rule(
            what=st.sampled_from(FAULTS),
            pick=PICKS,
            who=PICKS,
            on=st.booleans(),
            units=st.integers(1, 5_000_000),
        )
        def fault(self, what: str, pick: int, who: int, on: bool, units: int) -> None:
            node, gate, place = self.scene.node, self.scene.driver.gate, self.place(pick)
            paused = node.token_says("paused")[0]
            seen[what] += 1
            if what == "time":
                self.scene.time.advance(PAUSES[who % len(PAUSES)])
                self.scene.driver.ring()
            elif what in MODES:
                gate.heal()
                gate.mode = what
            elif what == "down soon":
                gate.heal()
                gate.passes = units % 40
            elif what == "blacklist":
                self.scene.blacklist(place.workers[who % len(place.workers)], on)
            elif what == "token":
                node.token("unpause" if on else "pause")
            elif what == "payouts":
                (node.resume if on else node.pause)()
            elif what in ("operator", "refunder"):
                node.set_ether(getattr(node, what), RICH_WEI if on else 0)
            elif what == "fee":
                node.set_fee(RATES[who % len(RATES)])
            elif what == "gift" and not paused:
                node.gift(units)
            elif what == "fees" and not paused:
                node.withdraw_fees(1 + who % 3)

        # -- what must hold -------------------------------------------------------------------

        @invariant()
        def holds(self) -> None:
            seen["steps"] += 1
            checks.always(self.scene)

        def teardown(self) -> None:
            try:
                if not self.is_over and self.places:
                    healing.heal(self.scene)
                    healing.until_quiet(self.scene)
                    checks.in_the_end(self.scene)
                    seen["paid"] += len(self.scene.model.approved())
                seen["taken back"] += checks.taken_back()
            finally:
                self._opened.__exit__(None, None, None)

    return Money
