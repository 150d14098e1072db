"""What a mode is shown: a gig and a task as they are, and what somebody says or does.

Authors of modes find all of it in `engine/plans.py`.
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
