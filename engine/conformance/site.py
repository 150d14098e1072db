"""A real engine over SQLite in one folder: people, one clock, and what the scheduler would ring."""

from __future__ import annotations

import base64
import itertools
import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from engine import (
    accounts,
    clock,
    commands,
    install,
    migrate,
    settings,
    sweeps,
    waiting_delivery,
    wake,
)
from engine.operations import Caller

_numbers = itertools.count(1)


@dataclass
class Person:
    """An account, and its place in the gig that is played in; `number` is the account's."""

    name: str
    number: int
    caller: Caller
    email: str
    mailbox_id: str = ""


class Site:
    """An install in this process. Nothing runs beside it: commands are run as they are written."""

    def __init__(self) -> None:
        # What was raised where the engine goes on all the same, as a sweep does, and with what it
        # was logged.
        self.swallowed: list[tuple[BaseException, dict[str, Any]]] = []

    def person(self, name: str) -> Person:
        email = f"{name.replace(' ', '-')}-{next(_numbers)}@example.com"
        account, _, _ = accounts.provision(email)
        return Person(name, account.number, Caller(account.id), email)

    def sweep(self) -> None:
        """What a running install does by itself, every few seconds."""
        for one in sweeps.OF_TASKS:
            one()

    def note(
        self, logger: Any, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """A step of structlog's: keeps what the engine only logs, and shows nothing."""
        told = event.get("exc_info")
        error = told if isinstance(told, BaseException) else sys.exc_info()[1]
        if told and error is not None:
            self.swallowed.append((error, dict(event)))
        raise structlog.DropEvent


def _deliver(gig_id: str) -> None:
    waiting_delivery.deliver(gig_id)


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    """An empty install; closed, and its bells and log as before, at the end."""
    site = Site()
    kept = structlog.get_config()
    structlog.configure(processors=[site.note])
    install.configure(
        settings.load(
            {},
            {
                "DATABASE_URL": f"sqlite:///{folder / 'muster.db'}",
                "MASTER_KEYS": base64.b64encode(os.urandom(32)).decode(),
            },
        )
    )
    try:
        migrate.up()
        wake.on("command", commands.run)
        wake.on("waiting", _deliver)
        yield site
    finally:
        wake.silence()
        install.close()
        structlog.configure(**kept)


def advance(seconds: int) -> None:
    clock.advance(seconds)
