"""PostgreSQL's connections, lent to one thread at a time, and statements as they are sent."""

from __future__ import annotations

import select
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from playhouse.pool import PooledPostgresqlDatabase


class PostgresPool(PooledPostgresqlDatabase):  # type: ignore[misc]
    """Lends a connection without asking the server first whether it is still there.

    That question would be a round trip under the lock that all threads lend by. A server that has
    ended a session has said so or hung up, and then there is something to be read.
    """

    def numbered(self, sql: str, params: Sequence[Any]) -> Any:
        """The cursor of one statement with `?`, which is sent as it is.

        Psycopg would look through the text for its own placeholders, each time if it is long.
        """
        return self._execute_cursor(numbered_sql(sql), tuple(params), raw=True)

    def cursor(self, named_cursor: Any = None, *, raw: bool = False) -> Any:
        if not raw or self.is_closed():
            return super().cursor(named_cursor)
        # Installs on SQLite have no psycopg.
        from psycopg import RawCursor

        return RawCursor(self._state.conn)

    def _is_closed(self, conn: Any) -> bool:
        idle = not conn.closed and self._adapter.txn_status(conn) == self._adapter.txn_idle
        return not (idle and _is_silent(conn.fileno())) and bool(super()._is_closed(conn))


@lru_cache(maxsize=2048)
def numbered_sql(sql: str) -> str:
    """`?, ?` as `$1, $2`."""
    first, *rest = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


def _is_silent(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)
