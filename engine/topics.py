"""Topics: "something happened here", told to whoever waits for it in any process.

`tell` belongs to the transaction of what happened and reaches nobody before its commit. On
PostgreSQL it is a NOTIFY. On SQLite it goes round this process; another process's commit is seen
by the file's version and told as `*`, which wakes all who wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from engine.db import db

CHANNEL = "muster"
EVERYTHING = "*"
SQLITE_LOOK_SECONDS = 0.05
RECONNECT_SECONDS = 1.0
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
    if db.is_postgres:
        db.rows("SELECT pg_notify(?, ?)", (CHANNEL, topic))
    else:
        db.after_commit(lambda: _announce(topic))


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

        with psycopg.connect(db.url, autocommit=True) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            self.ready.set()
            # What was told while nobody listened is lost, so whoever waits looks once.
            self._ear(EVERYTHING)
            while not self._stop.is_set():
                for notice in connection.notifies(timeout=LISTEN_LOOK_SECONDS):
                    self._ear(notice.payload)
                    if self._stop.is_set():
                        return

    def _look(self) -> None:
        """SQLite: the file's version grows with every commit of another connection.

        Our own commits count too, and are told by `tell`; so another process's are only certain
        while we are quiet, and are assumed once a second while we are not.
        """
        with db.reading():
            self.ready.set()
            version, commits, busy = db.scalar("PRAGMA data_version"), db.commits, 0.0
            while not self._stop.wait(SQLITE_LOOK_SECONDS):
                now, ours = db.scalar("PRAGMA data_version"), db.commits
                busy = 0.0 if ours == commits else busy + SQLITE_LOOK_SECONDS
                if now != version and (ours == commits or busy >= 1):
                    self._ear(EVERYTHING)
                    busy = 0.0
                version, commits = now, ours
