"""Any mix of sending, taking, giving back and meddling keeps a queue's promises.

`queue_model.py` says what should happen, `queue_machine.py` asks for it.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.machines.playing import play
from tests.machines.queue_machine import machine
from tests.services import Postgres, Sqlite
from tests.world import World

BACKENDS = ("sqlite", "postgres")
EVERYTHING = (
    "claimed",
    "declined",
    "proven",
    "expired",
    "recycled",
    "assigned",
    "returned",
    "storms",
    "drafted",
    "withdrawn",
)
FEW = 15
ROUNDS = [
    pytest.param(FEW, 40, id="few"),
    pytest.param(100, 100, id="many", marks=pytest.mark.soak),
]


@pytest.mark.rule("Q-01")
@pytest.mark.rule("Q-03")
@pytest.mark.rule("Q-05")
@pytest.mark.rule("M-05")
@pytest.mark.rule("D-01")
@pytest.mark.rule("P-01")
@pytest.mark.rule("T-06")
@pytest.mark.rule("R-03")
@pytest.mark.parametrize(("examples", "steps"), ROUNDS)
@pytest.mark.parametrize("kind", BACKENDS)
def test_no_task_is_held_twice_or_lost_and_order_and_limits_hold(
    kind: str, examples: int, steps: int, request: pytest.FixtureRequest
) -> None:
    seen: Counter[str] = Counter()
    databases: Sqlite | Postgres = request.getfixturevalue(kind)
    # Imports what is imported late.
    url = databases.fresh()
    World(url, "memory://").stop()
    play(machine(databases, seen), examples, steps, derandomize=examples == FEW)
    print(dict(seen))
    for what in ("claimed", "storms") if examples == FEW else EVERYTHING:
        assert seen[what] > 0, what
