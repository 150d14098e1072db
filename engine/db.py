"""The small layer over SQLite and PostgreSQL: who may write, and in what transaction.

`db.write(fn)` runs `fn` in one transaction and gives back what it answers; `with db.reading():`
lends a connection for reads. On PostgreSQL a write takes a connection of the pool and is run again
when the server broke off a deadlock. SQLite has one writer, so there writes queue to one thread
that gives each caller a savepoint and commits many of them at once: nobody waits on a file lock
within a process, and one disk flush serves them all.

`fn` must be short, must touch nothing but the database, and may be run more than once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import peewee
import structlog
from playhouse.pool import PooledSqliteDatabase

from engine.errors import Refused, SettingsError
from engine.postgres_pool import PostgresPool
from engine.sqlite_writer import SqliteWriter

T = TypeVar("T")

# Peewee models need a database when they are declared; which one is known only at the start.
proxy: peewee.DatabaseProxy = peewee.DatabaseProxy()

DEADLOCK_TRIES = 6
BUSY_TIMEOUT_MS = 30_000
# A session that was left in a transaction makes every hot row decay; the server ends it.
IDLE_IN_TRANSACTION_MS = 60_000
# deadlock_detected, serialization_failure, lock_not_available
_TRY_AGAIN = {"40P01", "40001", "55P03"}


log = structlog.get_logger()


class Transaction:
    """What one running transaction remembers."""

    def __init__(self) -> None:
        self.now: int | None = None
        # The position of its first event, and how many it has written.
        self.event_base: int | None = None
        self.events = 0
        self.topics: set[str] = set()
        # Run as the last thing in the transaction.
        self.before_commit: list[Callable[[], None]] = []
        self.after_commit: list[Callable[[], None]] = []


class _Here(threading.local):
    transaction: Transaction | None = None
    reading = 0


class Db:
    """The database of this process. One instance, `db`."""

    def __init__(self) -> None:
        self._here = _Here()
        self._database: Any = None
        self._writer: SqliteWriter | None = None
        self.url = ""

    # -- connecting -------------------------------------------------------------------------

    def connect(self, url: str, pool: int = 8) -> None:
        """Bind the models to `postgresql://…` or `sqlite:///path`; opens no connection yet."""
        self.close()
        scheme = urlsplit(url).scheme
        if scheme == "sqlite":
            path = url.removeprefix("sqlite:///")
            self._database = PooledSqliteDatabase(
                path,
                max_connections=0,
                stale_timeout=300,
                timeout=BUSY_TIMEOUT_MS / 1000,
                # The pool hands a connection from thread to thread, to one at a time.
                check_same_thread=False,
                # A query outside of reading() and write() is a mistake, not a leaked connection.
                autoconnect=False,
                pragmas={
                    "journal_mode": "wal",
                    "synchronous": "full",
                    "foreign_keys": 1,
                    # REPLACE deletes, and must not get past what refuses deletion.
                    "recursive_triggers": 1,
                    "busy_timeout": BUSY_TIMEOUT_MS,
                },
            )
            self._writer = SqliteWriter(self._database, self._connect, self._run)
        elif scheme in ("postgresql", "postgres"):
            self._database = PostgresPool(
                url,
                max_connections=pool,
                stale_timeout=300,
                timeout=30,
                prefer_psycopg3=True,
                autoconnect=False,
                options=f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS}",
            )
        else:
            raise SettingsError(
                "MUSTER_DATABASE_URL must begin with postgresql:// or sqlite:/// "
                f"and not with {scheme or 'nothing'}."
            )
        self.url = url
        proxy.initialize(self._database)

    def close(self) -> None:
        """Finish the writes that are queued and give every connection back."""
        if self._writer is not None:
            self._writer.stop()
            self._writer = None
        if self._database is not None:
            self._database.close_all()
            self._database = None

    @property
    def database(self) -> Any:
        """Peewee's own object, for migrations."""
        return self._database

    @property
    def is_postgres(self) -> bool:
        return isinstance(self._database, peewee.PostgresqlDatabase)

    @property
    def transaction(self) -> Transaction | None:
        return self._here.transaction

    # -- reading ----------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A connection for reads; inside a write or another reading it is the same one."""
        if self._here.transaction is not None or self._here.reading:
            self._here.reading += 1
            try:
                yield
            finally:
                self._here.reading -= 1
            return
        with self._lend():
            self._here.reading = 1
            try:
                yield
            finally:
                self._here.reading = 0

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Reads that all see one and the same moment."""
        with self._lend():
            self._here.reading = 1
            try:
                if self.is_postgres:
                    self._database.execute_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                else:
                    self._database.execute_sql("BEGIN")
                try:
                    yield
                finally:
                    self._database.execute_sql("ROLLBACK")
            finally:
                self._here.reading = 0

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement written for the database at hand; placeholders are `?`."""
        with self.reading():
            if self.is_postgres:
                cursor = self._database.numbered(sql, params)
                # A description of the columns would be made of each, in Python.
                returns = cursor.rownumber is not None
            else:
                cursor = self._database.execute_sql(sql, tuple(params))
                returns = cursor.description is not None
            return list(cursor.fetchall()) if returns else []

    def scalar(self, sql: str, params: Sequence[Any] = ()) -> Any:
        found = self.rows(sql, params)
        return found[0][0] if found else None

    # -- writing ----------------------------------------------------------------------------

    def write(self, fn: Callable[[], T]) -> T:
        """Run `fn` in one transaction; nested calls join it behind a savepoint of their own."""
        outer = self._here.transaction
        if outer is not None:
            kept, events = len(outer.after_commit), outer.events
            topics = set(outer.topics)
            try:
                with self._database.atomic():
                    return fn()
            except BaseException:
                del outer.after_commit[kept:]
                outer.events = events
                outer.topics &= topics
                raise
        result, transaction = (
            self._write_postgres(fn) if self.is_postgres else self._write_sqlite(fn)
        )
        for callback in transaction.after_commit:
            callback()
        return result

    def lock(self, query: Any) -> list[Any]:
        """The rows of a query, locked until the transaction ends; SQLite's one writer is alone."""
        return list(query.for_update() if self.is_postgres else query)

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back once what was written is there for all; at once when nothing is running."""
        if self._here.transaction is None:
            callback()
        else:
            self._here.transaction.after_commit.append(callback)

    def _write_postgres(self, fn: Callable[[], T]) -> tuple[T, Transaction]:
        for attempt in range(DEADLOCK_TRIES):
            try:
                with self._lend():
                    return self._run(fn, self._database.atomic())
            except peewee.DatabaseError as error:
                if _sqlstate(error) not in _TRY_AGAIN or attempt == DEADLOCK_TRIES - 1:
                    raise
                time.sleep(random.uniform(0, 0.02 * 2**attempt))  # noqa: S311
        raise AssertionError("unreachable")

    def outside_version(self) -> int:
        """SQLite: a number that changes with the commits of other processes, and with no other."""
        assert self._writer is not None
        return self._writer.outside_version()

    def _write_sqlite(self, fn: Callable[[], T]) -> tuple[T, Transaction]:
        if self._writer is None:
            raise RuntimeError("db.connect() was not called")
        answer: tuple[T, Transaction] = self._writer.write(fn)
        return answer

    def _run(self, fn: Callable[[], T], scope: Any) -> tuple[T, Transaction]:
        transaction = self._here.transaction = Transaction()
        try:
            with scope:
                answer = fn()
                for callback in transaction.before_commit:
                    callback()
                return answer, transaction
        finally:
            self._here.transaction = None

    @contextmanager
    def _lend(self) -> Iterator[None]:
        if self._database is None:
            raise RuntimeError("db.connect() was not called")
        if not self._database.is_closed():
            # This thread has one already: a write from within a reading uses it.
            yield
            return
        self._connect()
        try:
            yield
        except peewee.InterfaceError:
            self._database.manual_close()
            raise
        finally:
            if not self._database.is_closed():
                self._database.close()

    def _connect(self) -> None:
        try:
            self._database.connect()
        except (peewee.OperationalError, ValueError) as error:
            log.warning("database.unavailable", error=str(error))
            raise Refused(
                "database_unavailable", "The database does not answer. Try again shortly."
            ) from error


def _sqlstate(error: BaseException) -> str | None:
    cause: BaseException | None = error
    while cause is not None:
        state = getattr(cause, "sqlstate", None)
        if state:
            return str(state)
        cause = cause.__cause__ or cause.__context__
    return None


db = Db()
