"""The mode of own work, asked without a database: facts in, plans out."""

from __future__ import annotations

import pytest

from engine import modes
from engine.operations import DEFAULT
from engine.plans import GigFacts, MoveTask, Proving, PutBack, Selection, TaskFacts
from plugins import defaults, inbound_proof

GIG = GigFacts("GIG_1", "inbound_proof", "fifo", 2_500_000)
TASK = TaskFacts("TASK_1", "submitted", 1000, (), None, False, "MBX_1")


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(inbound_proof, defaults)


@pytest.mark.rule("U-03")
def test_workers_name_their_work_and_may_hand_it_in_again(mode: modes.Mode) -> None:
    assert mode.info.names == ("inbound_proof",)
    assert mode.proving(GIG) == Proving(own_names=True, again=True)


@pytest.mark.rule("U-03")
def test_nothing_is_sent_or_handed_out_and_each_refusal_says_what_to_do(mode: modes.Mode) -> None:
    refused = mode.refuses()
    assert refused.keys() <= DEFAULT.keys()
    assert {"task.send", "task.bulk", "draft.list", "queue.poll", "queue.claim"} <= refused.keys()
    assert all(sentence.endswith(".") for sentence in refused.values())
    assert not any(name.startswith(("proof.", "comment.", "gig.")) for name in refused)
    assert mode.select(GIG) == Selection(shelf="none")
    assert mode.info.settings == {} and mode.info.query == ()


@pytest.mark.rule("R-04")
@pytest.mark.rule("U-03")
@pytest.mark.parametrize("requeue", [True, False])
def test_rejected_work_stays_with_its_worker(mode: modes.Mode, requeue: bool) -> None:
    assert mode.rejected(GIG, TASK, requeue=requeue) == (MoveTask("reject"),)


@pytest.mark.rule("U-03")
def test_what_its_worker_lets_go_of_is_put_back(mode: modes.Mode) -> None:
    assert mode.released(GIG, TASK) == (PutBack(),)
