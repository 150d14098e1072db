"""Orders: tasks that a member sends, funds and approves, and that the gig's owner does.

Columns have a default in the database, so that processes of the version before can still write
what they know of.
"""

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

    class Purchase(Table):
        number = peewee.BigAutoField()
        client_id = peewee.TextField(constraints=[references("account")])
        gig_id = peewee.TextField(constraints=[references("gig")])
        task_id = peewee.TextField(constraints=[references("task")])
        deposit_id = peewee.TextField(null=True, unique=True, constraints=[references("escrow")])
        minimum_units = peewee.BigIntegerField()
        created_at = peewee.BigIntegerField()
        withdrawn_at = peewee.BigIntegerField(null=True)

        class Meta:
            indexes = (
                (("client_id", "created_at", "number"), False),
                (("gig_id", "created_at", "number"), False),
                (("task_id",), False),
            )

    for table, column, kind in (
        ("gig", "list_price_units", "BIGINT"),
        ("gig", "owner_mailbox_id", "TEXT"),
        ("gig", "treasury_address", "TEXT"),
        ("task", "client_id", 'TEXT REFERENCES "account" ("id")'),
        ("task", "funded_minimum_units", "BIGINT"),
        ("task", "order_withdrawn_at", "BIGINT"),
        ("task", "order_withdrawn_by", "TEXT"),
        ("task", "order_withdrawn_reason", "TEXT"),
        ("task", "public_token", "TEXT"),
        ("task", "order_webhook_secret", "TEXT"),
        ("escrow", "authorization", "TEXT"),
        ("reputation_event", "withdrawn_by", "TEXT"),
        ("rollup", "client_id", 'TEXT REFERENCES "account" ("id")'),
    ):
        declared = kind if is_postgres else kind.replace("BIGINT", "INTEGER")
        db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN "{column}" {declared}')

    migrator.migrate(
        migrator.add_column(
            "task",
            "order_free",
            peewee.BooleanField(constraints=[peewee.SQL("DEFAULT FALSE")]),
            allow_not_null=True,
        )
    )
    Purchase.create_table()
    for index in (
        'UNIQUE INDEX "task_public_token" ON "task" ("public_token")',
        'INDEX "rollup_client" ON "rollup" ("client_id", "gig_id", "created_at", "id") '
        'WHERE ("client_id" IS NOT NULL)',
        """INDEX "task_undoing" ON "task" ("number") WHERE ("status" IN ('undoing'))""",
        'INDEX "task_client" ON "task" ("client_id", "gig_id") WHERE ("client_id" IS NOT NULL)',
        'INDEX "task_unsent_order" ON "task" ("gig_id", "created_at", "id") WHERE '
        """(("client_id" IS NOT NULL) AND ("status" IN ('draft', 'unfunded', 'withdrawn')))""",
    ):
        db.execute_sql(f"CREATE {index}")
