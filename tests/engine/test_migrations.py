"""The migrated schema is the declared one, on both databases."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playhouse.schema_diff import diff_models

from engine import migrate, models
from engine.db import db
from tests.conftest import BACKENDS
from tests.contract.scene import everything
from tests.services import Postgres, Sqlite
from tests.world import World

COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_schema = 'public' AND table_name <> 'schema_migration'
"""
INDEXES = """
SELECT tablename, indexdef FROM pg_indexes
WHERE schemaname = 'public' AND tablename <> 'schema_migration'
"""
# Columns by themselves: what was added later stands last, and its default is for older processes.
SQLITE_COLUMNS = """
SELECT it.name, col.name, col.type, col."notnull", col.pk
FROM sqlite_master it, pragma_table_info(it.name) col
WHERE it.type = 'table' AND it.name <> 'schema_migration'
"""
SQLITE_INDEXES = """
SELECT tbl_name, sql FROM sqlite_master
WHERE type = 'index' AND sql IS NOT NULL AND tbl_name <> 'schema_migration'
"""
SQLITE_REFERENCES = """
SELECT it.name, ref."from", ref."table", ref."to"
FROM sqlite_master it, pragma_foreign_key_list(it.name) ref WHERE it.type = 'table'
"""


def _shape() -> list[tuple[object, ...]]:
    with db.reading():
        if db.is_postgres:
            return sorted([*db.rows(COLUMNS), *db.rows(INDEXES)], key=repr)
        parts = (SQLITE_COLUMNS, SQLITE_INDEXES, SQLITE_REFERENCES)
        return sorted([row for part in parts for row in db.rows(part)], key=repr)


def test_what_the_migrations_make_is_what_the_models_declare(
    world: World, postgres: Postgres, sqlite: Sqlite
) -> None:
    with db.reading():
        assert not diff_models(db.database, models.ALL)
    migrated = _shape()
    with db.reading():
        for model in reversed(models.ALL):
            model.drop_table()
        for model in models.ALL:
            model.create_table()
    assert _shape() == migrated


def test_migrating_again_changes_nothing(world: World) -> None:
    before = _shape()
    assert migrate.up() == []
    assert _shape() == before
    assert migrate.pending() == []


def _insert(table: str, **values: Any) -> None:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" for _ in values)
    db.rows(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(values.values()))


def _released(owner: str, gig: str) -> None:
    """An account, its gig and the gig's invite, by the columns of the first schema alone."""
    _insert(
        "account",
        id=owner,
        email=f"{owner}@example.com",
        display_name="Ada",
        status="active",
        created_at=1,
    )
    texts = "title terms notes distribution queue_order join_policy location icon_url token"
    _insert(
        "gig",
        id=gig,
        owner_id=owner,
        status="active",
        **dict.fromkeys([*texts.split(), "webhook_secret"], "kept"),
        tags="[]",
        price_units=5,
        requires_approval=False,
        review_timeout_seconds=-1,
        min_payout_units=0,
        created_at=1,
    )
    _insert("invite", token=f"token of {gig}", gig_id=gig, label="", used=0, created_at=1)


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_database_of_the_first_schema_keeps_its_rows_and_can_still_be_written_by_its_version(
    kind: str, request: pytest.FixtureRequest
) -> None:
    servers: Postgres | Sqlite = request.getfixturevalue(kind)
    url = servers.empty()
    db.connect(url)
    try:
        assert migrate.up("0001_initial") == ["0001_initial"]
        db.write(lambda: _released("USER_1", "GIG_1"))
        before = everything()
        assert migrate.up("0002_conventions") == ["0002_conventions"]
        after = everything()
        changed = {"account", "gig", "schema_migration"}
        assert {name for name in before if before[name] != after[name]} == changed
        # A process of the version before still runs and knows nothing of the new columns.
        db.write(lambda: _released("USER_2", "GIG_2"))
        with db.reading():
            accounts = db.rows("SELECT id, display_name, timezone FROM account ORDER BY id")
            gigs = db.rows("SELECT id, title, price_units, revision FROM gig ORDER BY id")
        assert accounts == [("USER_1", "Ada", "UTC"), ("USER_2", "Ada", "UTC")]
        assert gigs == [("GIG_1", "kept", 5, 1), ("GIG_2", "kept", 5, 1)]
        migrate.up()
        assert migrate.pending() == []
        with db.reading():
            assert db.rows("SELECT id, title, price_units, revision FROM gig ORDER BY id") == gigs
            assert len(db.rows("SELECT token FROM invite")) == 2
    finally:
        db.close()
        servers.drop(url)


@pytest.mark.rule("Z-04")
def test_several_may_migrate_at_once(world: World) -> None:
    threads = [threading.Thread(target=migrate.up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert migrate.pending() == []
