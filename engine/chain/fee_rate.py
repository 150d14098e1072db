"""The platform's rate as it was last seen, for what is only advice and must not wait for a node.

What is charged is read from the contract each time (Y-01).
"""

from __future__ import annotations

import threading
import time

from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import Treasury

# A node that hangs costs one asker this long, once in a while.
PROBE_SECONDS = 1.0
KEPT_SECONDS = 60.0
TRIED_AGAIN_SECONDS = 2.0


class FeeRate:
    """Asks the contract at most every `KEPT_SECONDS`; while one asks, others get the last word."""

    def __init__(self, treasury: Treasury) -> None:
        chain = treasury.chain
        probe = Chain(chain.rpc_url, min(PROBE_SECONDS, chain.timeout_seconds))
        self._treasury = Treasury(probe, treasury.address, treasury.usdc_address)
        self._asking = threading.Lock()
        self._asked_at: float | None = None
        self._bps: int | None = None
        self._answered = False

    def seen(self, *, ask: bool) -> int | None:
        """In basis points; None where it was never seen. The node is only asked with `ask`."""
        if ask and self._is_old() and self._asking.acquire(blocking=False):
            self._ask()
        return self._bps

    def readable(self, *, ask: bool) -> int | None:
        """The same for whoever shows it as it is now: None once the contract could not be read.

        Whoever asks while another does waits for that answer; a failure is soon tried again.
        """
        if ask and self._is_due():
            with self._asking:
                if self._is_due():
                    self._read()
        return self._bps if self._answered else None

    def _ask(self) -> None:
        try:
            self._read()
        finally:
            self._asking.release()

    def _read(self) -> None:
        try:
            self._bps = self._treasury.fee_bps()
            self._answered = True
        except ChainUnavailable:
            # What was seen before still counts, where an old one is better than none.
            self._answered = False
        finally:
            self._asked_at = time.monotonic()

    def _is_due(self) -> bool:
        asked = self._asked_at
        failed = not self._answered and asked is not None
        return self._is_old() or (failed and time.monotonic() - (asked or 0) > TRIED_AGAIN_SECONDS)

    def _is_old(self) -> bool:
        return self._asked_at is None or time.monotonic() - self._asked_at > KEPT_SECONDS
