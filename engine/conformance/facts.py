"""Gigs and tasks as a mode may be shown them, without a database behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.conformance import schemas
from engine.plans import GigFacts, ModeInfo, Sent, TaskFacts
from engine.rules import json_shapes

WORKER, OTHER, VENDOR = "MBX_WORKER", "MBX_OTHER", "MBX_VENDOR"
PRICE_UNITS = 2_500_000
NOW = 1_900_000_000_000


def gigs(info: ModeInfo) -> list[GigFacts]:
    """A gig under each of the mode's names; with a price and without, and what it may set."""
    orders = tuple(info.settings.get("queue_order", {}).get("enum", ("fifo",)))
    first = GigFacts("GIG_1", info.names[0], orders[0], PRICE_UNITS)
    found = [replace(first, distribution=name) for name in info.names]
    found += [replace(first, queue_order=order) for order in orders[1:]]
    found.append(replace(first, price_units=0))
    if "accept_timeout_seconds" in info.settings:
        found += [replace(one, accept_seconds=60) for one in found[: len(info.names)]]
    if info.orders:
        found = [
            replace(one, price_units=0, owner_mailbox_id=VENDOR, list_price_units=units)
            for one in found
            for units in (0, 500_000)
        ]
    return list({repr(one): one for one in found}.values())


def sent(info: ModeInfo, said: Mapping[str, Any]) -> list[Sent]:
    """What a sender may say under the mode's own names: what must be said, and everything."""
    everything = {name: schemas.sample(schema) for name, schema in info.fields.items()}
    least = json_shapes.with_defaults(dict(said), info.fields)
    return [Sent(least), Sent({**everything, **said}, "A subject")]


def waiting(fields: Mapping[str, Any] | None = None) -> Iterator[TaskFacts]:
    """New tasks, as `distribute` is asked about."""
    first = TaskFacts(
        "TASK_1",
        "queued",
        1000,
        (),
        None,
        False,
        None,
        subject="A subject",
        created_at=NOW,
        fields=fields or {},
    )
    yield first
    yield replace(first, priority=0, tags=("a", "b"), price_units=0, subject="")
    yield replace(first, price_units=1_000_000)
    yield replace(first, price_tbd=True)


def held(fields: Mapping[str, Any] | None = None, holder: str = WORKER) -> Iterator[TaskFacts]:
    """Tasks in a worker's hands: taken, assigned, pushed and not accepted yet, copies."""
    for task in waiting(fields):
        units = None if task.price_tbd else task.price_units or PRICE_UNITS
        taken = replace(task, status="claimed", mailbox_id=holder, held_price_units=units)
        yield taken
        yield replace(taken, assigned=True)
        yield replace(taken, offered=True)
        yield replace(taken, copy=True)
