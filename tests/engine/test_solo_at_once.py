"""All that is done in a solo gig, at once and at random; then the counts are right (S-01)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine import clock, holds
from engine.db import db
from tests.engine.solo import SOLO, poll, second_place, sources
from tests.world import Gig, Person, World, at_once

THREADS, STEPS, TASKS, MOST = 6, 30, 8, 3
ROUNDS = [
    pytest.param(1, id="1-round"),
    pytest.param(20, id="20-rounds", marks=pytest.mark.soak),
]

# What each template says of its copies, and what is so: (says, counts, has an entry, has had one).
_COUNTED = """
SELECT template.copies,
    (SELECT count(*) FROM task AS copy WHERE copy.template_number = template.number
       AND copy.status <> 'discarded' AND NOT EXISTS (
         SELECT 1 FROM proof WHERE proof.task_id = copy.id AND proof.returned)),
    (SELECT count(*) FROM queue_entry AS entry WHERE entry.task_number = template.number),
    (SELECT count(*) FROM copy_holder AS held WHERE held.template_number = template.number),
    (SELECT count(*) FROM task AS copy WHERE copy.template_number = template.number)
FROM task AS template WHERE template.gig_id = ? AND template.status = 'queued'
"""
_TWICE = """
SELECT mailbox.account_id, copy.template_number, count(*) FROM task AS copy
JOIN mailbox ON mailbox.id = copy.mailbox_id
WHERE copy.gig_id = ? AND copy.template_number IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1
"""
_OPEN = """
SELECT task.id FROM queue_entry AS entry JOIN task ON task.number = entry.task_number
WHERE task.gig_id = ?
"""
_HAD = """
SELECT count(*) FROM copy_holder AS held JOIN task ON task.number = held.template_number
WHERE task.id = ? AND held.account_id = ?
"""


class Hands:
    """One pair of hands of a worker; several may be the same worker's."""

    def __init__(self, gig: Gig, who: Person, place: str, seed: int) -> None:
        self.gig, self.who, self.place = gig, who, place
        self.chance = random.Random(seed)
        self.templates: list[str] = []

    def post(self, path: str, **body: Any) -> Any:
        """An answer or a refusal, but never a fault."""
        answer = self.who.call("POST", f"{self.gig.path}/{path}", body)
        assert answer.status < 500, answer.text
        return answer.json if answer.status < 300 else None

    def step(self) -> None:
        what = self.chance.choice(("poll", "poll", "claim", "decline", "prove", "reject", "wait"))
        if what == "poll":
            self.post("queue/poll", count=self.chance.randint(1, 3), mailbox_id=self.place)
        elif what == "claim":
            task_id = self.chance.choice(self.templates)
            self.post(f"queue/{task_id}/claim", mailbox_id=self.place)
        elif what == "wait":
            clock.advance(20)
            holds.expire()
        elif (held := self.held()) and what == "decline":
            self.post(f"queue/{held}/decline", mailbox_id=self.place)
        elif held:
            proof = self.post("proofs", task_identifier=held, mailbox_id=self.place)
            if proof is not None and what == "reject":
                verdict = {"action": "reject", "requeue": self.chance.random() < 0.7}
                path = f"{self.gig.path}/proofs/{proof['proof']['id']}"
                assert self.gig.owner.call("PATCH", path, verdict).status < 500

    def held(self) -> str | None:
        with db.reading():
            sql = "SELECT id FROM task WHERE mailbox_id = ? AND status = 'claimed' ORDER BY number"
            found = [row[0] for row in db.rows(sql, (self.place,))]
        return self.chance.choice(found) if found else None


def _owner(gig: Gig, templates: list[str], chance: random.Random) -> None:
    """He moves the maximum about, and the tasks."""
    for _ in range(STEPS // 2):
        task_id = chance.choice(templates)
        path = f"{gig.path}/tasks/{task_id}/priority"
        assert gig.owner.call("PATCH", path, {"priority": chance.randint(1, 9)}).status < 500
        most = chance.choice((1, 2, MOST, MOST, None))
        assert gig.owner.call("PATCH", gig.path, {"max_claims_per_task": most}).status < 500


@pytest.mark.rule("S-01")
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("moved", [False, True], ids=["one-maximum", "maximum-moved"])
def test_whatever_is_done_at_once_the_copies_are_counted_right(
    world: World, rounds: int, moved: bool
) -> None:
    for number in range(rounds):
        gig = world.gig(distribution=SOLO, max_claims_per_task=MOST, task_timeout=60)
        workers = [world.worker(gig) for _ in range(THREADS - 1)]
        hands = [
            Hands(gig, who, who.mailbox["id"], number * 100 + n)  # type: ignore[attr-defined]
            for n, who in enumerate(workers)
        ]
        # The first of them has two pairs.
        hands.append(Hands(gig, workers[0], second_place(gig, workers[0]), number * 100 + 99))
        templates = [world.task(gig, priority=n % 3) for n in range(TASKS)]
        for one in hands:
            one.templates = templates

        def run(n: int, hands: Any = hands, gig: Any = gig, templates: Any = templates) -> None:
            if n == THREADS:
                _owner(gig, templates, random.Random(n))
                return
            for _ in range(STEPS):
                hands[n].step()

        at_once(THREADS + moved, run)
        gig.owner.patch(gig.path, {"max_claims_per_task": MOST})
        _check(gig, at_most=not moved)
        _check_nothing_is_missed(gig, workers, templates)
        _check(gig, at_most=not moved)


def _check(gig: Gig, *, at_most: bool) -> None:
    with db.reading():
        counted = db.rows(_COUNTED, (gig.id,))
        twice = db.rows(_TWICE, (gig.id,))
    assert twice == []
    assert len(counted) == TASKS
    for says, counts, entries, holders, copies in counted:
        assert says == counts
        assert entries == (counts < MOST)
        assert holders == copies
        assert counts <= MOST or not at_most


def _check_nothing_is_missed(gig: Gig, workers: list[Person], templates: list[str]) -> None:
    """Whoever polls to the end has had a copy of each task that is still to be had."""
    for worker in workers:
        while poll(gig, worker):
            pass
    with db.reading():
        still_open = {row[0] for row in db.rows(_OPEN, (gig.id,))}
        for task_id in still_open:
            for worker in workers:
                assert db.scalar(_HAD, (task_id, worker.id)) == 1
    newcomer = gig.owner.world.worker(gig)
    found: list[str] = []
    while more := sources(poll(gig, newcomer)):
        found += more
    assert set(found) == still_open and len(found) == len(still_open)
    assert still_open <= set(templates)
