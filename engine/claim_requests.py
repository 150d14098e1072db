"""What is asked of the claiming statements, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass

from engine.allowances import Allowance
from engine.facets import Wanted
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task

EVERYTHING = Wanted()
# Which entries of the gig's shelf are looked at, in which order:
# by the queue's, from the worker's cursor on;
CURSOR = "cursor"
# by the queue's, those of the classes that a filter lets pass;
CLASSES = "classes"
# these that were drawn, in the order of the draw;
DRAWN = "drawn"
# all that suit, shuffled.
SHUFFLED = "shuffled"


@dataclass(frozen=True)
class ClaimRequest:
    """Up to `count` tasks for a mailbox that is held by this transaction.

    `waits`: for what another transaction is just taking, which is passed over otherwise.
    """

    gig: Gig
    mailbox: Mailbox
    count: int
    source: str = CURSOR
    wanted: Wanted = EVERYTHING
    drawn: tuple[int, ...] = ()
    waits: bool = False


@dataclass(frozen=True)
class Taking:
    """The tasks that were taken, in their order, and how the limits stand after that.

    `passed_over`: nothing was taken, but there is something that another transaction holds.
    """

    tasks: list[Task]
    allowance: Allowance
    passed_over: bool = False
