"""What must hold of every task of a gig, whatever has just been done."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from engine import task_facts
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.modes import Mode, facts
from engine.plans import GigFacts, Ring
from engine.roles import ACTIVE, ANYONE, MEMBER
from engine.states import TASK

STATES = frozenset(TASK.values()) | {state for state, _ in TASK}
WAITING = frozenset({"queued", "unassigned", "draft", "unfunded", "dropped"})
HELD = frozenset({"claimed"})
HANDED_IN = frozenset({"submitted"})
ENDED = STATES - WAITING - HELD - HANDED_IN

_WORKERS = frozenset({ACTIVE, MEMBER, ANYONE})

# Its own row, its place on a shelf, its mode's item, and how many proofs of it stand: at most one.
_TASKS = """
SELECT task.id, task.number, task.status, task.mailbox_id, task.template_number,
    task.availability <> 'open' OR task.not_before IS NOT NULL OR task.named_by IS NOT NULL,
    task.copies, entry.task_number IS NOT NULL, item.stage, item.bell IS NOT NULL,
    (SELECT count(*) FROM proof WHERE proof.task_id = task.id
        AND proof.status IN ('draft', 'pending', 'approved', 'timeout_approved')), gig.status
FROM task JOIN gig ON gig.id = task.gig_id
LEFT JOIN queue_entry AS entry ON entry.task_number = task.number
LEFT JOIN mode_item AS item ON item.task_id = task.id
WHERE task.gig_id = ? ORDER BY task.number
"""


@dataclass(frozen=True)
class PlayedIn:
    """The gig as its mode is shown it; `from_shelf`: what is on its shelf comes to somebody."""

    shown: GigFacts
    from_shelf: bool


@dataclass(frozen=True)
class Line:
    """A task as the books have it; `kept_back` from polls, by its sender or its worker."""

    id: str
    number: int
    status: str
    mailbox_id: str | None
    template_number: int | None
    kept_back: bool
    copies: int
    on_shelf: bool
    stage: str | None
    rings: bool
    proofs: int
    gig_status: str

    @property
    def what(self) -> str:
        return f"the {'task' if self.template_number is None else 'copy'} {self.id}"

    @property
    def ends_by_itself(self) -> bool:
        """A copy that comes to nothing; a template of which each worker has his copy."""
        a_copy = self.template_number is not None
        return self.status == "forwarded" or (a_copy and self.status in ("discarded", "rejected"))


def problems(mode: Mode, gig_id: str, sent: list[str], may_end: Container[str]) -> Iterator[str]:
    """Each as a sentence. `may_end` are the tasks whose work is over, or may be."""
    lines = [Line(*row) for row in db.rows(_TASKS, (gig_id,))]
    ids = {line.number: line.id for line in lines}
    gig = _gig(mode, gig_id)
    for lost in set(sent) - set(ids.values()):
        yield f"the task {lost} is gone"
    for line in lines:
        for problem in _of_one(mode, gig, line):
            yield f"{line.what} {problem}"
        template = ids.get(line.template_number or 0, "")
        over = line.id in may_end or template in may_end
        if line.status in ENDED and not over and not line.ends_by_itself:
            yield (
                f"{line.what} is {line.status}, though nobody has done it, deleted it or decided "
                "on it: it is lost to its sender"
            )


def _gig(mode: Mode, gig_id: str) -> PlayedIn:
    with db.reading():
        shown = facts(Gig.get(Gig.id == gig_id))
        pushes = bool(db.rows("SELECT 1 FROM rotation WHERE gig_id = ?", (gig_id,)))
    return PlayedIn(shown, from_shelf=pushes or mode.select(shown).shelf != "none")


def _of_one(mode: Mode, gig: PlayedIn, line: Line) -> Iterator[str]:
    if line.status not in STATES:
        yield f"is {line.status}, which is no state of a task"
    if line.status in HELD | HANDED_IN and line.mailbox_id is None:
        yield f"is {line.status}, and nobody has it"
    if line.status in WAITING and line.mailbox_id is not None:
        yield f"is {line.status}, and is somebody's at once; say PutBack(), which sees to both"
    if line.on_shelf and line.status != "queued":
        yield f"is {line.status}, and is still on a shelf that workers take from"
    if line.stage is not None and line.stage not in mode.info.stages:
        yield f"is at the stage {line.stage!r}, which the mode does not have"
    if line.proofs > 1:
        yield f"has {line.proofs} proofs that stand at once"
    if line.gig_status == "active" and line.status in ("queued", "unassigned"):
        yield from _waiting(mode, gig, line)


def _waiting(mode: Mode, gig: PlayedIn, line: Line) -> Iterator[str]:
    verbs = [
        verb
        for verb in mode.info.verbs
        if not verb.holder and (not verb.stages or line.stage in verb.stages)
    ]
    found = line.kept_back or line.copies > 0 or bool(verbs)
    found = found or (line.on_shelf and (gig.from_shelf or not line.rings))
    if line.rings and (line.status == "unassigned" or not found) and _in_vain(mode, gig, line):
        yield (
            f"is {line.status} and has a bell, to which rang() answers nothing, so it waits for "
            "good. PutBack() sends what an Assign of the mode gave to its owner, as if he had; for "
            "another round say MoveTask('release') and Enqueue(), and what the bell is to do then. "
            "If it is to wait, say Ring(None)"
        )
    if line.status == "queued" and not (found or line.on_shelf or line.rings):
        yield (
            "waits where nobody finds it: it is on no shelf, has no bell, and no verb of the mode "
            "reaches it. Say Enqueue() or PutBack() where workers poll, PushTo(…) where it is "
            "given to them, Ring(…) where time decides"
        )
    told = [verb.name for verb in verbs if verb.by & _WORKERS]
    hidden = line.status == "queued" and not (line.on_shelf or line.kept_back or line.copies)
    if hidden and told and mode.info.desk is None:
        yield (
            f"waits for the verb {told[0]!r}, and no worker can see it: Enqueue() lists it "
            "among what waits in the gig, and with Selection(shelf='none') no poll is given it"
        )


def _in_vain(mode: Mode, gig: PlayedIn, line: Line) -> bool:
    """Would the mode do nothing if the task's bell rang now?"""
    with db.reading():
        item = ModeItem.get(ModeItem.task_id == line.id)
        task = task_facts.with_item(Task.get(Task.id == line.id), item)
    try:
        plan = mode.rang(gig.shown, task, str(item.bell), int(item.bell_at or 0))
    except Refused:
        return False
    return all(isinstance(effect, Ring) and effect.bell is None for effect in plan)
