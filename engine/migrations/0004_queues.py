"""The queues, whole: who may be offered what, for how long, and in which order.

Columns have a default in the database, so that processes of the version before can still write
what they know of; the queue itself is built anew, so they must be stopped (README).
"""

import peewee
from playhouse.migrate import PostgresqlMigrator


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


# "Nothing was ever looked at": every cursor starts anew, so the past has one position.
ENTRIES = """
INSERT INTO queue_entry (shelf, sort_key, task_number, enqueued, draw, facet_id, price_units)
SELECT queue_entry_before.gig_id, sort_key, task_number, 0, {draw}, 0, task.price_units
FROM queue_entry_before JOIN task ON task.number = task_number
"""
# What is held has been taken.
TAKES = """
INSERT INTO take (mailbox_id, at, task_number, kind)
SELECT mailbox_id, claimed_at, number, 'claim' FROM task
WHERE mailbox_id IS NOT NULL AND claimed_at IS NOT NULL
"""


def up(migrator, db):
    is_postgres = isinstance(migrator, PostgresqlMigrator)

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class QueueEntry(Table):
        shelf = peewee.TextField()
        sort_key = peewee.BigIntegerField()
        task_number = peewee.BigIntegerField(
            unique=True, constraints=[references("task", "number")]
        )
        enqueued = peewee.BigIntegerField()
        draw = peewee.BigIntegerField()
        facet_id = peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 0")])
        price_units = peewee.BigIntegerField(null=True)

        class Meta:
            primary_key = peewee.CompositeKey("shelf", "sort_key", "task_number")
            indexes = (
                (("shelf", "enqueued", "sort_key"), False),
                (("shelf", "draw"), False),
                (("shelf", "facet_id", "sort_key", "task_number"), False),
            )

    class Facet(Table):
        id = peewee.BigAutoField()
        gig_id = peewee.TextField(constraints=[references("gig")])
        key = peewee.TextField()
        tags_text = peewee.TextField()
        price_kind = peewee.TextField()
        low_units = peewee.BigIntegerField(null=True)
        high_units = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("gig_id", "key"), True),)

    class Take(Table):
        mailbox_id = peewee.TextField(constraints=[references("mailbox")])
        at = peewee.BigIntegerField()
        task_number = peewee.BigIntegerField(constraints=[references("task", "number")])
        kind = peewee.TextField()
        excused = peewee.BooleanField(constraints=[peewee.SQL("DEFAULT FALSE")])

        class Meta:
            primary_key = peewee.CompositeKey("mailbox_id", "at", "task_number")

    class CopyHolder(Table):
        template_number = peewee.BigIntegerField(constraints=[references("task", "number")])
        account_id = peewee.TextField(constraints=[references("account")])
        copy_number = peewee.BigIntegerField(constraints=[references("task", "number")])

        class Meta:
            primary_key = peewee.CompositeKey("account_id", "template_number")
            indexes = ((("template_number",), False),)

    class TaskAlias(Table):
        account_id = peewee.TextField(constraints=[references("account")])
        task_id = peewee.TextField(constraints=[references("task")])
        name = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("account_id", "task_id")

    for table, column, kind in (
        ("gig", "task_timeout_seconds", "BIGINT"),
        ("gig", "max_hold_seconds", "BIGINT"),
        ("gig", "max_claims_per_task", "BIGINT"),
        ("gig", "queue_aging_seconds", "BIGINT"),
        ("gig", "default_rate_limit_count", "BIGINT"),
        ("gig", "default_rate_limit_minutes", "BIGINT"),
        ("gig", "default_max_open_tasks", "BIGINT"),
        ("mailbox", "rate_limit_count", "BIGINT"),
        ("mailbox", "rate_limit_minutes", "BIGINT"),
        ("mailbox", "max_open_tasks", "BIGINT"),
        ("mailbox", "filter_price_min_units", "BIGINT"),
        ("mailbox", "filter_price_max_units", "BIGINT"),
        ("mailbox", "cursor_key", "BIGINT"),
        ("mailbox", "cursor_as_of", "BIGINT"),
        ("mailbox", "left_at", "BIGINT"),
        ("task", "reserved_for", 'TEXT REFERENCES "mailbox" ("id")'),
        ("task", "assignee_id", 'TEXT REFERENCES "mailbox" ("id")'),
        ("task", "not_before", "BIGINT"),
        ("task", "expires_at", "BIGINT"),
        ("task", "held_timeout_seconds", "BIGINT"),
        ("task", "held_most_seconds", "BIGINT"),
        ("task", "private_details", "TEXT"),
        ("task", "template_number", 'BIGINT REFERENCES "task" ("number")'),
        ("task", "source_task_id", "TEXT"),
        ("task", "draft_saved_at", "BIGINT"),
    ):
        declared = kind if is_postgres else kind.replace("BIGINT", "INTEGER")
        db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {declared}')

    def text(default):
        return peewee.TextField(constraints=[peewee.SQL(f"DEFAULT '{default}'")])

    def flag(default):
        return peewee.BooleanField(constraints=[peewee.SQL(f"DEFAULT {default}")])

    def number(default):
        return peewee.BigIntegerField(constraints=[peewee.SQL(f"DEFAULT {default}")])

    for table, column, field in (
        ("gig", "default_task_tags", text("[]")),
        ("mailbox", "priority", number(5)),
        ("mailbox", "paused", flag("FALSE")),
        ("mailbox", "filter_tags", text("[]")),
        ("mailbox", "filter_tag_match", text("substring")),
        ("mailbox", "filter_accept_tbd", flag("TRUE")),
        ("task", "availability", text("open")),
        ("task", "copies", number(0)),
    ):
        migrator.migrate(migrator.add_column(table, column, field, allow_not_null=True))

    db.execute_sql('ALTER TABLE "queue_entry" RENAME TO "queue_entry_before"')
    # The old key and its name go with the old table, before the new one needs the name.
    if is_postgres:
        db.execute_sql(
            'ALTER TABLE "queue_entry_before" '
            'RENAME CONSTRAINT "queue_entry_pkey" TO "queue_entry_before_pkey"'
        )
    db.execute_sql('DROP INDEX "queue_entry_task_number"')
    for table in (QueueEntry, Facet, Take, CopyHolder, TaskAlias):
        table.create_table()
    draw = "(random() * 4611686018427387903)::bigint" if is_postgres else "abs(random() / 2)"
    db.execute_sql(ENTRIES.format(draw=draw))
    db.execute_sql('DROP TABLE "queue_entry_before"')
    db.execute_sql(TAKES)
    for index in (
        '"task_expiring" ON "task" ("expires_at") WHERE ("status" IN (\'claimed\'))',
        '"task_not_before" ON "task" ("not_before") '
        'WHERE (("status" IN (\'queued\')) AND ("not_before" IS NOT NULL))',
        '"task_draft" ON "task" ("gig_id", "created_at", "id") WHERE ("status" IN (\'draft\'))',
        '"task_copy" ON "task" ("template_number") WHERE ("template_number" IS NOT NULL)',
        '"task_kept_back" ON "task" ("gig_id", "created_at", "id") '
        "WHERE ((\"status\" IN ('queued', 'unassigned')) AND "
        "((\"availability\" IN ('reserved', 'view_only')) OR (\"status\" IN ('unassigned'))))",
    ):
        db.execute_sql(f"CREATE INDEX {index}")
