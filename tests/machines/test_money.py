"""Any sequence of work, faults and meddling ends with everybody paid once, to the unit.

`machine.py` has the rules, `checks.py` what must hold, `healing.py` how each example ends.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.machines.machine import machine
from tests.machines.playing import play
from tests.machines.scene import scene
from tests.services import Postgres, Sqlite

BACKENDS = ("sqlite", "postgres")
FEW = 5
ROUNDS = [
    pytest.param(FEW, 25, id="few"),
    pytest.param(40, 200, id="many", marks=pytest.mark.soak),
]


@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-04")
@pytest.mark.rule("Y-05")
@pytest.mark.case("F26")
@pytest.mark.parametrize(("examples", "steps"), ROUNDS)
@pytest.mark.parametrize("kind", BACKENDS)
def test_whatever_happens_everybody_is_paid_once_and_every_unit_is_accounted_for(
    kind: str, examples: int, steps: int, anvil: None, request: pytest.FixtureRequest
) -> None:
    seen: Counter[str] = Counter()
    databases: Sqlite | Postgres = request.getfixturevalue(kind)
    with scene(databases):
        """Imports what is imported late."""
    play(machine(databases, seen), examples, steps, derandomize=examples == FEW)
    # It did come about: money moved, and was taken back when it had been final.
    print(dict(seen))
    assert seen["paid"] > examples
    assert seen["taken back"] > 0
