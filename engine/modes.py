"""Finds the modes; `ask(gig.distribution)` is one mode's answers over the defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

import pluggy
import structlog

from engine import hookspecs, plan_words
from engine.errors import Refused, SettingsError
from engine.models.gig import Gig
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
from engine.rules import json_shapes

ENTRY_POINTS = "muster.modes"
FAULT = "mode_fault"
# What every webhook, draft or row takes and no mode can mean anything else by.
TAKEN_NAMES = frozenset({"token", "draft", "draft_id", "external_id", "payload", "content_type"})
# Under /api, and nobody's desk.
OWN_PATHS = ("/v1/assignees", "/v1/me")
_DESK_PATH = re.compile(r"/v[0-9]+(/[a-z0-9][a-z0-9_-]*)+", re.ASCII)

NOBODY: frozenset[str] = frozenset()

log = structlog.get_logger()


class Mode:
    """The answers of one mode, each typed as its hook spec is."""

    def __init__(self, implementation: object, defaults: object) -> None:
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        # The last registered is asked first, and the first answer counts.
        manager.register(defaults)
        manager.register(implementation)
        manager.check_pending()
        self.manager = manager
        self._hook: Any = manager.hook
        info = self._hook.describe()
        if not isinstance(info, ModeInfo) or not info.names:
            raise TypeError("describe() must answer a ModeInfo with at least one name")
        check(info)
        self.info: ModeInfo = info

    def _asked(self, hook: str, **told: Any) -> Any:
        """The mode's answer. Only a mode that refuses may raise; anything else is its fault."""
        try:
            return getattr(self._hook, hook)(**told)
        except Refused:
            raise
        except Exception as error:
            raise self.fault(hook, error) from error

    def _plan(self, hook: str, **told: Any) -> Plan:
        plan = self._asked(hook, **told)
        problem = next(plan_words.problems(self.info, hook, plan), None)
        if problem is not None:
            raise self.fault(hook, ValueError(problem), plan)
        return tuple(plan)

    def fault(
        self, hook: str, error: Exception, plan: object = None, effect: object = None
    ) -> Refused:
        """What whoever asked is told, 503 `mode_fault`; the log says what the mode did wrong.

        That is the question `hook`, with the line of its function, and of a plan that cannot be
        carried out the `effect`.
        """
        log.error(
            "mode.fault",
            mode=self.info.names[0],
            hook=hook,
            function=self.line_of(hook),
            plan=None if plan is None else repr(plan),
            effect=None if effect is None else repr(effect),
            error=str(error),
            exc_info=error,
        )
        return Refused(
            FAULT,
            f"The mode {self.info.names[0]!r} of this gig is faulty, so nothing was done. The "
            "operator's log says why.",
            mode=self.info.names[0],
        )

    def line_of(self, hook: str) -> str:
        """Where the function is that answers, as `my_mode.py, line 12`."""
        # The first that is asked is the last of these.
        function: Any = getattr(self._hook, hook).get_hookimpls()[-1].function
        code = inspect.unwrap(function).__code__
        return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"

    def refuses(self, gig: GigFacts | None = None) -> Mapping[str, str]:
        return cast(Mapping[str, str], self._asked("refuses", gig=gig))

    def authorities(self) -> Mapping[str, frozenset[str]]:
        return cast(Mapping[str, frozenset[str]], self._asked("authorities"))

    def distribute(self, gig: GigFacts, task: TaskFacts, gone: frozenset[str] = NOBODY) -> Plan:
        return self._plan("distribute", gig=gig, task=task, gone=gone)

    def select(self, gig: GigFacts) -> Selection:
        return cast(Selection, self._asked("select", gig=gig))

    def declined(
        self, gig: GigFacts, task: TaskFacts, mailbox_id: str, gone: frozenset[str] = NOBODY
    ) -> Plan:
        return self._plan("declined", gig=gig, task=task, mailbox_id=mailbox_id, gone=gone)

    def released(self, gig: GigFacts, task: TaskFacts, gone: frozenset[str] = NOBODY) -> Plan:
        return self._plan("released", gig=gig, task=task, gone=gone)

    def rejected(
        self, gig: GigFacts, task: TaskFacts, requeue: bool, gone: frozenset[str] = NOBODY
    ) -> Plan:
        return self._plan("rejected", gig=gig, task=task, requeue=requeue, gone=gone)

    def proving(self, gig: GigFacts) -> Proving:
        return cast(Proving, self._asked("proving", gig=gig))

    def read_fields(self, gig: GigFacts, sent: Sent) -> Mapping[str, Any]:
        return cast(Mapping[str, Any], self._asked("read_fields", gig=gig, sent=sent))

    def placed(self, gig: GigFacts, task: TaskFacts) -> Plan:
        return self._plan("placed", gig=gig, task=task)

    def act(self, gig: GigFacts, task: TaskFacts, act: Act) -> Plan:
        return self._plan("act", gig=gig, task=task, act=act)

    def rang(
        self,
        gig: GigFacts,
        task: TaskFacts,
        bell: str,
        now: int,
        gone: frozenset[str] = NOBODY,
    ) -> Plan:
        return self._plan("rang", gig=gig, task=task, bell=bell, now=now, gone=gone)

    def show(
        self,
        gig: GigFacts,
        task: TaskFacts,
        reader: str,
        mailbox_ids: frozenset[str] = NOBODY,
    ) -> Mapping[str, Any]:
        found = self._asked("show", gig=gig, task=task, reader=reader, mailbox_ids=mailbox_ids)
        return cast(Mapping[str, Any], found)

    def desk_items(self, routed: Sequence[Routed], planner: Planner) -> Sequence[Mapping[str, Any]]:
        found = self._asked("desk_items", routed=routed, planner=planner)
        return cast(Sequence[Mapping[str, Any]], found)


