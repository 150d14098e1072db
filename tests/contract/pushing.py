"""A mode without a queue: a task that has the tag `nobody` is given to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import modes
from engine.hookspecs import impl
from engine.plans import GigFacts, ModeInfo, Plan, Reply, TaskFacts
from plugins import defaults


class Pushing:
    @impl
    def describe(self) -> ModeInfo:
        return ModeInfo(names=("pushing",), title="Pushing", description="Nobody polls.")

    @impl
    def distribute(self, gig: GigFacts, task: TaskFacts) -> Plan:
        if "nobody" in task.tags:
            return (Reply({"status": "dropped", "reason": "no_matching_mailboxes"}),)
        return (Reply({"status": "waiting"}),)


@pytest.fixture
def pushing() -> Iterator[None]:
    modes.install(Pushing(), defaults)
    yield
    del modes._modes["pushing"]
