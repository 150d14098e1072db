"""What a mode answers with: frozen facts in, small frozen effects out.

A mode touches no database. It is shown a gig and a task as they are (`GigFacts`, `TaskFacts`) and
answers with a plan, a tuple of effects that `engine/apply.py` carries out in order; or, where the
choice must be made under a lock, with a `Selection` that `engine/claims.py` turns into SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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


@dataclass(frozen=True)
class TaskFacts:
    """A task as a mode sees it. `mailbox_id` is its holder's, or the one it concerns."""

    id: str
    status: str
    priority: int
    tags: tuple[str, ...]
    price_units: int | None
    price_tbd: bool
    mailbox_id: str | None


@dataclass(frozen=True)
class Enqueue:
    """Put the task on the gig's shelf, at its priority and place of arrival."""


@dataclass(frozen=True)
class Assign:
    """Give the task into the hands of this mailbox, and tell it so."""

    mailbox_id: str


@dataclass(frozen=True)
class PutBack:
    """Let go of a task and put it back where it came from: into its place in the queue; to the
    owner, if he had assigned it; a copy is discarded, and its slot is its template's again. What
    its worker named himself waits for him alone."""


@dataclass(frozen=True)
class MoveTask:
    """Move the task by a verb of its state table."""

    verb: str


@dataclass(frozen=True)
class Exclude:
    """Never offer the task to this mailbox again; `reason` as in `engine/models/task.py`."""

    mailbox_id: str
    reason: str


@dataclass(frozen=True)
class Reply:
    """Members of the answer to whoever asked (T-02)."""

    members: Mapping[str, Any]


# The orders of a queue.
ORDERS = ("fifo", "lifo", "priority", "random")

Effect = Enqueue | Assign | PutBack | MoveTask | Exclude | Reply
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
class ModeInfo:
    """What `GET /modes` shows of a mode (G-03).

    `names` are the values of a gig's `distribution` that the mode serves; `settings` maps the
    gig's columns that it understands, bounds or pins to a JSON schema of each (amounts in 10⁻⁶
    USDC; see `engine/gig_settings.py`); `query` are the names that the
    gig's webhook takes beside those every mode takes.

    With `orders` a task is an order: a member sends it as a draft, funds it and approves the work,
    and the gig's owner, who has a mailbox of his own in it, does it. `confirms` are operations that
    take place only with `{"confirm": true}`, each with the sentence that says why.
    """

    names: tuple[str, ...]
    title: str
    description: str
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    query: tuple[str, ...] = ()
    orders: bool = False
    confirms: Mapping[str, str] = field(default_factory=dict)
