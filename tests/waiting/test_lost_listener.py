"""PostgreSQL ends the connection that listens, while callers wait (Q-06)."""

from __future__ import annotations

import pytest

from tests.processes import Layout, Starter
from tests.waiting.callers import parked, taken, waiting_poll

WAITING = 10


@pytest.mark.rule("Q-06")
def test_callers_who_wait_get_their_tasks_although_the_listening_connection_was_ended(
    start_stack: Starter,
) -> None:
    stack = start_stack(Layout("postgres", serve=2))
    gig = stack.gig()
    people = [stack.worker(gig) for _ in range(WAITING)]
    for delay in (False, True):
        waiting = [waiting_poll(one, gig, 40, via=n) for n, one in enumerate(people)]
        parked()

        ended = stack.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
        assert len(ended) == 2
        if delay:
            # Sent after the connections are there again, not while nobody listens.
            parked()
            parked()
            parked()
        sent = [stack.task(gig, str(n)) for n in range(WAITING)]

        got = [task_id for one in waiting for task_id in taken(one.answer())]
        assert sorted(got) == sorted(sent)
        assert max(one.seconds for one in waiting) < 15
    assert stack.complaints() == []
