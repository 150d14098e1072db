"""Every question asked of a distribution mode. `plugins/defaults.py` answers what it leaves out.

A mode is a module (or object) with functions marked `@impl` under these names, registered by the
entry-point group `muster.modes`. Answers are data; nothing here may touch a database.
"""

from __future__ import annotations

from collections.abc import Mapping

import pluggy

from engine.plans import GigFacts, ModeInfo, Plan, Proving, Selection, TaskFacts

PROJECT = "muster"
spec = pluggy.HookspecMarker(PROJECT)
impl = pluggy.HookimplMarker(PROJECT)


@spec(firstresult=True)
def describe() -> ModeInfo:  # type: ignore[empty-body]
    """Name, title and settings of the mode. The only question without a default."""


@spec(firstresult=True)
def refuses(gig: GigFacts | None) -> Mapping[str, str]:  # type: ignore[empty-body]
    """Operations closed in this gig, each with the sentence that says what to do instead.

    Without a gig: those that are closed in any gig of the mode. An implementation that does not
    look at the gig leaves the argument out.
    """


@spec(firstresult=True)
def authorities() -> Mapping[str, frozenset[str]]:  # type: ignore[empty-body]
    """Operations whose roles differ from `engine/operations.py`, with the roles that may."""


@spec(firstresult=True)
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:  # type: ignore[empty-body]
    """A new task was sent to the gig: where does it go, and what is answered?"""


@spec(firstresult=True)
def select(gig: GigFacts) -> Selection:  # type: ignore[empty-body]
    """A worker asks for work: which shelf, in which order?"""


@spec(firstresult=True)
def declined(gig: GigFacts, task: TaskFacts, mailbox_id: str) -> Plan:  # type: ignore[empty-body]
    """A worker passes on a task. `task.mailbox_id` is its holder, who may be he himself or None."""


@spec(firstresult=True)
def released(gig: GigFacts, task: TaskFacts) -> Plan:  # type: ignore[empty-body]
    """A held task is taken from its holder `task.mailbox_id`. Where to?"""


@spec(firstresult=True)
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:  # type: ignore[empty-body]
    """A proof was rejected; `task.mailbox_id` handed it in. Does the task go back, and where?"""


@spec(firstresult=True)
def proving(gig: GigFacts) -> Proving:  # type: ignore[empty-body]
    """A worker hands in: a proof of a task or of what he names; once more after a rejection?"""
