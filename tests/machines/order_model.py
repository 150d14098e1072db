"""What must come of orders, by nothing but what the API said yes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.orders.test_quote import Cold
from tests.shop import Shop
from tests.world import Person

PAYABLE = ("approved", "timeout_approved")


@dataclass
class Buyer:
    """Who orders: his hot wallet, and one whose key the install never sees."""

    person: Person
    wallet_id: str
    hot: str
    cold: Cold


@dataclass
class Delivery:
    """A proof, and its status by what was said of it."""

    proof_id: str
    verdict: str = "pending"


@dataclass
class Order:
    """An order, and what its two sides have done with it.

    `undone`: its undoing was accepted, and it was not sent again since. `left`: its depositor has
    taken the deposit back by himself, or the operator has ruled that it goes back.
    """

    shop: Shop
    buyer: Buyer
    task_id: str
    # The newest quote, as it was answered.
    quote: Any = None
    deliveries: list[Delivery] = field(default_factory=list)
    undone: bool = False
    left: bool = False

    @property
    def path(self) -> str:
        return f"{self.shop.path}/tasks/{self.task_id}"

    @property
    def newest(self) -> Delivery | None:
        return self.deliveries[-1] if self.deliveries else None

    @property
    def approved(self) -> bool:
        return self.newest is not None and self.newest.verdict in PAYABLE


@dataclass
class OrderModel:
    shops: list[Shop] = field(default_factory=list)
    buyers: list[Buyer] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    # Of each address, what it had at first.
    began_with: dict[str, int] = field(default_factory=dict)
