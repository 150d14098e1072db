"""Who wants to hear what the chain did: the parts of the engine register here, nobody calls them.

`engine/reconcile.py` tells of an event once it is final, in the transaction that books it, and
again with `taken_back` when a reorg has undone it. It tells of a transaction of ours that will
never do what it was sent for (mined but reverted, or its nonce used by another) in the
transaction that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from engine.chain.treasury_events import TreasuryEvent
from engine.models.chain import ChainTransaction

# An observer answers the ids of the commands that waited for what it heard.
EventObserver = Callable[[Any, bool], Iterable[str]]
FailureObserver = Callable[[ChainTransaction], Iterable[str]]

OnEvent = TypeVar("OnEvent", bound=EventObserver)
OnFailure = TypeVar("OnFailure", bound=FailureObserver)

_on_event: dict[type[TreasuryEvent], list[EventObserver]] = {}
_on_failure: list[FailureObserver] = []


def on_event(*kinds: type[TreasuryEvent]) -> Callable[[OnEvent], OnEvent]:
    """Register `fn(event, taken_back)` for events of these kinds."""

    def register(fn: OnEvent) -> OnEvent:
        for kind in kinds:
            _on_event.setdefault(kind, []).append(fn)
        return fn

    return register


def on_failure(fn: OnFailure) -> OnFailure:
    """Register `fn(transaction)`; its status is `reverted` or `replaced`."""
    _on_failure.append(fn)
    return fn


def tell_event(event: TreasuryEvent, taken_back: bool) -> set[str]:
    """Tell of an event; answers the commands to wake. Only inside `db.write`."""
    return {
        command_id for fn in _on_event.get(type(event), []) for command_id in fn(event, taken_back)
    }


def tell_failure(transaction: ChainTransaction) -> set[str]:
    """Tell of a transaction that failed; answers the commands to wake. Only inside `db.write`."""
    return {command_id for fn in _on_failure for command_id in fn(transaction)}
