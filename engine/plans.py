"""What a mode answers with: frozen facts in, small frozen effects out.

A mode touches no database. It is shown a gig and a task as they are (`GigFacts`, `TaskFacts`) and
answers with a plan, a tuple of effects that `engine/apply.py` carries out in order; or, where the
choice must be made under a lock, with a `Selection` that `engine/claims.py` turns into SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.mode_facts import Act as Act
from engine.mode_facts import GigFacts as GigFacts
from engine.mode_facts import Planner as Planner
from engine.mode_facts import Routed as Routed
from engine.mode_facts import Sent as Sent
from engine.mode_facts import TaskFacts as TaskFacts
from engine.roles import ACTIVE


@dataclass(frozen=True)
class Enqueue:
    """Put the task on the gig's shelf, at its priority and place of arrival."""


@dataclass(frozen=True)
class Assign:
    """Give the task into the hands of this mailbox of the gig, and tell it so."""

    mailbox_id: str


@dataclass(frozen=True)
class AssignAccount:
    """The same, to the one active mailbox in this gig of the account with this `number`.

    A 400 that names the body's `field` where there is none.
    """

    number: int
    field: str


@dataclass(frozen=True)
class AssignByLot:
    """The same, to one of these mailboxes, drawn by lot: each that is active is as likely.

    Whoever has left is passed over. Where none of them is active, the mode is asked again, with all
    of them in `gone`.
    """

    mailbox_ids: tuple[str, ...]


# How one of several workers is chosen (U-01): whose last turn is longest ago; by lot, each as
# likely; by lot, in proportion to his mailbox's priority; or all of them, each a copy of his own.
PICKS = ("in_turn", "by_lot", "by_priority", "everyone")


@dataclass(frozen=True)
class PushTo:
    """Give the task to active mailboxes whose standing filters it passes, chosen by `pick`.

    Those that are paused, full, or not to be offered it again are passed over, and so is who has it
    now. Where all that match are, the task waits and is given to the first that frees up; where
    none matches at all, a new task is dropped and one that was somebody's waits. Answers the
    members of T-02 by itself.
    """

    pick: str


@dataclass(frozen=True)
class Stage:
    """The task is at this stage of the mode's own (`ModeInfo.stages`) from now on."""

    name: str


@dataclass(frozen=True)
class Remember:
    """Write these members into the task's `memo`, beside those that are there. JSON values."""

    members: Mapping[str, Any]


@dataclass(frozen=True)
class Rank:
    """Its place on a desk: lower ones first, then the older."""

    rank: int


@dataclass(frozen=True)
class Ring:
    """Ask `rang` about the task at this time (ms), under this name; None: not any more.

    A task has one bell, and one that has ended has none. It rings within a sweep of its time, once,
    however many processes run; for a task that waits in a closed gig, once that is open again. A
    task that has no stage yet has no bell: say `Stage` first.
    """

    bell: str | None
    at: int = 0


@dataclass(frozen=True)
class SetPrice:
    """The task pays so much (10⁻⁶ USDC) to whom it is given after this.

    Refused where its money is deposited when it is sent, and for more than whoever sent it may
    spend so.
    """

    units: int


@dataclass(frozen=True)
class HandIn:
    """Its holder hands in a proof with this evidence; review and payout go on as anywhere."""

    evidence: tuple[str, ...]


@dataclass(frozen=True)
class PutBack:
    """Let go of a task and put it back where it came from: into its place in the queue; to the
    owner, if he had assigned it; a copy is discarded, and its slot is its template's again. What
    its worker named himself waits for him alone."""


# Moves of the table of tasks (`engine/states.py`) that a plan may make by `MoveTask`. Others are
# the engine's: they need money, a proof, a worker or a copy's template to be seen to.
MOVES = ("release", "return", "hand_back", "reject", "complete", "drop")


@dataclass(frozen=True)
class MoveTask:
    """Move the task by a verb of its state table, one of `MOVES`.

    What is moved back to `queued` or `unassigned` is nobody's then; say `Enqueue` where it is to be
    on the gig's shelf again.
    """

    verb: str


# Why somebody is not to be offered a task again (`engine/models/task.py`).
REASONS = ("declined", "violation", "proven", "expired", "recycled")


@dataclass(frozen=True)
class Exclude:
    """Never offer the task to this mailbox again, but by an `Assign`; `reason` is of `REASONS`."""

    mailbox_id: str
    reason: str


@dataclass(frozen=True)
class Reply:
    """Members of the answer to whoever asked (T-02)."""

    members: Mapping[str, Any]


# The orders of a queue.
ORDERS = ("fifo", "lifo", "priority", "random")

Effect = (
    Enqueue
    | Assign
    | AssignAccount
    | AssignByLot
    | PushTo
    | PutBack
    | MoveTask
    | Exclude
    | Stage
    | Remember
    | Rank
    | Ring
    | SetPrice
    | HandIn
    | Reply
)
Plan = tuple[Effect, ...]


@dataclass(frozen=True)
class Selection:
    """Which tasks a worker may take, and in which order.

    `shelf` is `queue` (the gig's shared shelf) or `none`; `order` is one of `ORDERS`; `how` is
    `take` (the task itself) or `copy` (a copy of one's own, which leaves it to the others).
    """

    shelf: str
    order: str = "fifo"
    how: str = "take"


@dataclass(frozen=True)
class Proving:
    """How proofs are handed in, in a mode.

    With `own_names` a proof is of whatever work the worker names himself, not of a task that he
    was given. With `again` a worker whose proof was rejected may hand in another of the same work,
    which makes that rejection final.
    """

    own_names: bool = False
    again: bool = False


@dataclass(frozen=True)
class Verb:
    """Something of the mode's own that can be done with a task: `POST …/tasks/:id/do/:name`.

    `fields` maps the members of the body to a JSON schema of each; others are refused. `stages` are
    those from which it may be done, () for any; `by` the roles that may (`engine/roles.py`); with
    `holder` only who has the task in hand.
    """

    name: str
    summary: str
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    by: frozenset[str] = frozenset({ACTIVE})
    holder: bool = False


@dataclass(frozen=True)
class Desk:
    """A worker's list of what is routed to him, over all gigs of the mode: `GET /api{path}`.

    `shown` are the stages that it lists; each of `flags` is a query parameter that adds stages.
    `POST /api{path}/:number/:verb` uses a verb on an item, with `If-Match` and `Idempotency-Key`,
    and answers 204. `item` is the JSON schema of an item.
    """

    path: str
    title: str
    shown: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    item: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModeInfo:
    """What `GET /modes` shows of a mode (G-03).

    `names` are the values of a gig's `distribution` that the mode serves; `settings` maps the
    gig's columns that it understands, bounds or pins to a JSON schema of each (amounts in 10⁻⁶
    USDC; see `engine/gig_settings.py`); `query` are the names that the
    gig's webhook takes beside those every mode takes.

    With `orders` a task is an order: a member sends it as a draft, funds it and approves the work,
    and the gig's owner, who has a mailbox of his own in it, does it. `confirms` are operations that
    take place only with `{"confirm": true}`, each with the sentence that says why.

    `fields` maps what a sender may say beside the names every mode takes to a JSON schema of each,
    in the query or, with `fields_in_body`, as members of a JSON body; one that is called as another
    mode's name is takes its place. `stages`, `verbs` and `desk` are the mode's own.
    """

    names: tuple[str, ...]
    title: str
    description: str
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    query: tuple[str, ...] = ()
    orders: bool = False
    confirms: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fields_in_body: bool = False
    stages: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    desk: Desk | None = None
