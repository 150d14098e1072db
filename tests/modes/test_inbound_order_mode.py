"""The mode of shops, asked without a database: facts in, plans out."""

from __future__ import annotations

import dataclasses

import pytest

from engine import modes
from engine.operations import DEFAULT
from engine.plans import Assign, GigFacts, MoveTask, Proving, Reply, Selection, TaskFacts
from plugins import defaults, inbound_order

PAID = GigFacts(
    "GIG_1", "inbound_order", "fifo", 0, list_price_units=500_000, owner_mailbox_id="MBX_1"
)
FREE = dataclasses.replace(PAID, list_price_units=0)
TASK = TaskFacts("TASK_1", "queued", 1000, (), 450_000, False, None)


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(inbound_order, defaults)


def test_an_order_goes_to_the_vendor_and_to_nobody_else(mode: modes.Mode) -> None:
    reply = Reply({"status": "assigned", "mailbox_id": "MBX_1"})
    assert mode.distribute(PAID, TASK) == (Assign("MBX_1"), reply)
    assert mode.select(PAID) == Selection(shelf="none")


@pytest.mark.rule("O-07")
@pytest.mark.parametrize("requeue", [True, False])
def test_a_rejected_delivery_stays_with_the_vendor_who_may_deliver_again(
    mode: modes.Mode, requeue: bool
) -> None:
    assert mode.rejected(PAID, TASK, requeue) == (MoveTask("reject"),)
    assert mode.proving(PAID) == Proving(again=True)


@pytest.mark.rule("O-03")
def test_each_refusal_is_an_operation_and_says_what_to_do_instead(mode: modes.Mode) -> None:
    refused = mode.refuses(PAID)
    assert refused.keys() <= DEFAULT.keys()
    assert all(sentence.endswith(".") for sentence in refused.values())
    assert mode.authorities().keys() <= DEFAULT.keys()


@pytest.mark.rule("O-06")
def test_only_a_shop_that_takes_money_refuses_to_be_closed_by_delete(mode: modes.Mode) -> None:
    assert "gig.close" in mode.refuses() and "gig.close" in mode.refuses(PAID)
    assert mode.refuses(PAID).keys() - mode.refuses(FREE).keys() == {"gig.close"}
