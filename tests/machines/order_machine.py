"""What may happen to orders and their money, as rules that hypothesis puts in any order."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine import escrow_funding, settlement
from engine.chain.deposit_terms import Terms
from engine.chain.keys import Call, unsigned
from tests.machines import checks, healing, order_checks, order_healing
from tests.machines.driver import PLAIN, READS, STEPS
from tests.machines.machine import DEPTHS, DROP, OFFERS, OTHER, PICKS, RATES, SAME
from tests.machines.node import RICH_WEI
from tests.machines.order_model import Order
from tests.machines.order_scene import SETTINGS, Asked, OrderScene
from tests.machines.rpc import MODES, UP
from tests.machines.scene import opened
from tests.services import Postgres, Sqlite

MOST_ORDERS = 12
CONFIRMATIONS = 2
DAY = 86_400
# Cents beyond the shop's price; below it; parts of a cent.
MORE = st.sampled_from([0, 0, 0, 1, 7, 250, 2000, -1])
STAGES = ("draft", "asked", "sent", "claimed", "delivered", "judged", "judged", "settled")
VERDICTS = ("approve", "approve", "reject", "again", "run out", "report", "-")
QUOTED = ("-", "signed", "signed", "sent", "too little", "twice", "sent and signed", "for later")
DONE = (
    "undo",
    "undo",
    "deliver",
    "approve",
    "reject",
    "report",
    "run out",
    "pay",
    "refund",
    "edit",
)
PAIRS = (
    ("publish", "publish"),
    ("approve", "undo"),
    ("approve", "undo"),
    ("settle", "undo"),
    ("settle", "undo"),
    ("undo", "undo other"),
    ("deliver", "undo"),
    ("report", "settle"),
    ("publish", "quote"),
    ("publish", "undo"),
    ("approve", "reject"),
    ("refund", "settle"),
)
DISTURBED = ("undo", "undo", "settle", "settle", "publish", "approve", "deliver", "refund")
# What either of the two may do.
SIDES = ("undo", "settle", "report")
PAUSES = (2, 61, 3601, 3601, 7 * 3600, 61 * 3600)
# How an order that was given back is sent once more, and how far that comes.
AGAIN = ("", "asked", "sent", "mined", "elsewhere", "elsewhere")
SHOPS = ("dearer", "cheaper", "close", "reopen", "away", "back", "fee", "fee")
FAULTS = (
    *("time", "time", "blacklist", "blacklist", "token", "payouts", "operator", "refunder"),
    *("hot", "gift", "down soon", *MODES, UP, UP),
)
BY_HAND = (DROP, DROP, SAME, OTHER)


def order_machine(databases: Sqlite | Postgres, seen: Counter[str]) -> type[RuleBasedStateMachine]:
    """The machine over one kind of database; `seen` counts what came about."""

    class Orders(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self._opened: AbstractContextManager[OrderScene] = opened(
                OrderScene, databases, **SETTINGS
            )
            self.scene = self._opened.__enter__()
            # Did all hold at the last look? What is broken is not looked at in the end.
            self.is_well = False

        # -- picking ------------------------------------------------------------------------

        @property
        def orders(self) -> list[Order]:
            return self.scene.sold.orders

        def pick(self, number: int) -> Order:
            return self.orders[-1 - number % len(self.orders)]

        def units(self, order: Order, cents: int) -> int:
            """What this shop asks for now, and some more."""
            price = int(order.shop.vendor.get(order.shop.path)["gig"]["list_price"] * 1_000_000)
            return max(price + cents * 10_000, 10_000)

        # -- orders -------------------------------------------------------------------------

        @initialize()
        def begin(self) -> None:
            """One that was approved, one that was undone, and one that is delivered."""
            for number, stage in enumerate(("judged", "claimed", "delivered")):
                self._order(number, number, 0, stage, "approve" if stage == "judged" else "-")
            self.scene.do(self.scene.undo(self.orders[1], vendor=False))
            self.carry_on()

        @rule(
            number=PICKS,
            who=PICKS,
            cents=MORE,
            stage=st.sampled_from(STAGES),
            verdict=st.sampled_from(VERDICTS),
        )
        def order(self, number: int, who: int, cents: int, stage: str, verdict: str) -> None:
            if len(self.orders) < MOST_ORDERS:
                self._order(number, who, cents, stage, verdict)

        def _order(self, number: int, who: int, cents: int, stage: str, verdict: str) -> None:
            """From a draft as far as `stage`, if nothing is in the way."""
            scene, sold = self.scene, self.scene.sold
            place = sold.shops[number % len(sold.shops)]
            order = scene.draft(place, sold.buyers[who % len(sold.buyers)])
            if order is not None:
                self._go_on(order, cents, stage, verdict)

        @rule(
            number=PICKS,
            cents=MORE,
            stage=st.sampled_from(STAGES),
            verdict=st.sampled_from(VERDICTS),
        )
        def go_on(self, number: int, cents: int, stage: str, verdict: str) -> None:
            self._go_on(self.pick(number), cents, stage, verdict)

        def _go_on(self, order: Order, cents: int, stage: str, verdict: str) -> None:
            scene, at = self.scene, STAGES.index(stage)
            if at < STAGES.index("asked"):
                return
            # A tip of a few cents is paid from the wallet elsewhere.
            if cents in (1, 7):
                self._quote(order, cents, "signed", 30)
            else:
                scene.do(scene.publish(order, self.units(order, cents)))
            if at >= STAGES.index("sent"):
                scene.driver.step_all()
            if at >= STAGES.index("claimed"):
                self.carry_on()
            if at >= STAGES.index("delivered"):
                scene.do(scene.deliver(order))
            if at >= STAGES.index("judged"):
                self._judge(order, verdict)
            if at >= STAGES.index("settled"):
                scene.do(scene.settle_by(order.shop, order.buyer.person))
                scene.driver.step_all()

        def _judge(self, order: Order, verdict: str) -> None:
            if order.newest is None or verdict == "-":
                return
            if verdict in ("run out", "report"):
                self._act(order, "run out", False)
                if verdict == "report":
                    self._act(order, "report", False)
                return
            self._act(order, "reject" if verdict == "again" else verdict, False)
            if verdict == "again":
                self._act(order, "deliver", True)

        @rule(number=PICKS, cents=MORE, plain=st.booleans())
        def publish(self, number: int, cents: int, plain: bool) -> None:
            """Whatever has become of it; `plain` finishes one that is paid for."""
            order = self.pick(number)
            units = None if plain else self.units(order, cents)
            self.scene.do(self.scene.publish(order, units))

        @rule(number=PICKS, what=st.sampled_from(DONE), vendor=st.booleans())
        def act(self, number: int, what: str, vendor: bool) -> None:
            self._act(self.pick(number), what, vendor)

        def _act(self, order: Order, what: str, vendor: bool) -> None:
            seen[what] += 1
            if what == "run out":
                self.scene.time.advance(3601)
                self.scene.run_out()
                return
            asked = self._asked(order, what, vendor)
            if asked is not None:
                self.scene.do(asked)

        def _asked(self, order: Order, what: str, vendor: bool) -> Asked | None:
            scene = self.scene
            if what in ("undo", "undo other"):
                return scene.undo(order, vendor is (what == "undo"))
            if what == "deliver":
                return scene.deliver(order)
            if what == "edit":
                return scene.edit(order, f"a longer one, {len(self.orders)}")
            if what == "publish":
                return scene.publish(order, self.units(order, 0))
            if what == "quote":
                return scene.quote(order, self.units(order, 0))
            if what == "settle":
                return scene.settle_by(order.shop, scene.side(order, vendor))
            if order.newest is None:
                return None
            if what == "report":
                return scene.report_on(order, vendor)
            if what in ("pay", "refund"):
                return scene.resolve(order, what)
            return scene.rule_on(order, what, order.shop.vendor if vendor else None)

        @rule(number=PICKS, pair=st.sampled_from(PAIRS), vendor=st.booleans())
        def at_once(self, number: int, pair: tuple[str, str], vendor: bool) -> None:
            order = self.pick(number)
            one, other = (self._asked(order, what, vendor and "undo" in what) for what in pair)
            if one is not None and other is not None:
                seen["at once"] += 1
                self.scene.do_both(one, other)

        @rule(
            number=PICKS,
            first=st.sampled_from(DISTURBED),
            then=st.sampled_from(DISTURBED),
            vendor=st.booleans(),
            sent=st.booleans(),
            blocks=st.integers(0, 5),
            depth=DEPTHS,
            returned=st.booleans(),
        )
        def disturbed(
            self,
            number: int,
            first: str,
            then: str,
            vendor: bool,
            sent: bool,
            blocks: int,
            depth: int,
            returned: bool,
        ) -> None:
            """Something is done of which the chain loses what it had, and then something else."""
            order = self.pick(number)
            self._act(order, first, vendor and first in SIDES)
            if sent:
                self.scene.driver.step_all()
            self.scene.node.mine(blocks)
            if blocks > CONFIRMATIONS:
                self.look(PLAIN, 0, False)
            self._reorg(depth, returned)
            self._act(order, then, not vendor and then in SIDES)
            self.carry_on()

        @rule(
            number=PICKS,
            who=PICKS,
            again=st.sampled_from(AGAIN),
            blocks=st.integers(1, 3),
        )
        def payout_wins(self, number: int, who: int, again: str, blocks: int) -> None:
            """What was refused its payout went back; on another chain the payout was first."""
            node, driver = self.scene.node, self.scene.driver
            if len(self.orders) >= MOST_ORDERS or node.token_says("paused")[0]:
                return
            count = len(self.orders)
            self._order(number, who, 0, "judged", "approve")
            if len(self.orders) == count:
                return
            order = self.orders[-1]
            before = node.head()
            self._act(order, "settle", False)
            driver.step_all()
            raws = [one.raw_hex for row, one in driver.in_pool() if row.signer == node.operator]
            node.token("pause")
            self._short(blocks)
            node.token("unpause")
            self._act(order, "refund", False)
            self._short(blocks)
            if again == "elsewhere":
                self._quote(order, 0, "for later", 30)
            elif again:
                self._act(order, "publish", False)
                driver.step_all()
                if again != "asked":
                    driver.step_all()
                if again == "mined":
                    self._short(blocks)
            self._reorg(node.head() - before, False)
            seen["payouts that win"] += len(raws)
            for raw in raws:
                node.chain.broadcast(raw)
            if again == "elsewhere" and order.quote is not None:
                # Mined after the payout, and read with it.
                self._pay(order, "sent", 30)
            self.carry_on()

        def _short(self, blocks: int) -> None:
            """As `carry_on`, in few blocks."""
            for _ in range(2):
                self.scene.driver.step_all()
                self.scene.node.mine(blocks)
                self.scene.driver.reconcile()

        # -- wallets that the install has no key of --------------------------------------------

        @rule(number=PICKS, cents=MORE, then=st.sampled_from(QUOTED), gwei=OFFERS)
        def quote(self, number: int, cents: int, then: str, gwei: int) -> None:
            self._quote(self.pick(number), cents, then, gwei)

        def _quote(self, order: Order, cents: int, then: str, gwei: int) -> None:
            scene = self.scene
            answer = scene.do(scene.quote(order, self.units(order, cents)))
            if answer.status == 200:
                self._pay(order, then, gwei)

        @rule(number=PICKS, then=st.sampled_from(QUOTED), gwei=OFFERS)
        def pay_later(self, number: int, then: str, gwei: int) -> None:
            """On terms that may have run out, or have others in their place."""
            order = self.pick(number)
            if order.quote is not None:
                self._pay(order, then, gwei)

        def _pay(self, order: Order, then: str, gwei: int) -> None:
            scene = self.scene
            seen[f"quote {then}"] += 1
            if then in ("sent", "twice", "sent and signed"):
                for _ in range(2 if then == "twice" else 1):
                    self._deposit(order, scene.quoted_terms(order), gwei)
                order.undone = order.left = False
            if then == "too little":
                whole = scene.quoted_terms(order)
                less = {**vars(whole), "units": whole.units // 2}
                terms = Terms(**less)
                scene.strays.add(scene.node.treasury.deposit_id(terms))
                self._deposit(order, terms, gwei)
            if then in ("signed", "sent and signed"):
                scene.do(scene.publish_signed(order))

        def _deposit(self, order: Order, terms: Terms, gwei: int) -> None:
            node = self.scene.node
            node.set_ether(order.buyer.cold.address, RICH_WEI)
            node.by_hand(order.buyer.cold.key, node.treasury.deposit_for(terms), None, gwei)

        @rule(number=PICKS)
        def reclaim(self, number: int) -> None:
            """The depositor, by the contract alone: he announces it, or takes it."""
            scene, order = self.scene, self.pick(number)
            escrow = scene.deposit_of(order)
            if escrow is None or escrow.status not in ("open", "refunding"):
                return
            node, treasury = scene.node, scene.node.treasury
            key = order.buyer.cold.key
            if escrow.wallet_id is not None:
                key = escrow_funding.key_of(escrow).private_key
            on_chain = treasury.deposit_on_chain(escrow.id)
            if on_chain.state != "open":
                return
            if on_chain.reclaim_at:
                scene.time.advance(30 * DAY + 60)
                if node.push(key, treasury.reclaim(escrow.id)):
                    seen["reclaimed"] += 1
                    order.left = True
            else:
                scene.time.advance(90 * DAY + 60)
                seen["announced"] += node.push(key, treasury.request_reclaim(escrow.id))

        # -- shops ----------------------------------------------------------------------------

        @rule(number=PICKS, what=st.sampled_from(SHOPS), who=PICKS)
        def shop(self, number: int, what: str, who: int) -> None:
            scene, shops = self.scene, self.scene.sold.shops
            place = shops[number % len(shops)]
            fields: dict[str, Any] = {
                "dearer": {"list_price": "1.10"},
                "cheaper": {"list_price": "0.05"},
                "close": {"status": "closed"},
                "reopen": {"status": "active"},
            }
            if what in fields:
                answer = scene.do(scene.change_shop(place, **fields[what]))
                seen[f"{what} {answer.status}"] += 1
            elif what == "fee":
                scene.node.set_fee(RATES[who % len(RATES)])
            else:
                body = {"paused": what == "away"}
                path = f"{place.path}/mailboxes/{place.mailbox_id}"
                scene.ask(place.vendor, "PATCH", path, body)

        @rule(number=PICKS, vendor=st.booleans())
        def settle(self, number: int, vendor: bool) -> None:
            order = self.pick(number)
            self._act(order, "settle", vendor)

        @rule()
        def settle_all(self) -> None:
            """As the scheduler does it."""
            settlement.request_all()

        # -- the install ------------------------------------------------------------------------

        @rule(number=PICKS, how=st.sampled_from(STEPS))
        def step(self, number: int, how: str) -> None:
            found = self.scene.driver.unfinished()
            if found:
                seen[how] += 1
                self.scene.driver.step(found[number % len(found)].id, how)

        @rule(number=PICKS, how=st.sampled_from(STEPS), vendor=st.booleans(), between=st.booleans())
        def undo_meanwhile(self, number: int, how: str, vendor: bool, between: bool) -> None:
            """One side undoes it while a step of it ends so."""
            order = self.pick(number)
            if between:
                self._act(order, "undo", vendor)
            self.step(number, how)
            self._act(order, "undo", not vendor)
            self.step(number, PLAIN)

        @rule(how=st.sampled_from([PLAIN, PLAIN, *READS]), depth=DEPTHS, returned=st.booleans())
        def look(self, how: str, depth: int, returned: bool) -> None:
            done = self.scene.driver.reconcile(how, lambda: self._reorg(depth, returned))
            if done and self.scene.driver.gate.is_good:
                seen["looks"] += 1
                checks.at_cursor(self.scene)
                order_checks.notes(self.scene)

        @rule()
        def carry_on(self) -> None:
            """A while in which nothing happens to anybody."""
            for _ in range(3):
                self.scene.driver.step_all()
                self.scene.node.mine(3)
                self.scene.driver.reconcile()

        # -- the chain ------------------------------------------------------------------------

        @rule(blocks=st.integers(1, 5))
        def mine(self, blocks: int) -> None:
            self.scene.node.mine(blocks)

        @rule(depth=DEPTHS, returned=st.booleans())
        def reorg(self, depth: int, returned: bool) -> None:
            self._reorg(depth, returned)

        def _reorg(self, depth: int, returned: bool) -> None:
            lost = self.scene.driver.reorg(depth, returned=returned)
            seen["lost in a reorg"] += lost
            # What has fewer confirmations was not final for anybody.
            self.scene.reorganised |= lost > 0 and depth >= CONFIRMATIONS

        @rule(number=PICKS, what=st.sampled_from(BY_HAND), gwei=OFFERS)
        def by_hand(self, number: int, what: str, gwei: int) -> None:
            """The pool forgets something, or the operator's key is used outside of this install."""
            node, waiting = self.scene.node, self.scene.driver.in_pool()
            if what != DROP:
                waiting = [one for one in waiting if one[0].signer == node.operator]
            if not waiting:
                return
            row, attempt = waiting[number % len(waiting)]
            if what == DROP:
                node.drop(attempt.tx_hash)
                seen[what] += 1
            else:
                call = unsigned(attempt.raw_hex).call if what == SAME else Call(node.operator)
                sent = node.by_hand(node.local.operator_key, call, row.nonce, gwei)
                seen[what] += sent is not None

        @rule(what=st.sampled_from(FAULTS), number=PICKS, on=st.booleans())
        def fault(self, what: str, number: int, on: bool) -> None:
            scene, node, gate = self.scene, self.scene.node, self.scene.driver.gate
            people = (*scene.wallet_addresses, *scene.payees)
            seen[what] += 1
            if what == "time":
                scene.time.advance(PAUSES[number % len(PAUSES)])
                scene.driver.ring()
            elif what in MODES:
                gate.heal()
                gate.mode = what
            elif what == "down soon":
                gate.heal()
                gate.passes = 3 * number
            elif what == "blacklist":
                who = people[number % len(people)]
                node.token("blacklist" if on else "unBlacklist", who)
            elif what == "token":
                node.token("unpause" if on else "pause")
            elif what == "payouts":
                # Once only: another pause has to wait for a month.
                if on:
                    node.resume()
                elif not node.treasury.paused_until():
                    node.pause()
            elif what in ("operator", "refunder"):
                node.set_ether(getattr(node, what), RICH_WEI if on else 0)
            elif what == "hot":
                hot = scene.sold.buyers[number % len(scene.sold.buyers)].hot
                node.set_ether(hot, RICH_WEI if on else 0)
            elif what == "gift" and not node.token_says("paused")[0]:
                node.gift(1 + number)

        # -- what must hold -------------------------------------------------------------------

        @invariant()
        def holds(self) -> None:
            seen["steps"] += 1
            self.is_well = False
            order_checks.always(self.scene)
            self.is_well = True

        def teardown(self) -> None:
            try:
                if self.is_well:
                    healing.heal(self.scene)
                    order_healing.until_quiet(self.scene)
                    order_checks.in_the_end(self.scene)
                    seen["paid"] += sum(order.approved for order in self.orders)
                    seen["undone"] += sum(order.undone for order in self.orders)
                seen["taken back"] += checks.taken_back()
                seen.update({f"refused {k}": n for k, n in self.scene.refusals.items()})
            finally:
                self._opened.__exit__(None, None, None)

    return Orders
