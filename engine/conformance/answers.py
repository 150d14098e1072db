"""Are a mode's answers such as can be used, and the same each time?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pluggy

from engine import hookspecs, plan_words
from engine.conformance import faults, plan_checks, questions
from engine.errors import Refused
from engine.modes import Mode
from engine.plan_words import is_answer, is_json
from engine.plans import (
    ORDERS,
    Act,
    GigFacts,
    Proving,
    Routed,
    Selection,
    TaskFacts,
)

# So many words of a sentence say which fault it is.
FIRST_WORDS = 4
PLANS = ("distribute", "declined", "released", "rejected", "placed", "act", "rang")


class Asked:
    """A mode's own answers, and the defaults' where it leaves a question out."""

    def __init__(self, mode: Mode, implementation: object) -> None:
        self.mode, self.implementation = mode, implementation
        own = pluggy.PluginManager(hookspecs.PROJECT)
        own.add_hookspecs(hookspecs)
        own.register(implementation)
        self._own = own.hook
        self._told: set[tuple[str, ...]] = set()

    def answers_itself(self, hook: str) -> bool:
        return bool(getattr(self._own, hook).get_hookimpls())

    def own(self, hook: str, **told: Any) -> Any:
        """What the mode itself answers; None where it leaves the question to the defaults."""
        return getattr(self._own, hook)(**told)

    def problems(self, hook: str, told: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with the answer to this question; nothing where it is refused.

        The same fault, as its first words have it, is told of the first question alone.
        """
        for problem in self._problems(hook, told):
            fault = (hook, *problem.split()[:FIRST_WORDS])
            if fault not in self._told:
                self._told.add(fault)
                yield f"{_case(hook, told)}: {problem}."

    def _problems(self, hook: str, told: Mapping[str, Any]) -> Iterator[str]:
        try:
            first = self.own(hook, **told)
            again = self.own(hook, **told)
        except Refused:
            if hook not in ("read_fields", "act"):
                yield "raised Refused. Only read_fields() and act() may refuse"
            return
        except Exception as error:
            yield f"raised {faults.where(error, self.implementation)}"
            return
        if not self.answers_itself(hook):
            return
        if first is None:
            yield (
                "answered None, which leaves the answer to plugins/defaults.py. "
                "Return a value, () for a plan that does nothing; or take the function away"
            )
            return
        if first != again:
            yield (
                f"answered the same question first with {first!r} and then with {again!r}. "
                "An answer may follow from what is asked alone"
            )
        yield from self.wrong(hook, told, first)

    def about_what_was_played(self, asked: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[str]:
        """The same of questions that came up in a play, and of how their tasks are shown."""
        seen: set[str] = set()
        for hook, told in asked:
            if hook in PLANS and hook != "distribute":
                yield from self.problems(hook, told)
                if repr(told["task"]) not in seen:
                    seen.add(repr(told["task"]))
                    yield from self._shown(told["gig"], told["task"])

    def _shown(self, gig: GigFacts, task: TaskFacts) -> Iterator[str]:
        if task.stage is None:
            return
        for reader in questions.READERS:
            yield from self.problems("show", questions.reading(gig, task, reader))
        desk = self.mode.info.desk
        if (
            desk is not None
            and task.mailbox_id is not None
            and task.stage in questions.listed(desk)
        ):
            told = {"routed": (Routed(task, "Somebody"),), "planner": questions.planner((task,))}
            yield from self.problems("desk_items", told)

    def wrong(self, hook: str, told: Mapping[str, Any], answer: Any) -> Iterator[str]:
        """What is wrong with an answer, each as the rest of a sentence."""
        if hook in PLANS:
            yield from self._plan(hook, told, answer)
        elif hook == "select":
            yield from _selection(answer)
        elif hook == "proving":
            if not isinstance(answer, Proving):
                yield f"answered {answer!r}; answer a Proving(…)"
        elif hook in ("read_fields", "show"):
            fits = is_answer if hook == "show" else is_json
            if not isinstance(answer, Mapping) or not fits(answer):
                yield f"answered {answer!r}; answer a dict of JSON values, with no float in it"
        elif hook == "desk_items":
            yield from _items(told["routed"], answer)

    def _plan(self, hook: str, told: Mapping[str, Any], plan: Any) -> Iterator[str]:
        wrong = list(plan_words.problems(self.mode.info, hook, plan))
        if wrong:
            yield from wrong
            return
        task: TaskFacts = told["task"]
        course, found = plan_checks.follow(self.mode.info, task, plan)
        yield from found
        if hook == "distribute" and not isinstance(course.reply.get("status"), str):
            yield (
                "tells its sender nothing; say Reply({'status': 'queued'}), or whatever became "
                "of the task"
            )
        keeps = course.state == plan_checks.HELD and course.holder == task.mailbox_id
        if hook == "released" and keeps and not course.gave_up:
            yield (
                "leaves the task with the worker whose time is over; say where it goes: PutBack(), "
                "PushTo(…), Assign(…) to another"
            )
        if hook == "declined" and task.mailbox_id == told["mailbox_id"] and keeps:
            yield "leaves the task with the worker who passes on it; say PutBack()"
        if hook == "declined" and told["mailbox_id"] not in course.excluded:
            yield (
                "would offer the task again to the worker who passed on it; say "
                "Exclude(mailbox_id, 'declined')"
            )
        if hook == "rejected" and course.state == "submitted":
            yield "leaves rejected work as it was; say MoveTask('reject'), or PutBack()"


def _case(hook: str, told: Mapping[str, Any]) -> str:
    """The question in a few words."""
    words = [f"{hook}()"]
    task = told.get("task")
    if isinstance(task, TaskFacts):
        flags = [name for name in ("assigned", "copy", "offered") if getattr(task, name)]
        stage = [] if task.stage is None else [f"at the stage {task.stage!r}"]
        words += [f"of a task that is {task.status}", *flags, *stage]
    if isinstance(told.get("act"), Act):
        words.append(f"by the verb {told['act'].verb!r}")
    for name in ("requeue", "bell", "reader"):
        if name in told:
            words.append(f"with {name}={told[name]!r}")
    return ", ".join(words)


def _selection(answer: Any) -> Iterator[str]:
    if not isinstance(answer, Selection):
        yield f"answered {answer!r}; answer a Selection(shelf=…)"
        return
    for name, known in (("shelf", ("queue", "none")), ("order", ORDERS), ("how", ("take", "copy"))):
        value = getattr(answer, name)
        if value not in known:
            yield f"answered {name}={value!r}. " + faults.one_of(str(value), known).rstrip(".")


def _items(routed: Any, answer: Any) -> Iterator[str]:
    if not isinstance(answer, (list, tuple)) or len(answer) != len(routed):
        yield f"answered {answer!r}; answer a list with one dict for each task, in their order"
    elif not all(isinstance(one, Mapping) and is_answer(one) for one in answer):
        yield "answered items that JSON cannot say; texts, whole numbers, lists and dicts only"
