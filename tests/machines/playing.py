"""How Hypothesis plays a machine: so many examples of so many steps, and no others kept."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def play(
    machine: type[RuleBasedStateMachine], examples: int, steps: int, *, derandomize: bool
) -> None:
    """Play it, and shrink what breaks it; `derandomize` makes it the same game each time.

    What is imported late moves the recursion limit, which Hypothesis takes for a fault: open the
    machine's scene once before.
    """
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
