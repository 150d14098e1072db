"""The tests themselves; an outside package runs them by naming its mode."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import pluggy
import pytest

from engine import hookspecs, modes
from engine.conformance import answers, description, facts, faults, imports
from engine.plans import ModeInfo
from plugins import defaults


class ModeSuite:
    """Derive a class called `Test…` from it, and name the mode.

    `settings` are settings of a gig that the mode needs beside its name; `said` what a sender must
    say of each task under the mode's own names; `bodies` a body for each verb that wants another
    one than its schema's first fitting values.
    """

    mode: ClassVar[Any] = None
    settings: ClassVar[Mapping[str, Any]] = {}
    said: ClassVar[Mapping[str, Any]] = {}
    bodies: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """What is played is played under each name of the mode."""
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", _names(self.mode))

    @contextmanager
    def installed(self) -> Iterator[modes.Mode]:
        """The mode, over the defaults, as the only one that there is."""
        __tracebackhide__ = True
        faults.tell(_unusable(self.mode))
        with modes.only(self.mode, defaults) as mode:
            yield mode

    def test_it_is_a_mode(self) -> None:
        """Its hooks exist, take what they are asked with, and it says what it is."""
        faults.tell(_unusable(self.mode))

    def test_it_brings_in_no_database_network_or_clock(self) -> None:
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
            for hook, told in answers.questions(mode, self.said):
                found += asked.problems(hook, told)
            faults.tell(found)


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
    for name in dir(mode):
        if hasattr(getattr(mode, name, None), "muster_impl") and name not in hooks:
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
    else:
        try:
            modes.Mode(mode, defaults)
        except (TypeError, ValueError) as error:
            yield f"The engine would not load it: {error}."


def _is_of(mode: Any, function: Any) -> bool:
    """Is it a function of the mode's own, and not a name that it has imported?"""
    if not callable(function) or not isinstance(mode, ModuleType):
        return callable(function)
    return inspect.getmodule(function) is sys.modules.get(mode.__name__)
