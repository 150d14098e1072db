"""Shops, their buyers, and what both ask an install of an example's own for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine import proofs
from engine.chain.deposit_terms import Terms
from engine.chain.keys import new_key
from engine.db import db
from engine.models.escrow import Escrow
from engine.models.proof import Proof
from tests.machines.model import dollars
from tests.machines.order_model import Buyer, Delivery, Order, OrderModel
from tests.machines.scene import NOT_WAITING, Scene
from tests.orders.test_quote import Cold, terms_of
from tests.shop import Shop, shop
from tests.world import ADMIN_KEY, Answer, Person, at_once

SETTINGS = {"ORDERS_PER_MINUTE": "100000", "SPONSOR_GAS_DAILY": "100000"}
PRICE_UNITS = 500_000
WINDOW_SECONDS = 3600
DISPUTE_SECONDS = 3600
NOTE = "the poem itself"
# The second one cannot pay for much.
BUYERS_HAVE = (1000, 3)
ETHER_WEI = 10**19
RICH_UNITS = 10**9


@dataclass(frozen=True)
class Asked:
    """A call of the API, and what it means for the model that it was answered so."""

    call: Callable[[], Answer]
    note: Callable[[Answer], None]


class OrderScene(Scene):
    """Two shops of two vendors, two buyers who have joined both."""

    def arrive(self) -> None:
        self.sold = OrderModel()
        self.refusals: Counter[str] = Counter()
        # Deposits for a shop on terms that nobody here has made.
        self.strays: set[str] = set()
        self.node.chain.request("evm_setNextBlockTimestamp", self.time.ms // 1000)
        self.node.mine()
        self.time.followers.append(self._pass)
        for price in ("0.50", "0.02"):
            place = shop(self.world, price, review_timeout=WINDOW_SECONDS)
            self.sold.shops.append(place)
        for has in BUYERS_HAVE:
            self.sold.buyers.append(self._buyer(has))
        people = [one.hot for one in self.sold.buyers] + [
            one.cold.address for one in self.sold.buyers
        ]
        self.wallet_addresses = people
        self.payees = []
        for place in self.sold.shops:
            (mailbox,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
            self.payees.append(str(mailbox["wallet_address"]))
        treasury = self.node.treasury
        self.sold.began_with = {one: treasury.usdc_units(one) for one in people}

    def _pass(self, seconds: int) -> None:
        """The chain's time goes by with ours."""
        self.node.chain.request("evm_increaseTime", seconds)
        self.node.mine()

    def _buyer(self, has: int) -> Buyer:
        person = self.world.person("buyer")
        for place in self.sold.shops:
            self.world.worker(place.gig, person)
        wallet_id = self.world.funded_wallet(person, has)
        (wallet,) = [one for one in person.get("/wallets")["wallets"] if one["id"] == wallet_id]
        cold = Cold(self.world, new_key()[0])
        treasury, node = self.node.treasury, self.node
        assert node.push(node.local.minter_key, treasury.mint(cold.address, RICH_UNITS))
        assert node.push(cold.key, treasury.approve(10**12))
        return Buyer(person, wallet_id, str(wallet["evm_address"]), cold)

    def worker_addresses(self) -> list[str]:
        """Of those who are paid."""
        return self.payees

    def do(self, asked: Asked) -> Answer:
        answer = asked.call()
        self._take(asked, answer)
        return answer

    def do_both(self, one: Asked, other: Asked) -> list[Answer]:
        """In two threads, at once."""
        calls = (one, other)
        answers: list[Answer] = at_once(2, lambda number: calls[number].call())
        for asked, answer in zip(calls, answers, strict=True):
            self._take(asked, answer)
        return answers

    def _take(self, asked: Asked, answer: Answer) -> None:
        self._check(answer)
        if answer.status >= 400:
            self.refusals[answer.json["reason"]] += 1
        else:
            asked.note(answer)

    def _asked(
        self,
        person: Person,
        method: str,
        path: str,
        body: Any = None,
        note: Callable[[Answer], None] = lambda _: None,
    ) -> Asked:
        return Asked(lambda: person.call(method, path, body, headers=NOT_WAITING), note)

    # -- the buyer --------------------------------------------------------------------------

    def draft(self, place: Shop, buyer: Buyer) -> Order | None:
        """None where the shop takes none just now."""
        answer = place.save(buyer.person)
        self._check(answer)
        if answer.status != 200:
            self.refusals[answer.json["reason"]] += 1
            return None
        self.sold.orders.append(Order(place, buyer, answer.json["message_id"]))
        return self.sold.orders[-1]

    def edit(self, order: Order, words: str) -> Asked:
        return self._asked(order.buyer.person, "PATCH", f"{order.path}/payload", {"payload": words})

    def publish(self, order: Order, units: int | None, **body: Any) -> Asked:
        given = {} if units is None else {"amount": dollars(units)}
        if units is not None and "authorization" not in body:
            given["wallet_alias_id"] = order.buyer.wallet_id
        return self._asked(
            order.buyer.person,
            "POST",
            f"{order.path}/publish",
            {**given, **body},
            lambda _: self._sent(order),
        )

    def _sent(self, order: Order) -> None:
        order.undone = order.left = False

    def quote(self, order: Order, units: int) -> Asked:
        def note(answer: Answer) -> None:
            order.quote = answer.json

        body = {"amount": dollars(units), "wallet_address": order.buyer.cold.address}
        path = f"{order.path}/publish/quote"
        return self._asked(order.buyer.person, "POST", path, body, note)

    def publish_signed(self, order: Order) -> Asked:
        signature = order.buyer.cold.sign(order.quote)
        return self.publish(order, None, authorization=signature)

    def quoted_terms(self, order: Order) -> Terms:
        return terms_of(order.quote, order.shop.gig.id)

    def rule_on(self, order: Order, action: str, person: Person | None = None) -> Asked:
        delivery = order.newest
        assert delivery is not None
        given = {"rejection_tag": "other"} if action == "reject" else {}

        def note(_: Answer) -> None:
            assert person is None, "the vendor has ruled on his own delivery"
            assert not order.undone or self.reorganised, "ruled on although it was undone"
            delivery.verdict = {"approve": "approved", "reject": "rejected"}[action]

        return self._asked(
            person or order.buyer.person,
            "PATCH",
            f"{order.shop.path}/proofs/{delivery.proof_id}",
            {"action": action, **given},
            note,
        )

    # -- the vendor -------------------------------------------------------------------------

    def deliver(self, order: Order) -> Asked:
        def note(answer: Answer) -> None:
            proof_id = answer.json["proof"]["id"]
            if order.newest is not None and order.newest.proof_id == proof_id:
                order.newest.verdict = "pending"
            else:
                order.deliveries.append(Delivery(proof_id))

        body = {"task_identifier": order.task_id, "proofs": ["a preview"], "private_note": NOTE}
        return self._asked(order.shop.vendor, "POST", f"{order.shop.path}/proofs", body, note)

    def change_shop(self, place: Shop, **fields: Any) -> Asked:
        return self._asked(place.vendor, "PATCH", place.path, fields)

    # -- either, and others -----------------------------------------------------------------

    def side(self, order: Order, vendor: bool) -> Person:
        return order.shop.vendor if vendor else order.buyer.person

    def undo(self, order: Order, vendor: bool) -> Asked:
        def note(answer: Answer) -> None:
            if answer.json.get("reason") == "never_funded":
                return
            free = order.left or order.undone or self.reorganised
            assert free or not order.approved, "undone although it was approved"
            order.undone = True

        return self._asked(self.side(order, vendor), "POST", f"{order.path}/withdraw", None, note)

    def report_on(self, order: Order, vendor: bool) -> Asked:
        delivery = order.newest
        assert delivery is not None

        def note(_: Answer) -> None:
            delivery.verdict = "reported"

        path = f"{order.shop.path}/proofs/{delivery.proof_id}/report"
        return self._asked(self.side(order, vendor), "POST", path, {"reason": "no poem"}, note)

    def resolve(self, order: Order, verdict: str) -> Asked:
        delivery = order.newest
        assert delivery is not None

        def note(_: Answer) -> None:
            if verdict == "pay":
                delivery.verdict = "approved"
            else:
                order.left = True

        path = f"/admin/proofs/{delivery.proof_id}/resolve"
        body, key = {"verdict": verdict, "reason": "so it is"}, {"x-admin-key": ADMIN_KEY}
        return Asked(lambda: self.world.call("POST", path, body, headers=key), note)

    def settle_by(self, place: Shop, person: Person) -> Asked:
        return self._asked(person, "POST", f"{place.path}/rollups")

    def run_out(self) -> int:
        """The clock approves what is due; answers how many it was."""
        done = proofs.time_out()
        with db.reading():
            timed = Proof.select(Proof.id).where(Proof.status == "timeout_approved")
            found = {row.id for row in timed}
        for order in self.sold.orders:
            for delivery in order.deliveries:
                if delivery.proof_id in found and delivery.verdict == "pending":
                    delivery.verdict = "timeout_approved"
        return done

    def documented(self) -> str:
        """All that the install's own description of its API says."""
        return self.world.call("GET", "/openapi.json").text

    def stray_units(self) -> int:
        """What the contract holds on such terms."""
        found = [self.node.treasury.deposit_on_chain(one) for one in self.strays]
        return sum(one.units for one in found if one.state == "open")

    def deposit_of(self, order: Order) -> Escrow | None:
        with db.reading():
            query = Escrow.select().where(Escrow.task_id == order.task_id)
            return query.order_by(Escrow.attempt.desc()).first()  # type: ignore[no-any-return]
