"""SQLite's one writer: a thread that commits what many callers hand it, many at once.

Each caller's function runs behind a savepoint of its own inside a shared transaction, so one that
fails undoes itself alone and one disk flush serves them all (decision 3).
"""

from __future__ import annotations

import contextvars
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

GROUP_COMMIT_MOST = 64
# Each call into SQLite lets the interpreter go and has to wait for it again; at Python's 5 ms,
# four busy threads brought 1,500 writes a second down to 35.
SWITCH_SECONDS = 0.0005

_Job = tuple[Callable[[], Any], contextvars.Context, Future[Any]]
_Look = Future[int]


class SqliteWriter:
    """`run(fn, scope)` runs a caller's function within a savepoint; `connect` opens the file."""

    def __init__(self, database: Any, connect: Callable[[], None], run: Callable[..., Any]) -> None:
        self._database, self._connect, self._run = database, connect, run
        self._jobs: queue.SimpleQueue[_Job | _Look | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def write(self, fn: Callable[[], Any]) -> Any:
        """What `run` answers for `fn`, once it is committed; or raises what `fn` raised."""
        done: Future[Any] = Future()
        self._put((fn, contextvars.copy_context(), done))
        return done.result()

    def outside_version(self) -> int:
        """A number that changes with the commits of other processes, and with no other.

        A connection does not see its own commits in it, and nobody here writes but this thread.
        """
        seen: _Look = Future()
        self._put(seen)
        return seen.result()

    def stop(self) -> None:
        """Finish what is queued."""
        with self._starting:
            if self._thread is not None:
                self._jobs.put(None)
                self._thread.join()
                self._thread = None

    def _put(self, job: _Job | _Look) -> None:
        with self._starting:
            if self._thread is None:
                sys.setswitchinterval(min(SWITCH_SECONDS, sys.getswitchinterval()))
                self._thread = threading.Thread(
                    target=self._loop, name="sqlite-writer", daemon=True
                )
                self._thread.start()
            self._jobs.put(job)

    def _loop(self) -> None:
        open_for_more = True
        while open_for_more:
            job = self._jobs.get()
            batch: list[_Job] = []
            while job is not None:
                if isinstance(job, Future):
                    self._look(job)
                else:
                    batch.append(job)
                if len(batch) == GROUP_COMMIT_MOST or self._jobs.empty():
                    break
                job = self._jobs.get()
            open_for_more = job is not None
            if batch:
                self._commit_together(batch)
        if not self._database.is_closed():
            self._database.close()

    def _look(self, seen: _Look) -> None:
        try:
            self._keep_connected()
            seen.set_result(int(self._database.execute_sql("PRAGMA data_version").fetchone()[0]))
        except BaseException as error:
            seen.set_exception(error)

    def _keep_connected(self) -> None:
        """One connection for good, since the versions of two cannot be compared."""
        if self._database.is_closed():
            self._connect()

    def _commit_together(self, batch: list[_Job]) -> None:
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            self._keep_connected()
            with self._database.atomic("IMMEDIATE"):
                for fn, context, done in batch:
                    try:
                        answer = context.run(self._run, fn, self._database.atomic())
                        outcomes.append((done, answer, None))
                    except BaseException as error:
                        outcomes.append((done, None, error))
        except BaseException as error:
            # The commit itself failed, so nothing of the batch was written.
            for _, _, done in batch:
                done.set_exception(error)
            return
        for done, answer, failure in outcomes:
            if failure is None:
                done.set_result(answer)
            else:
                done.set_exception(failure)
