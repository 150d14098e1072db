"""What the clock does in several processes, of which two are killed in the middle (F09)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deliveries.webhook_receiver import Receiver
from tests.processes import Layout, Starter
from tests.world import eventually

PROOFS, MAILBOXES = 20, 5
REVIEW_SECONDS = 3
# Past the lease of whoever was killed with something in hand.
LEASE_SECONDS = 120
LAYOUT = Layout("postgres", serve=1, worker=2, scheduler=2)


@pytest.fixture
def receivers() -> Iterator[list[Receiver]]:
    made = [Receiver() for _ in range(MAILBOXES)]
    yield made
    for one in made:
        one.close()


@pytest.mark.rule("R-05")
@pytest.mark.rule("U-02")
@pytest.mark.case("F09")
def test_two_killed_processes_cost_no_approval_and_no_push_and_repeat_none(
    start_stack: Starter, receivers: list[Receiver]
) -> None:
    stack = start_stack(LAYOUT)
    gig = stack.gig(review_timeout=REVIEW_SECONDS)
    worker = stack.worker(gig)
    pushing = stack.gig(gig.owner, distribution="free_for_all")
    mailboxes = {
        stack.worker(pushing, webhook=one.url()).mailbox["id"]  # type: ignore[attr-defined]
        for one in receivers
    }
    for number in range(PROOFS):
        body = {"task_identifier": stack.task(gig), "proofs": [str(number)]}
        worker.post(f"{gig.path}/proofs", body)
    sent = stack.send(pushing, "to all of you").ok()
    stack.advance(REVIEW_SECONDS)
    stack.kill(stack.workers[0], stack.schedulers[0])
    stack.start()
    stack.advance(LEASE_SECONDS)

    eventually(lambda: len(stack.events(gig, "proof.approved")) >= PROOFS)
    eventually(lambda: all(one.requests for one in receivers))
    approved = stack.events(gig, "proof.approved")
    assert len({event["subject"]["id"] for event in approved}) == len(approved) == PROOFS
    assert len({event["id"] for event in approved}) == PROOFS
    assert all(event["data"]["auto"] for event in approved)
    pushed = stack.events(pushing, "task.pushed")
    assert sorted(event["data"]["mailbox_id"] for event in pushed) == sorted(mailboxes)
    assert sorted(event["subject"]["id"] for event in pushed) == sorted(sent["message_ids"])
    # At least once (W-02): what may have been sent by one that died is sent again, as the same.
    told = [{got.headers["webhook-id"] for got in one.requests} for one in receivers]
    assert [len(ids) for ids in told] == [1] * MAILBOXES
    assert len(set().union(*told)) == MAILBOXES
    assert stack.complaints() == []
