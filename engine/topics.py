"""Topics: "something happened here", told to whoever waits for it in any process.

`tell` belongs to the transaction of what happened and reaches nobody before its commit. On
PostgreSQL it is a NOTIFY. On SQLite it goes round this process; another process's commit is seen
by the file's version and told as `*`, which wakes all who wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import structlog

from engine.db import db

CHANNEL = "muster"
# A notice holds at most 8,000 bytes; a topic has some forty.
TOPICS_AT_ONCE = 100
EVERYTHING = "*"
SQLITE_LOOK_SECONDS = 0.05
RECONNECT_SECONDS = 1.0
# A server that vanished without a word is noticed after some 20 seconds of silence.
KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
LISTEN_LOOK_SECONDS = 1.0

log = structlog.get_logger()

Ear = Callable[[str], None]


def queue(gig_id: str) -> str:
    return f"queue:{gig_id}"


def command(command_id: str) -> str:
    return f"command:{command_id}"


def gig_events(gig_id: str) -> str:
    return f"events:{gig_id}"


_ears: list[Ear] = []


def tell(topic: str) -> None:
    """Tell a topic once this transaction is committed; only inside `db.write`."""
    transaction = db.transaction
    if transaction is None or topic in transaction.topics:
        return
    transaction.topics.add(topic)
    if not db.is_postgres:
        db.after_commit(lambda: _announce(topic))
    elif not transaction.before_commit:
        # All topics of the transaction in one statement, at its end.
        transaction.before_commit.append(lambda: _notify(transaction.topics))


def tell_now(topic: str) -> None:
    """Tell a topic that nothing was written for: what somebody had taken has come back."""
    db.write(lambda: tell(topic))


def _notify(told: set[str]) -> None:
    for one in range(0, len(told), TOPICS_AT_ONCE):
        some = sorted(told)[one : one + TOPICS_AT_ONCE]
        db.rows("SELECT pg_notify(?, ?)", (CHANNEL, " ".join(some)))


def _announce(topic: str) -> None:
    for ear in list(_ears):
        ear(topic)


class Listener:
    """Hears every topic in this process, from a thread of its own, until it is stopped."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)
        self.ready = threading.Event()

    def start(self) -> None:
        if not db.is_postgres:
            _ears.append(self._ear)
        self._thread.start()
        self.ready.wait(RECONNECT_SECONDS)

    def stop(self) -> None:
        self._stop.set()
        if self._ear in _ears:
            _ears.remove(self._ear)
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if db.is_postgres:
                    self._listen()
                else:
                    self._look()
            except Exception as error:
                log.warning("topics.lost", error=str(error))
                self._stop.wait(RECONNECT_SECONDS)

    def _listen(self) -> None:
        """PostgreSQL: wait on the connection; nothing is asked while nothing happens."""
        import psycopg

        with psycopg.connect(db.url, autocommit=True, **KEEPALIVES) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            self.ready.set()
            # What was told while nobody listened is lost, so whoever waits looks once.
            self._ear(EVERYTHING)
            while not self._stop.is_set():
                for notice in connection.notifies(timeout=LISTEN_LOOK_SECONDS):
                    for topic in notice.payload.split(" "):
                        self._ear(topic)
                    if self._stop.is_set():
                        return

    def _look(self) -> None:
        """SQLite: what this process commits is told by `tell`; of others a number tells."""
        version = db.outside_version()
        self.ready.set()
        self._ear(EVERYTHING)
        while not self._stop.wait(SQLITE_LOOK_SECONDS):
            now = db.outside_version()
            if now != version:
                self._ear(EVERYTHING)
            version = now
