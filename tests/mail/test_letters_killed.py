"""Letters while the processes that send them are killed (U-02, F09)."""

from __future__ import annotations

import pytest

from tests.mail.server import Server
from tests.processes import Layout, Starter
from tests.world import eventually

WORKERS, MAILBOXES = 4, 5


@pytest.mark.rule("U-02")
@pytest.mark.case("F09")
def test_each_of_five_workers_gets_his_letter_although_half_of_the_processes_are_killed(
    start_stack: Starter,
) -> None:
    """One each; who is killed between the server's word and his own commit sends the same again."""
    server = Server()
    # Long enough that whoever sends is killed at it.
    server.inbox.seconds = 0.3
    server.start()
    try:
        stack = start_stack(Layout("postgres", 1, WORKERS, 1), SMTP_URL=server.url)
        gig = stack.gig(distribution="free_for_all")
        people = [stack.worker(gig) for _ in range(MAILBOXES)]
        stack.send(gig).ok()
        assert server.inbox.began.wait(20)
        stack.kill(*stack.workers[:2])

        def done() -> bool:
            # What the killed ones had in hand is nobody's once their lease is over.
            stack.advance(31)
            states = stack.rows("SELECT status FROM command WHERE kind = 'mail.notice'")
            return len(states) == MAILBOXES and {status for (status,) in states} == {"done"}

        eventually(done, 60, "every letter is sent")
        sent = [(letter["To"], letter["Message-ID"]) for letter in server.inbox.letters]
        assert sorted({to for to, _ in sent}) == sorted(one.email for one in people)
        assert len({message_id for _, message_id in sent}) == len(set(sent)) == MAILBOXES
        # Each of the two had at most one under way.
        assert len(sent) <= MAILBOXES + 2
        assert stack.complaints() == []
    finally:
        server.stop()
