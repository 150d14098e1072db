"""Every step of an order that is sent or undone, counted: each commit, and each call that sends.

A process that dies between two of these has done the same as one that dies right after the first,
so whoever is killed after each of them in turn was killed everywhere. `dying.py` puts this into a
process of Muster. A point is called `… step 7`, and what that was is left in the file `died`.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from engine import commands, order_payments, order_publishing, order_undoing, reconcile
from engine.chain import confirmer
from engine.chain.client import Chain
from engine.db import Db
from web import keyed

STEP = "step "
KINDS = (order_payments.KIND, order_undoing.KIND)


@dataclass
class Business:
    """What a thread is at: has it turned out to be an order's?"""

    is_ours: bool = False


# One for each request, step of a command or look at the chain, wherever its transaction runs.
_business: ContextVar[Business | None] = ContextVar("business", default=None)


class Steps:
    """Counts the steps of this process since a name was armed."""

    def __init__(self, armed: Callable[[], str | None], die: Callable[[str, str], None]) -> None:
        self._armed, self._die = armed, die
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def install(self) -> None:
        """Wrap what begins and ends an order's business, and what its steps are."""
        # A request that decides, and the commit of its answer under an Idempotency-Key.
        self._scope(keyed, "run", begins=False)
        self._scope(order_publishing, "publish", begins=True)
        self._scope(order_undoing, "request", begins=True)
        # A step of a command, from the commit that takes it to the one that lets it go.
        self._scope(commands, "run", begins=False)
        self._begins(commands, "_start", lambda answer: answer and answer.kind in KINDS)
        # What the chain says of it.
        self._scope(reconcile, "run", begins=False)
        self._begins(reconcile, "_tell", lambda _: True)
        self._begins(confirmer, "take", lambda _: True)
        self._step(Db, "_write_postgres")
        self._step(Db, "_write_sqlite")
        self._step(Chain, "broadcast")

    def _scope(self, owner: Any, name: str, *, begins: bool) -> None:
        """What is begun within this ends with the outermost of these."""
        fn = getattr(owner, name)

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            outer = _business.get()
            business = outer or Business()
            business.is_ours = business.is_ours or begins
            token = _business.set(business)
            try:
                return fn(*args, **kwargs)
            finally:
                _business.reset(token)

        setattr(owner, name, called)

    def _begins(self, owner: Any, name: str, ours: Callable[[Any], Any]) -> None:
        fn = getattr(owner, name)

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            answer, business = fn(*args, **kwargs), _business.get()
            if business is not None and ours(answer):
                business.is_ours = True
            return answer

        setattr(owner, name, called)

    def _step(self, owner: Any, name: str) -> None:
        fn = getattr(owner, name)

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            answer = fn(*args, **kwargs)
            self._taken_here(_named(name, args[1]))
            return answer

        setattr(owner, name, called)

    def _taken_here(self, what: str) -> None:
        armed = self._armed()
        if armed is None or STEP not in armed or not _is_ours():
            return
        with self._lock:
            self._taken[armed] += 1
            taken = self._taken[armed]
        if armed.endswith(f"{STEP}{taken}"):
            self._die(armed, what)


def _named(name: str, value: Any) -> str:
    if name == "broadcast":
        return "a transaction was handed to the node"
    return f"{value.__module__}:{value.__qualname__} was committed"


def _is_ours() -> bool:
    business = _business.get()
    return business is not None and business.is_ours
