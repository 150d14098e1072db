"""A gig that is played in: each thing done is told of, and after it the books are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from engine import clock
from engine.conformance import answers, books, faults
from engine.conformance.site import Person, Site, advance
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.modes import FAULT, Mode

# Steps that are told of with a fault, the latest last.
TOLD = 8
# So many different questions are kept of a play.
MOST_ASKED = 3000


class PlayedGig:
    """One gig, its owner and its workers; who opens it: `engine/conformance/play.py`."""

    gig: Gig
    owner: Person
    workers: list[Person]

    def __init__(self, site: Site, mode: Mode, implementation: object) -> None:
        self.site, self.mode, self.implementation = site, mode, implementation
        self.workers = []
        self.asked: dict[str, tuple[str, dict[str, Any]]] = {}
        self.last = ""
        # How often a worker came to hold a task.
        self.held = 0
        self.refusals: list[Refused] = []
        self.steps: list[str] = []
        self.sent: list[str] = []
        self.may_end: set[str] = set()
        self._unwatch = mode.manager.add_hookcall_monitoring(lambda *_: None, self._heard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unwatch()

    def _heard(self, outcome: Any, hook: str, _: Any, told: Any) -> None:
        """Keep what was asked, to look at the answers once the play is over."""
        if hook in answers.PLANS and outcome.exception is None:
            self.last = f"{hook}() had answered {outcome.get_result()!r}"
        key = f"{hook} {told!r}"
        if len(self.asked) < MOST_ASKED and key not in self.asked:
            self.asked[key] = (hook, dict(told))

    # -- what is done -----------------------------------------------------------------------

    def do(self, what: str, act: Callable[[], Any]) -> Any:
        """Do one thing; answers what it gave, or the refusal. Anything else raised is a fault."""
        __tracebackhide__ = True
        self.steps.append(what)
        try:
            got = act()
        except Refused as refusal:
            got = refusal
        except Exception as error:
            self.fail(f"{faults.where(error, self.implementation)}. {self.last}")
        self.check(got)
        return got

    def check(self, got: Any = None) -> None:
        __tracebackhide__ = True
        if self.site.swallowed:
            error, event = self.site.swallowed[0]
            self.fail(self._swallowed(error, event))
        if isinstance(got, Refused) and got.code == FAULT:
            self.fail(f"{got.message} {self.last}")
        if hasattr(self, "gig"):
            for problem in books.problems(self.mode, self.gig.id, self.sent, self.may_end):
                self.fail(f"{problem}. {self.last}")

    def _swallowed(self, error: BaseException, event: dict[str, Any]) -> str:
        """What the engine has logged and gone on from, in a sentence or two."""
        if event.get("plan") is not None:
            told = f"{event['hook']}() ({event['function']}) "
            if event["error"].startswith("says "):
                return told + f"{event['error']}. It answered {event['plan']}"
            return told + f"says {event['effect']}: {event['error']}. It answered {event['plan']}"
        if isinstance(error, ValueError) and error.__traceback__ is None:
            # The engine's own word about a plan.
            return str(error)
        told = faults.where(error.__cause__ or error, self.implementation)
        return f"the mode raised {told}. {self.last}"

    def fail(self, why: str) -> None:
        """End the play with what went wrong, and what was done before; people by their names."""
        __tracebackhide__ = True
        for person in self.workers:
            if person.mailbox_id:
                why = why.replace(person.mailbox_id, person.name)
        done = "\n".join(f"    {step}" for step in self.steps[-TOLD:])
        faults.tell([f"{why.rstrip('.')}.\n  What was done, the last step last:\n{done}"])

    def wait(self, seconds: int) -> None:
        for task in self.tasks():
            item = self.item(task.id)
            if item is not None and item.bell is not None:
                self.over(task.id)

        def pass_time() -> None:
            advance(seconds)
            self.site.sweep()

        self.do(f"{seconds} seconds pass", pass_time)

    def client(self) -> Person:
        """Who sends the work and decides on it."""
        return self.workers[0] if self.mode.info.orders else self.owner

    def people(self) -> list[Person]:
        return [*self.workers, self.owner]

    # -- what is seen -----------------------------------------------------------------------

    def over(self, task_id: str) -> None:
        """From now on the task may end: somebody decides on it."""
        self.may_end.add(task_id)

    def tasks(self) -> list[Task]:
        with db.reading():
            return list(Task.select().where(Task.gig_id == self.gig.id).order_by(Task.number))

    def task(self, task_id: str) -> Task:
        with db.reading():
            return Task.get(Task.id == task_id)

    def item(self, task_id: str) -> ModeItem | None:
        with db.reading():
            return ModeItem.get_or_none(ModeItem.task_id == task_id)

    def in_hands(self, task_id: str) -> tuple[Person, Task] | None:
        """The task, or a copy of it, and who holds it now."""
        sent = self.task(task_id)
        for task in self.tasks():
            of_it = task.id == task_id or task.template_number == sent.number
            if of_it and task.status == "claimed":
                for person in self.people():
                    if person.mailbox_id == task.mailbox_id:
                        return person, task
        return None

    def now(self) -> int:
        with db.reading():
            return clock.now()
