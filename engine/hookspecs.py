"""Every question asked of a distribution mode. `plugins/defaults.py` answers what it leaves out.

A mode is a module (or object) with functions marked `@impl` under these names, registered by the
entry-point group `muster.modes`. Answers are data; nothing here may touch a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pluggy

from engine.plans import (
    Act,
    GigFacts,
    ModeInfo,
    Plan,
    Planner,
    Proving,
    Routed,
    Selection,
    Sent,
    TaskFacts,
)

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
def distribute(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, gone: frozenset[str]
) -> Plan:
    """A new task was sent to the gig: where does it go, and what is answered?

    `gone`, here and in every question by which a plan may name a worker, as in `Act`.
    """


@spec(firstresult=True)
def select(gig: GigFacts) -> Selection:  # type: ignore[empty-body]
    """A worker asks for work: which shelf, in which order?"""


@spec(firstresult=True)
def declined(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, mailbox_id: str, gone: frozenset[str]
) -> Plan:
    """A worker passes on a task. `task.mailbox_id` is its holder, who may be he himself or None."""


@spec(firstresult=True)
def released(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, gone: frozenset[str]
) -> Plan:
    """A held task is taken from its holder `task.mailbox_id`. Where to?"""


@spec(firstresult=True)
def rejected(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, requeue: bool, gone: frozenset[str]
) -> Plan:
    """A proof was rejected; `task.mailbox_id` handed it in. Does the task go back, and where?"""


@spec(firstresult=True)
def proving(gig: GigFacts) -> Proving:  # type: ignore[empty-body]
    """A worker hands in: a proof of a task or of what he names; once more after a rejection?"""


@spec(firstresult=True)
def read_fields(gig: GigFacts, sent: Sent) -> Mapping[str, Any]:  # type: ignore[empty-body]
    """What a task keeps of the mode's own fields, which fit their schemas. Raise
    `engine.errors.invalid(field, sentence)` for what is wrong beyond that. A draft that is changed
    is read again, from what was kept of it and the changes."""


@spec(firstresult=True)
def placed(gig: GigFacts, task: TaskFacts) -> Plan:  # type: ignore[empty-body]
    """The task has just been given to `task.mailbox_id`, by its owner, a push or a plan. What of
    the mode's own follows? It is his, so a plan here gives it to nobody else. Not asked of a poll,
    which takes many at once."""


@spec(firstresult=True)
def act(gig: GigFacts, task: TaskFacts, act: Act) -> Plan:  # type: ignore[empty-body]
    """Somebody uses one of the mode's verbs, from a stage and with a body that it allows.

    Raise `engine.errors.Refused(code, sentence)`, a 409, or `invalid(field, sentence)`, a 400, for
    what does not go. Asked again where the task has changed in between: an answer has no effect of
    its own.
    """


@spec(firstresult=True)
def rang(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, bell: str, now: int, gone: frozenset[str]
) -> Plan:
    """The task's bell rings, which a plan has set by `Ring`. `now` in milliseconds.

    `gone` as in `Act`. Whatever is raised here is logged, and the bell rings again later.
    """


@spec(firstresult=True)
def show(  # type: ignore[empty-body]
    gig: GigFacts, task: TaskFacts, reader: str, mailbox_ids: frozenset[str]
) -> Mapping[str, Any]:
    """What a reader of a task is shown of the mode's own, under `mode` beside its stage.

    He is its `owner`, its `holder` or another `member`; `mailbox_ids` are his places in the gig.
    The owner is shown `fields` besides, as he sent them.
    """


@spec(firstresult=True)
def desk_items(routed: Sequence[Routed], planner: Planner) -> Sequence[Mapping[str, Any]]:  # type: ignore[empty-body]
    """These tasks as their worker's desk lists them, each but for its `etag`, which is added."""
