"""The migrated schema is the declared one, on both databases."""

from __future__ import annotations

import threading

import pytest
from playhouse.schema_diff import diff_models

from engine import migrate, models
from engine.db import db
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
SQLITE = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'schema_migration%'"


def _shape() -> list[tuple[object, ...]]:
    with db.reading():
        if db.is_postgres:
            return sorted([*db.rows(COLUMNS), *db.rows(INDEXES)], key=repr)
        return sorted(db.rows(SQLITE), key=repr)


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


@pytest.mark.rule("Z-04")
def test_several_may_migrate_at_once(world: World) -> None:
    threads = [threading.Thread(target=migrate.up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert migrate.pending() == []