def check(info: ModeInfo) -> None:
    """Is what a mode says of its fields and verbs sound? ValueError says what is not."""
    json_shapes.check(info.fields)
    clash = sorted(TAKEN_NAMES & info.fields.keys())
    if clash:
        raise ValueError(f"no field of a mode can be called {', '.join(clash)}")
    if info.desk is not None:
        check_desk_path(info.desk.path)
    for verb in info.verbs:
        json_shapes.check(verb.fields)
        if [one.name for one in info.verbs].count(verb.name) > 1:
            raise ValueError(f"two of its verbs are called {verb.name!r}")
        if "mailbox_id" in verb.fields:
            raise ValueError(f"{verb.name}: mailbox_id is a member of every verb's body")
        odd = [*(set(verb.required) - verb.fields.keys()), *(set(verb.stages) - set(info.stages))]
        if odd:
            raise ValueError(f"{verb.name}: it names {', '.join(sorted(odd))}, which is not there")


def check_desk_path(path: str) -> None:
    """ValueError says why no desk can be there, whichever other modes there are."""
    if not _DESK_PATH.fullmatch(path):
        raise ValueError(
            f"the desk's path {path!r} must begin with /v1/, or the number of another version, and "
            "be lower case, so that it is in nobody's way"
        )
    for own in OWN_PATHS:
        if f"{path}/".startswith(f"{own}/"):
            raise ValueError(f"the desk's path {path!r} is Muster's own; give it another")


_modes: dict[str, Mode] = {}


def install(implementation: object, defaults: object, source: str = "") -> Mode:
    """Add one mode under each of its names."""
    try:
        mode = Mode(implementation, defaults)
    except (pluggy.PluginValidationError, TypeError, ValueError) as error:
        name = source or repr(implementation)
        raise SettingsError(f"The mode {name} is not usable: {error}.") from error
    _require_apart(mode.info)
    _modes.update(dict.fromkeys(mode.info.names, mode))
    return mode


def _require_apart(info: ModeInfo) -> None:
    """No two modes have one name, or one path for their desks; the same may come again."""
    for name, other in _modes.items():
        if other.info == info:
            continue
        if name in info.names:
            raise SettingsError(f"Two installed modes are called {name!r}; uninstall one of them.")
        if info.desk and other.info.desk and info.desk.path == other.info.desk.path:
            raise SettingsError(
                f"The installed modes {name!r} and {info.names[0]!r} have one path for their "
                f"desks, {info.desk.path}; uninstall one of them."
            )


@contextmanager
def only(implementation: object, defaults: object) -> Iterator[Mode]:
    """One mode alone, for whoever tries it out; afterwards those that were there before."""
    before = dict(_modes)
    _modes.clear()
    try:
        yield install(implementation, defaults)
    finally:
        _modes.clear()
        _modes.update(before)


def load(defaults: object) -> None:
    """Install every mode that an installed package offers. Safe to call again."""
    for point in entry_points(group=ENTRY_POINTS):
        try:
            implementation = point.load()
        except Exception as error:
            raise SettingsError(
                f"The mode {point.name!r} ({point.value}) cannot be loaded: {error}."
            ) from error
        install(implementation, defaults, point.name)


def ask(distribution: str) -> Mode:
    """The mode that serves a gig; a 400 that names those that exist when there is none (G-03)."""
    mode = _modes.get(distribution)
    if mode is None:
        names = ", ".join(sorted(_modes)) or "none"
        sentence = f"no mode is called {distribution!r}; installed: {names}"
        raise Refused(
            "unknown_mode", f"distribution: {sentence}.", errors={"distribution": sentence}
        )
    return mode


def installed() -> dict[str, Mode]:
    """Every mode by the names that it serves."""
    return dict(sorted(_modes.items()))


def facts(gig: Gig) -> GigFacts:
    """The gig as its mode is shown it."""
    return GigFacts(
        gig.id,
        gig.distribution,
        gig.queue_order,
        gig.price_units,
        list_price_units=gig.list_price_units,
        owner_mailbox_id=gig.owner_mailbox_id,
        accept_seconds=gig.accept_timeout_seconds,
    )


def takes_orders(gig: Gig) -> bool:
    """Do its members order, and its owner do the work?"""
    return ask(gig.distribution).info.orders


def no_orders() -> str:
    """Why something of orders is refused in any other gig: `not_` and the mode that takes them."""
    names = [name for name, mode in installed().items() if mode.info.orders]
    return f"not_{names[0]}" if names else "not_orders"
