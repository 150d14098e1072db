"""What is wrong with a mode, in sentences that say what to do about it."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from engine.rules.names import one_of as one_of

ROOT = Path(__file__).parents[2]


def tell(faults: Iterable[str]) -> None:
    """Fail with these sentences, each once, if there are any."""
    __tracebackhide__ = True
    found = list(dict.fromkeys(faults))
    if found:
        pytest.fail("\n".join(f"- {fault}" for fault in found), pytrace=False)


def where(error: BaseException, mode: object) -> str:
    """The error in one line, with the line of the mode that it came from."""
    told = f"{type(error).__name__}: {error}"
    files = {getattr(mode, "__file__", None)} if isinstance(mode, ModuleType) else set()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        inside = ROOT / "engine" in Path(frame.filename).parents or "pluggy" in frame.filename
        if frame.filename in files or not (files or inside):
            return f"{told} ({Path(frame.filename).name}, line {frame.lineno})"
    return told


@contextmanager
def asking(what: str, mode: object) -> Iterator[None]:
    """A question that must be answered: whatever it raises is a fault of the mode's."""
    __tracebackhide__ = True
    try:
        yield
    except Exception as error:
        tell(
            [f"{what} raised {where(error, mode)}. A mode answers every question that it is asked."]
        )
