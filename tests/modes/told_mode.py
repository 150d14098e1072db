"""A mode that answers what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.hookspecs import impl
from engine.plans import Enqueue, ModeInfo, Plan, Reply, Selection

# By the names of questions: each takes what was asked, by name, and answers a plan.
ANSWERS: dict[str, Callable[..., Plan]] = {}
# Who was told to have gone, each time that a plan was asked for.
GONE: list[frozenset[str]] = []


def _answer(hook: str, **asked: Any) -> Plan | None:
    """None leaves the question to the defaults."""
    if hook not in ANSWERS:
        return None
    GONE.append(asked["gone"])
    return ANSWERS[hook](**asked)


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("told",), title="Told", description="As a test says.", stages=("here", "there")
    )


@impl
def select(gig: Any) -> Selection:
    return Selection(shelf="queue")


@impl
def distribute(gig: Any, task: Any, gone: frozenset[str]) -> Plan:
    answer = _answer("distribute", task=task, gone=gone)
    return (Enqueue(), Reply({"status": "queued"})) if answer is None else answer


@impl
def declined(gig: Any, task: Any, mailbox_id: str, gone: frozenset[str]) -> Plan | None:
    return _answer("declined", task=task, gone=gone)


@impl
def released(gig: Any, task: Any, gone: frozenset[str]) -> Plan | None:
    return _answer("released", task=task, gone=gone)


@impl
def rejected(gig: Any, task: Any, requeue: bool, gone: frozenset[str]) -> Plan | None:
    return _answer("rejected", task=task, gone=gone)


@impl
def rang(gig: Any, task: Any, bell: str, now: int, gone: frozenset[str]) -> Plan | None:
    return _answer("rang", task=task, gone=gone)
