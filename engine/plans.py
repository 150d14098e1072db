"""What a mode answers with: frozen facts in, small frozen effects out.

A mode touches no database. It is shown a gig and a task as they are (`GigFacts`, `TaskFacts`) and
answers with a plan, a tuple of effects that `engine/apply.py` carries out in order; or, where the
choice must be made under a lock, with a `Selection` that `engine/claims.py` turns into SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.roles import ACTIVE


@dataclass(frozen=True)
class GigFacts:
    """A gig as a mode sees it. `price_units` is in 10⁻⁶ USDC."""

    id: str
    distribution: str
    queue_order: str
    price_units: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    # Where its members order and its owner does the work: the price of an order, 0 for a shop that
    # takes no money, and the owner's own mailbox.
    list_price_units: int | None = None
    owner_mailbox_id: str | None = None
    # How long a worker may take to accept what was pushed to him (U-04). None: it is his at once.
    accept_seconds: int | None = None


@dataclass(frozen=True)
class TaskFacts:
    """A task as a mode sees it. `mailbox_id` is its holder's, or the one it concerns.

    `fields` is what its sender said under the mode's own names (`ModeInfo.fields`); `stage` and
    `memo` are what the mode wrote down by `Stage` and `Remember`. `number` is its whole number
    among all tasks that have a stage. Times are milliseconds.
    """

    id: str
    status: str
    priority: int
    tags: tuple[str, ...]
    price_units: int | None
    price_tbd: bool
    mailbox_id: str | None
    # The owner named its holder; it is one of many copies; its holder has not accepted it yet.
    assigned: bool = False
    copy: bool = False
    offered: bool = False
    subject: str = ""
    created_at: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None
    stage: str | None = None
    memo: Mapping[str, Any] = field(default_factory=dict)
    # What it paid when its holder was given it; None where nobody has it, or it was TBD.
    held_price_units: int | None = None


@dataclass(frozen=True)
class Act:
    """A verb of the mode that somebody uses on a task.

    `mailbox_id` is the place that he acts from, None for the gig's owner; `given` the body, which
    fits the verb's schema; `now` in milliseconds; `zone` the IANA name of his time zone. `gone` are
    mailboxes that a plan would have given the task to and that are not active any more: the mode is
    asked again, and names others. `number` is that of the account of whoever acts.
    """

    verb: str
    mailbox_id: str | None
    given: Mapping[str, Any]
    now: int
    zone: str = "UTC"
    number: int | None = None
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sent:
    """What a sender said in the mode's own words: members of the query, or of a JSON body."""

    fields: Mapping[str, Any]
    subject: str = ""


@dataclass(frozen=True)
class Planner:
    """Whose desk is shown, and when (`desk_items`). `now` in milliseconds.

    `hours` are the working hours of each day (`mon` … `sun`) as pairs of `HH:MM` of his `zone`,
    empty where he has said none; `taken` are the tasks in his hands that are beyond the stages
    which a desk shows at first.
    """

    now: int
    zone: str
    hours: Mapping[str, tuple[tuple[str, str], ...]]
    taken: tuple[TaskFacts, ...]


@dataclass(frozen=True)
class Routed:
    """A task on a worker's desk; `requester` is the display name of the gig's owner."""

    task: TaskFacts
    requester: str


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
