"""Muster that dies where a test says: `python -m tests.faults.money.dying FOLDER …`.

While `FOLDER/armed` holds the name of a point, the first thread that comes there, in whichever
process, kills its own process as `kill -9` would, and the file is then named `fired`. What follows
FOLDER is a command line of `muster`. The product knows nothing of it.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Point:
    """Right before or after a function; with `since` only once it came through that."""

    target: str
    when: str
    since: str = ""


BOOK = "engine.bookings:book"
TELL = "engine.reconcile:_tell"
# Between any two things that happen to a transaction, in this order.
POINTS = {
    "asked": Point("engine.chain.sender:send", "before"),
    "nonce allocated": Point("engine.chain.outbox:lock", "after"),
    "signed": Point("engine.chain.client:Chain.sign", "after"),
    "stored": Point("engine.chain.outbox:store", "after"),
    "committed": Point("engine.chain.outbox:broadcast", "before"),
    "broadcast": Point("engine.chain.client:Chain.broadcast", "after"),
    "sent": Point("engine.chain.sender:send", "after"),
    "mined": Point(BOOK, "before"),
    "recorded": Point(BOOK, "after"),
    "event written": Point(TELL, "after"),
    "books committed": Point("engine.chain.sender:follow", "before", since=TELL),
    "confirmed": Point("engine.chain.confirmer:take", "after"),
    "confirmation committed": Point("engine.chain.confirmer:_Look._end", "after"),
    "finishing": Point("engine.commands:_finish", "before"),
}
# Likewise of an order that is undone, around those of the refund itself. The first four are where
# the request is answered.
UNDO_POINTS = {
    "undo asked": Point("engine.order_undoing:request", "before"),
    "work closed": Point("engine.order_closing:close", "after"),
    "undo decided": Point("engine.order_undoing:go_back", "after"),
    "undo recorded": Point("engine.order_undoing:request", "after"),
    "refund advanced": Point("engine.escrow_refunds:advance", "after"),
    "undo ending": Point("engine.order_undoing:end", "before"),
    "undo ended": Point("engine.order_undoing:end", "after"),
}
# The same of an order that is paid for.
ORDER_POINTS = {
    "terms planned": Point("engine.order_terms:plan", "after"),
    "terms committed": Point("engine.escrow_funding:advance", "before"),
    "handed over": Point("engine.order_handing:hand_over", "after"),
}

_came_through: set[str] = set()


def main(folder: str, *arguments: str) -> None:
    for name, point in (POINTS | UNDO_POINTS | ORDER_POINTS).items():
        _wrap(Path(folder), name, point)
    from tests.faults.money.steps import Steps

    armed = functools.partial(_armed, Path(folder))
    Steps(armed, functools.partial(_die, Path(folder))).install()
    from web.cli import main as muster

    muster(list(arguments))


def _wrap(folder: Path, name: str, point: Point) -> None:
    if point.since:
        _replace(point.since, lambda fn: _noting(fn, name))
    _replace(point.target, lambda fn: _deadly(fn, folder, name, point))


def _replace(target: str, wrapper: Callable[[Any], Any]) -> None:
    module, _, path = target.partition(":")
    *owners, attribute = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    setattr(owner, attribute, wrapper(getattr(owner, attribute)))


def _noting(fn: Any, name: str) -> Any:
    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        _came_through.add(name)
        return fn(*args, **kwargs)

    return called


def _deadly(fn: Any, folder: Path, name: str, point: Point) -> Any:
    def here() -> None:
        if not point.since or name in _came_through:
            _came_through.discard(name)
            _die(folder, name)

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        if point.when == "before":
            here()
        answer = fn(*args, **kwargs)
        if point.when == "after":
            here()
        return answer

    return called


def _armed(folder: Path) -> str | None:
    try:
        return (folder / "armed").read_text()
    except OSError:
        return None


def _die(folder: Path, name: str, what: str = "") -> None:
    armed = folder / "armed"
    try:
        if _armed(folder) != name:
            return
        # Of many who come here, in any process, one finds the file.
        armed.rename(folder / "fired")
        (folder / "died").write_text(what)
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
