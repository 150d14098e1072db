"""The tests themselves; an outside package runs them by naming its mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pluggy
import pytest

from engine import hookspecs, modes
from engine.conformance import (
    answers,
    description,
    facts,
    faults,
    imports,
    questions,
    races,
    site,
    story,
)
from engine.conformance.play import ACCEPT_SECONDS, Bodies, Play
from engine.plans import ModeInfo
from plugins import defaults

_NOBODY = (
    "No worker ever got a task to do. distribute() says where a new one goes, select() what polls "
    "take: Enqueue() with Selection(shelf='queue') is a queue, PushTo(…) a push. If it takes a "
    "verb with more than any fitting body, say so in `bodies`, in the class of your tests."
)


class ModeSuite:
    """Derive a class called `Test…` from it, and name the mode.

    `settings` are settings of a gig that the mode needs beside its name; `said` what a sender must
    say of each task under the mode's own names; `bodies` a body for each verb that wants another
    one than the first values that its schema allows, or a function that makes it of the `Play`.
    """

    mode: ClassVar[Any] = None
    settings: ClassVar[Mapping[str, Any]] = {}
    said: ClassVar[Mapping[str, Any]] = {}
    bodies: ClassVar[Bodies] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """What is played is played under each name of the mode."""
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", _names(self.mode))

    @contextmanager
    def installed(self) -> Iterator[modes.Mode]:
        """The mode, over the defaults, as the only one that there is."""
        __tracebackhide__ = True
        if any(_unusable(self.mode)):
            faults.tell(["It cannot be loaded as a mode; test_it_is_a_mode says why."])
        with modes.only(self.mode, defaults) as mode:
            yield mode

    def test_it_is_a_mode(self) -> None:
        """Its hooks exist, take what they are asked with, and it says what it is."""
        faults.tell(_unusable(self.mode))

    def test_it_brings_in_no_database_network_or_clock(self) -> None:
        """As far as the source of its modules tells."""
        faults.tell(imports.problems(self.mode))

    def test_it_describes_itself_in_words_that_are_known(self) -> None:
        with faults.asking("describe()", self.mode):
            info = self.mode.describe()
        if isinstance(info, ModeInfo):
            faults.tell(description.of_info(info))
        with self.installed() as mode, faults.asking("refuses() or authorities()", self.mode):
            faults.tell(description.of_answers(mode, facts.gigs(mode.info)))

    def test_it_answers_every_question_with_a_plan_that_can_be_carried_out(self) -> None:
        with self.installed() as mode:
            asked = answers.Asked(mode, self.mode)
            found: list[str] = []
            for hook, told in questions.of(mode, self.said):
                found += asked.problems(hook, told)
            faults.tell(found)

    def test_its_tasks_live_and_none_is_lost(self, name: str, tmp_path: Path) -> None:
        """The life of tasks in a real engine, in gigs that differ in what they pay and grant."""
        if not self.play(name, tmp_path, story.play_all):
            faults.tell([_NOBODY])

    def test_two_may_do_it_at_once(self, name: str, tmp_path: Path) -> None:
        self.play(name, tmp_path, races.play_all)

    def play(self, name: str, folder: Path, scenes: Callable[[Play], None]) -> int:
        """Play these scenes in each kind of gig that the mode allows; how often was work given?"""
        held = 0
        with self.installed() as mode, site.opened(folder) as install:
            for values in _gigs(mode.info):
                told = {"said": self.said, "bodies": self.bodies}
                with Play(install, mode, self.mode, **told) as play:
                    play.open(name, {**values, **self.settings})
                    scenes(play)
                    held += play.held
                asked = answers.Asked(mode, self.mode)
                faults.tell(asked.about_what_was_played(play.asked.values()))
        return held


def _gigs(info: ModeInfo) -> Iterator[dict[str, Any]]:
    """The settings of each gig that is played in, beside its name."""
    yield {}
    if "const" not in info.settings.get("price_units", {}):
        yield {"price_units": 0}
    if "accept_timeout_seconds" in info.settings:
        yield {"accept_timeout_seconds": ACCEPT_SECONDS}


def _names(mode: Any) -> list[str]:
    try:
        info = mode.describe()
    except Exception:
        return ["unnamed"]
    return list(info.names) if isinstance(info, ModeInfo) else ["unnamed"]


def _unusable(mode: Any) -> Iterator[str]:
    """Why the engine would not even load it."""
    if mode is None:
        yield "Say which mode is meant: `mode = my_mode` in the class of the tests."
        return
    hooks = {name for name, value in vars(hookspecs).items() if hasattr(value, "muster_spec")}
    for name in sorted(hooks):
        function = getattr(mode, name, None)
        if _is_of(mode, function) and not hasattr(function, "muster_impl"):
            yield f"{name}() is not marked with @impl of engine.hookspecs, so nobody asks it."
    unknown = [
        name
        for name in dir(mode)
        if hasattr(getattr(mode, name, None), "muster_impl") and name not in hooks
    ]
    for name in unknown:
        yield f"{name}() is no question that is asked. " + faults.one_of(name, hooks)
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(mode)
    except pluggy.PluginValidationError as error:
        told = " ".join(str(error).split("\n")[-1].split())
        yield f"A question takes other arguments than the mode's function: {told}."
        return
    try:
        info = manager.hook.describe()
    except Exception as error:
        yield f"describe() raised {faults.where(error, mode)}."
        return
    if not isinstance(info, ModeInfo):
        yield f"describe() must answer a ModeInfo(names=…, title=…, description=…), not {info!r}."
    elif not info.names or isinstance(info.names, str):
        yield "describe() must answer a tuple of at least one name: names=('my_mode',)."
    elif not unknown:
        try:
            modes.Mode(mode, defaults)
        except (pluggy.PluginValidationError, TypeError, ValueError) as error:
            yield f"The engine would not load it: {error}."


def _is_of(mode: Any, function: Any) -> bool:
    """Is it a function of the mode's own, and not a name that it has imported?"""
    of_module = getattr(function, "__module__", None) == getattr(mode, "__name__", None)
    return callable(function) and (of_module or not isinstance(mode, ModuleType))
