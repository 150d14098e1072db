"""A mode that only tests know: it has one of everything that a mode may have of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import Refused, invalid
from engine.hookspecs import impl
from engine.plans import (
    Act,
    Assign,
    AssignAccount,
    AssignByLot,
    Enqueue,
    Exclude,
    GigFacts,
    HandIn,
    ModeInfo,
    MoveTask,
    Plan,
    PushTo,
    Rank,
    Remember,
    Reply,
    Ring,
    Selection,
    Sent,
    SetPrice,
    Stage,
    TaskFacts,
    Verb,
)
from engine.roles import ACTIVE, ANYONE, OWNER

FIELDS: dict[str, dict[str, Any]] = {
    "priority": {"type": "string", "enum": ["soft", "hard"], "default": "soft"},
    "note": {"type": ["string", "null"], "minLength": 2, "maxLength": 20},
    "parts": {"type": "integer", "minimum": 1, "maximum": 9},
    "weight": {"type": "number", "minimum": 0},
    "fragile": {"type": "boolean"},
    "colours": {"type": "array", "items": {"type": "string", "maxLength": 6}},
    "by": {"type": "string", "format": "date-time"},
    "budget": {"type": "number", "format": "money", "maximum": 5_000_000},
}
# Plans that do not fit, by the word that asks for each.
FAULTS: dict[str, Any] = {
    "no plan": 7,
    "no effect": ("Stage",),
    "stage": (Stage("nowhere"),),
    "mailbox": (Assign("MBX_NOBODY"),),
    "verb": (MoveTask("explode"),),
    "move of the engine's": (MoveTask("fund"),),
    "move from elsewhere": (MoveTask("complete"),),
    "pick": (PushTo("round_robin"),),
    "lot among nobody": (AssignByLot(()),),
    "lot among strangers": (AssignByLot(("MBX_NOBODY",)),),
    "memo": (Remember({"it": object()}),),
    "rank": (Rank(10**30),),
    "price": (SetPrice(-1),),
    "proof": (HandIn(("nobody has it",)),),
    "excluded": (Exclude("MBX_NOBODY", "declined"),),
    "half": (Remember({"half": "done"}), Stage("nowhere")),
}


@impl
def describe() -> ModeInfo:
    anybody = frozenset({ANYONE})
    return ModeInfo(
        names=("trial", "trial_solo"),
        title="Trial",
        description="One of everything.",
        settings={"max_claims_per_task": {"type": ["integer", "null"]}},
        query=("availability",),
        fields=FIELDS,
        fields_in_body=True,
        stages=("new", "held", "done"),
        verbs=(
            Verb("take", "Take it.", stages=("new",), by=frozenset({ACTIVE})),
            Verb("pass", "Pass it on.", {"to": {"type": "integer"}}, ("to",), holder=True),
            Verb("finish", "Hand it in.", {"text": {"type": "string"}}, ("text",), holder=True),
            Verb("poke", "Anybody may.", by=anybody),
            Verb("fail", "Go wrong.", {"how": {"type": "string"}}, ("how",), by=anybody),
            Verb(
                "ring",
                "Set the bell.",
                {"bell": {"type": "string"}, "seconds": {"type": "integer"}},
                ("bell", "seconds"),
                by=frozenset({OWNER}),
            ),
            Verb(
                "price", "Say what it pays.", {"units": {"type": "integer"}}, by=frozenset({OWNER})
            ),
        ),
    )


@impl
def refuses() -> Mapping[str, str]:
    return {}


@impl
def read_fields(gig: GigFacts, sent: Sent) -> Mapping[str, Any]:
    if sent.fields.get("note") == "no way":
        raise invalid("note", "not this one")
    return sent.fields


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Enqueue(), Stage("new"), Reply({"status": "queued"}))


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="queue", how="copy" if gig.distribution == "trial_solo" else "take")


@impl
def placed(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Stage("held"), Remember({"had": [*task.memo.get("had", []), task.mailbox_id]}))


@impl
def act(gig: GigFacts, task: TaskFacts, act: Act) -> Plan:
    match act.verb:
        case "take":
            return (Assign(str(act.mailbox_id)),)
        case "pass":
            return (AssignAccount(act.given["to"], "to"),)
        case "finish":
            return (HandIn((act.given["text"],)), Stage("done"))
        case "price":
            return (SetPrice(act.given["units"]),)
        case "ring":
            return (Ring(act.given["bell"], act.now + 1000 * act.given["seconds"]),)
        case "fail":
            return _failing(act.given["how"])
    return (Remember({"pokes": task.memo.get("pokes", 0) + 1}), Reply({"poked": True}))


def _failing(how: str) -> Plan:
    if how == "raise":
        raise KeyError("secret of the mode")
    if how == "refuse":
        raise Refused("not_today", "Come back tomorrow.")
    plan: Plan = FAULTS[how]
    return plan


@impl
def rang(gig: GigFacts, task: TaskFacts, bell: str, now: int) -> Plan:
    if bell == "bad":
        raise RuntimeError("the mode is out of order")
    if bell == "finish":
        return (HandIn(("time is up",)),)
    again = (Ring("last", now + 1000),) if bell == "twice" else ()
    return (Remember({"rung": [*task.memo.get("rung", []), bell]}), *again)


@impl
def show(gig: GigFacts, task: TaskFacts, reader: str) -> Mapping[str, Any]:
    return {"reader": reader, **task.memo}
