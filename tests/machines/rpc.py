"""The way from the install to its node, which can be cut or lose what goes through it."""

from __future__ import annotations

from typing import Any

from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable

SEND = "eth_sendRawTransaction"
UP, DOWN, LOSE_ANSWERS, LOSE_REQUESTS = "up", "down", "lose answers", "lose requests"
MODES = (UP, DOWN, LOSE_ANSWERS, LOSE_REQUESTS)


class Gate:
    """Stands before a `Chain`; `mode` holds until it is changed."""

    def __init__(self, chain: Chain) -> None:
        self.mode = UP
        # It goes down once this many more requests have passed.
        self.passes: int | None = None
        self._pass_on = chain.request
        setattr(chain, "request", self.request)  # noqa: B010

    def request(self, method: str, *params: Any) -> Any:
        if self.passes is not None:
            self.passes -= 1
            if self.passes < 0:
                self.mode, self.passes = DOWN, None
        if self.mode == DOWN or (self.mode == LOSE_REQUESTS and method == SEND):
            raise ChainUnavailable(f"{method} is lost")
        answer = self._pass_on(method, *params)
        if self.mode == LOSE_ANSWERS and method == SEND:
            raise ChainUnavailable("the answer is lost")
        return answer

    @property
    def is_good(self) -> bool:
        return self.mode == UP and self.passes is None

    def heal(self) -> None:
        self.mode, self.passes = UP, None
