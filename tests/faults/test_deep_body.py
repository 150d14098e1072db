"""A body that is nothing but brackets is refused, and ends no server."""

from __future__ import annotations

import pytest

from engine.chain.local import LocalChain
from tests.processes import SQLITE, Starter

DEEP = 100_000
BODIES = ["[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP]


@pytest.mark.rule("H-11")
def test_brackets_without_end_are_refused_by_a_server_that_has_spoken_to_its_chain(
    start_stack: Starter, chain: LocalChain
) -> None:
    stack = start_stack(SQLITE, chain)
    gig = stack.gig()
    # The libraries of the chain, which are loaded by its first use, raise Python's own limit.
    assert stack.call("GET", "/health").ok()["chain"] is not None
    headers = {"content-type": "application/json"}

    for body in BODIES:
        path = f"/inbound/webhook/{gig.id}?token={gig.token}"
        stack.call("POST", path, raw=body.encode(), headers=headers).refused(400, "invalid")
        gig.owner.call("POST", "/gigs", raw=body.encode(), headers=headers).refused(400, "invalid")

    assert stack.serves[0].running
    assert stack.complaints() == []
