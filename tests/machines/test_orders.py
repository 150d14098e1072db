"""Any sequence of orders, faults and meddling ends with every order in one honest state.

`order_machine.py` has the rules, `order_checks.py` what must hold, `order_healing.py` how each
example ends.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.machines.order_machine import order_machine
from tests.machines.order_scene import SETTINGS, OrderScene
from tests.machines.playing import play
from tests.machines.scene import opened
from tests.services import Postgres, Sqlite

BACKENDS = ("sqlite", "postgres")
FEW = 4
ROUNDS = [
    pytest.param(FEW, 25, id="few"),
    pytest.param(40, 150, id="many", marks=pytest.mark.soak),
]


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-05")
@pytest.mark.rule("O-09")
@pytest.mark.rule("O-10")
@pytest.mark.rule("Y-05")
@pytest.mark.parametrize(("examples", "steps"), ROUNDS)
@pytest.mark.parametrize("kind", BACKENDS)
def test_whatever_happens_each_order_is_paid_once_or_its_buyer_has_his_money_back(
    kind: str, examples: int, steps: int, anvil: None, request: pytest.FixtureRequest
) -> None:
    seen: Counter[str] = Counter()
    databases: Sqlite | Postgres = request.getfixturevalue(kind)
    with opened(OrderScene, databases, **SETTINGS):
        """Imports what is imported late."""
    play(order_machine(databases, seen), examples, steps, derandomize=examples == FEW)
    # It did come about: vendors were paid, and orders undone.
    print(dict(seen))
    assert seen["paid"] >= examples
    assert seen["undone"] >= examples
