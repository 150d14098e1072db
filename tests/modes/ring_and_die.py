"""A process that rings the bells and is killed on its way: `ring_and_die DATABASE_URL SITE`.

Once at each of the steps below, each time in a child of its own, and at last just after the commit.
Prints the stage of the one auction and the child's signal after each.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from engine import bells, events, holding, install, mode_items, modes, settings, verb_effects
from engine.db import db
from engine.models.mode_item import ModeItem
from plugins import defaults

STEPS: tuple[tuple[Any, str], ...] = (
    (mode_items, "take_bell"),
    (verb_effects, "set_price"),
    (holding, "assign"),
    (mode_items, "set_stage"),
    (events, "append"),
)


def _dies_after(step: Callable[..., Any]) -> Callable[..., Any]:
    def run(*given: Any, **named: Any) -> Any:
        step(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    return run


def _in_a_child(url: str, module: Any = None, name: str = "") -> str:
    child = os.fork()
    if child == 0:
        install.configure(settings.load({}, {"STAGE": "dev", "DATABASE_URL": url}))
        if module is not None:
            setattr(module, name, _dies_after(getattr(module, name)))
        bells.ring()
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    db.connect(url)
    with db.reading():
        stage = ModeItem.select(ModeItem.stage).scalar()
    db.close()
    return f"{stage}{os.waitstatus_to_exitcode(status)}"


def main(url: str, site: str) -> None:
    sys.path.insert(0, site)
    modes.load(defaults)
    for module, name in STEPS:
        print(_in_a_child(url, module, name))
    print(_in_a_child(url))


if __name__ == "__main__":
    main(*sys.argv[1:])
