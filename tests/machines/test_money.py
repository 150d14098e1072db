"""Any sequence of work, faults and meddling ends with everybody paid once, to the unit.

`machine.py` has the rules, `checks.py` what must hold, `healing.py` how each example ends.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machines.machine import machine
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
        """What is imported late moves the recursion limit, which hypothesis takes for a fault."""
    run_state_machine_as_test(
        machine(databases, seen),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=examples == FEW,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
    # It did come about: money moved, and was taken back when it had been final.
    print(dict(seen))
    assert seen["paid"] > examples
    assert seen["taken back"] > 0
