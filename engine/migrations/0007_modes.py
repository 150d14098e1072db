"""Modes with stages of their own, turns in a gig, and tasks that are to be accepted."""

import peewee
from playhouse.migrate import PostgresqlMigrator


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


def up(migrator, db):
    is_postgres = isinstance(migrator, PostgresqlMigrator)

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class ModeItem(Table):
        number = peewee.BigAutoField()
        task_id = peewee.TextField(unique=True, constraints=[references("task")])
        stage = peewee.TextField()
        rank = peewee.BigIntegerField()
        memo = peewee.TextField()
        revision = peewee.TextField()
        bell = peewee.TextField(null=True)
        bell_at = peewee.BigIntegerField(null=True)
        bell_failures = peewee.BigIntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])

    class Rotation(Table):
        gig_id = peewee.TextField(primary_key=True, constraints=[references("gig")])
        turns = peewee.BigIntegerField()
        command_id = peewee.TextField(null=True)

    for table, column, kind in (
        ("account", "working_hours", "TEXT"),
        ("gig", "accept_timeout_seconds", "BIGINT"),
        ("task", "mode_fields", "TEXT"),
        ("task", "accept_by", "BIGINT"),
        ("task", "counted_units", "BIGINT"),
    ):
        declared = kind if is_postgres else kind.replace("BIGINT", "INTEGER")
        db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {declared}')
    migrator.migrate(
        migrator.add_column(
            "mailbox",
            "turn",
            peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 0")]),
            allow_not_null=True,
        )
    )
    ModeItem.create_table()
    Rotation.create_table()
    db.execute_sql(
        'CREATE INDEX "modeitem_bell" ON "mode_item" ("bell_at") WHERE ("bell_at" IS NOT NULL)'
    )
