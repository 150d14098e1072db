"""A mode that only tests know: its desk has what the ones that come with Muster do not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.hookspecs import impl
from engine.plans import (
    Act,
    Desk,
    GigFacts,
    HandIn,
    ModeInfo,
    Plan,
    PushTo,
    Remember,
    Routed,
    Selection,
    Stage,
    TaskFacts,
    Verb,
)
from engine.roles import ACTIVE, ANYONE, MEMBER, OWNER

MONEY = {"type": "number", "format": "money", "maximum": 9_000_000}


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("benches",),
        title="Benches",
        description="Work on a bench.",
        stages=("given", "done"),
        verbs=(
            Verb(
                "quote",
                "Say what it costs.",
                {"amount": MONEY, "extra": {**MONEY, "default": 250_000}},
                ("amount",),
                holder=True,
            ),
            Verb("finish", "Hand it in.", stages=("given",), holder=True),
            Verb("note", "Look at it.", by=frozenset({ACTIVE})),
            Verb("boss", "The owner may.", by=frozenset({OWNER})),
            Verb("lead", "The owner may, and who works for him.", by=frozenset({OWNER, ACTIVE})),
            Verb("odd", "Nobody of the gig may who is no buyer.", by=frozenset({"buyer"})),
            Verb("look", "Anybody may.", by=frozenset({ANYONE, MEMBER})),
        ),
        desk=Desk("/v1/benches", "Your bench", shown=("given", "done"), flags={"more": ("done",)}),
    )


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (PushTo("in_turn"),)


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="none")


@impl
def placed(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Stage("given"),)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    return (PushTo("in_turn"),)


@impl
def act(gig: GigFacts, task: TaskFacts, act: Act) -> Plan:
    if act.verb == "finish":
        return (Stage("done"), HandIn(("done",)))
    return (Remember({act.verb: dict(act.given) or True}),)


@impl
def show(gig: GigFacts, task: TaskFacts, reader: str) -> Mapping[str, Any]:
    return task.memo


@impl
def desk_items(routed: Sequence[Routed]) -> Sequence[Mapping[str, Any]]:
    return [
        {"id": one.task.number, "stage": one.task.stage, "status": one.task.status}
        for one in routed
    ]
