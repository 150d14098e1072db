"""How a route says that its answer may wait, without knowing who waits (architecture: callers).

The route answers at once with what it has and calls `offer`. Whoever serves the application (the
front, or a test) may then hold the answer back, ask again when one of the topics is told, and send
the last answer when the seconds are over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flask import request

from engine.errors import Refused

# The WSGI environment's key under which the server hands a route its slot.
SLOT = "muster.slot"
# How long a stream may be silent.
HEARTBEAT_SECONDS = 15


def _never() -> bool:
    return False


@dataclass
class Slot:
    """What a route told the server. `resume` comes back with the next call for this request."""

    topics: tuple[str, ...] = ()
    seconds: float = 0
    resume: str = ""
    # The next call is for a request that has waited, and not a new one.
    resumed: bool = False
    # There is nothing left for anybody else who waits on these topics.
    exhausted: bool = False
    # What a caller who had hung up was about to be given: others who wait may have passed it over.
    released: tuple[str, ...] = ()
    # The answer is the beginning of a stream that goes on with each further call.
    stream: bool = False
    # The answer is made while it is sent: its parts are asked for one by one.
    in_parts: bool = False
    # Has the caller hung up?
    gone: Callable[[], bool] = field(default=_never, repr=False)


def slot() -> Slot:
    """The slot of the request at hand; one that nobody reads when the server does not wait."""
    found: Slot = request.environ.setdefault(SLOT, Slot())
    return found


def offer(topics: list[str], seconds: float, resume: str = "") -> None:
    """This answer may wait for `seconds` on the topics, and be asked for again with `resume`."""
    mine = slot()
    mine.topics, mine.seconds, mine.resume = tuple(topics), seconds, resume


def resumed() -> str | None:
    """What the route offered to be resumed with, if this call is such a resumption."""
    mine = slot()
    return mine.resume if mine.resumed else None


def resume(with_what: str) -> None:
    """Take this request for one that has waited, although it is new."""
    mine = slot()
    mine.resume, mine.resumed = with_what, True


def still_there(topic: str) -> None:
    """Raise if the caller has hung up; call it last in the transaction that serves him.

    What that transaction had taken is free again, which those who wait on the topic are told.
    """
    mine = slot()
    if mine.gone():
        mine.released = (topic,)
        raise Refused("hung_up", "The caller has hung up.")
