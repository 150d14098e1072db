"""Proofs, verdicts, and what people say about a task.

Columns have a default in the database, so that processes of the version before can still write
what they know of; what they would pay of a disputed proof they must not, so they must be stopped.
"""

import secrets

import peewee
from playhouse.migrate import PostgresqlMigrator


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


POSTGRES_REFUSAL = """
CREATE FUNCTION reputation_stays() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'reputation is only ever added to'; END $$
"""


def up(migrator, db):
    is_postgres = isinstance(migrator, PostgresqlMigrator)

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class ProofAlias(Table):
        account_id = peewee.TextField(constraints=[references("account")])
        proof_id = peewee.TextField(constraints=[references("proof")])
        name = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("account_id", "proof_id")
            indexes = ((("proof_id",), False),)

    class Comment(Table):
        id = peewee.TextField(primary_key=True)
        gig_id = peewee.TextField(constraints=[references("gig")])
        task_id = peewee.TextField(constraints=[references("task")])
        author_id = peewee.TextField(constraints=[references("account")])
        mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
        role = peewee.TextField()
        body = peewee.TextField()
        parent_id = peewee.TextField(null=True, constraints=[references("comment")])
        thread_id = peewee.TextField()
        reader_id = peewee.TextField(null=True, constraints=[references("account")])
        created_at = peewee.BigIntegerField()
        deleted_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("task_id", "created_at", "id"), False),)

    class Notification(Table):
        number = peewee.BigAutoField()
        account_id = peewee.TextField(constraints=[references("account")])
        kind = peewee.TextField()
        title = peewee.TextField()
        at = peewee.BigIntegerField()
        gig_id = peewee.TextField(null=True)
        subject_kind = peewee.TextField()
        subject_id = peewee.TextField()
        seen_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = ((("account_id", "number"), False),)

    class ReputationEvent(Table):
        number = peewee.BigAutoField()
        id = peewee.TextField(unique=True)
        wallet = peewee.TextField()
        type = peewee.TextField()
        role = peewee.TextField()
        at = peewee.BigIntegerField()
        gig_id = peewee.TextField()
        proof_id = peewee.TextField(null=True)
        rollup_id = peewee.TextField(null=True)
        units = peewee.BigIntegerField(null=True)
        rejection_tag = peewee.TextField(null=True)
        revised = peewee.BooleanField()
        tx_hash = peewee.TextField(null=True)

        class Meta:
            indexes = ((("wallet", "number"), False),)

    for table, column, kind in (
        ("account", "notifications_seen_at", "BIGINT"),
        ("mailbox", "share_token", "TEXT"),
        ("task", "comments_policy", "TEXT"),
        ("task", "named_by", 'TEXT REFERENCES "mailbox" ("id")'),
        ("task", "named_as", "TEXT"),
        ("proof", "task_identifier", "TEXT"),
        ("proof", "asking_price_units", "BIGINT"),
        ("proof", "returned_at", "BIGINT"),
        ("proof", "reported_at", "BIGINT"),
        ("proof", "reported_by", "TEXT"),
        ("proof", "report_reason", "TEXT"),
    ):
        declared = kind if is_postgres else kind.replace("BIGINT", "INTEGER")
        db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {declared}')

    for table, column, field in (
        (
            "gig",
            "allow_price_offers",
            peewee.BooleanField(constraints=[peewee.SQL("DEFAULT FALSE")]),
        ),
        (
            "gig",
            "default_comments_policy",
            peewee.TextField(constraints=[peewee.SQL("DEFAULT 'private'")]),
        ),
        ("proof", "times_submitted", peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 1")])),
    ):
        migrator.migrate(migrator.add_column(table, column, field, allow_not_null=True))

    for table in (ProofAlias, Comment, Notification, ReputationEvent):
        table.create_table()

    mark = "%s" if is_postgres else "?"
    for (mailbox_id,) in db.execute_sql("SELECT id FROM mailbox").fetchall():
        db.execute_sql(
            f"UPDATE mailbox SET share_token = {mark} WHERE id = {mark}",
            (f"SHARE_{secrets.token_hex(16)}", mailbox_id),
        )
    # When a rejection became final was not kept; when it was said is the next best.
    db.execute_sql("UPDATE proof SET returned_at = reviewed_at WHERE returned")

    db.execute_sql('DROP INDEX "proof_one_live_per_task"')
    for index in (
        'UNIQUE INDEX "proof_one_live_per_task" ON "proof" ("task_id") WHERE '
        "(\"status\" IN ('draft', 'pending', 'approved', 'timeout_approved', 'reported'))",
        'INDEX "proof_task_id" ON "proof" ("task_id")',
        'UNIQUE INDEX "mailbox_share_token" ON "mailbox" ("share_token")',
        'UNIQUE INDEX "task_named_by_named_as" ON "task" ("named_by", "named_as")',
        'INDEX "notification_unseen" ON "notification" ("account_id") WHERE ("seen_at" IS NULL)',
        'INDEX "notification_seen" ON "notification" ("seen_at") WHERE ("seen_at" IS NOT NULL)',
    ):
        db.execute_sql(f"CREATE {index}")

    if is_postgres:
        db.execute_sql(POSTGRES_REFUSAL)
    for what in ("UPDATE", "DELETE", "TRUNCATE") if is_postgres else ("UPDATE", "DELETE"):
        if is_postgres:
            act = "FOR EACH STATEMENT EXECUTE FUNCTION reputation_stays()"
        else:
            act = "BEGIN SELECT RAISE(ABORT, 'reputation is only ever added to'); END"
        db.execute_sql(
            f"CREATE TRIGGER reputation_event_no_{what.lower()} BEFORE {what} "
            f"ON reputation_event {act}"
        )
