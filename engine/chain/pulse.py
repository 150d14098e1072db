"""Does the node answer just now? For those who must not wait long to be told (H-13)."""

from __future__ import annotations

import threading
import time

from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable

# A node that hangs costs one asker this long, once in a while.
PROBE_SECONDS = 1.0
KEPT_SECONDS = 2.0


class Pulse:
    """Asks a node at most every `KEPT_SECONDS`; while one asks, the others get the last word."""

    def __init__(self, chain: Chain) -> None:
        self._probe = Chain(chain.rpc_url, min(PROBE_SECONDS, chain.timeout_seconds))
        self._asking = threading.Lock()
        self._asked_at: float | None = None
        self._answers = False
        self._chain_id: int | None = None

    def answers(self, *, ask: bool = True) -> bool:
        """Does it? Without `ask` by the last word, for those who may not wait at all."""
        never_asked = self._asked_at is None
        if ask and self._is_old() and self._asking.acquire(blocking=never_asked):
            try:
                if self._is_old():
                    self._ask()
            finally:
                self._asking.release()
        return self._answers

    def chain_id(self, *, ask: bool = True) -> int | None:
        """The chain as the node names it; None while it does not answer."""
        return self._chain_id if self.answers(ask=ask) else None

    def _is_old(self) -> bool:
        return self._asked_at is None or time.monotonic() - self._asked_at > KEPT_SECONDS

    def _ask(self) -> None:
        try:
            self._probe.block_number()
            self._chain_id = self._probe.chain_id()
            self._answers = True
        except ChainUnavailable:
            self._answers = False
        self._asked_at = time.monotonic()
