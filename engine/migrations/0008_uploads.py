"""Uploads, and the rows that name them."""

import peewee


def references(table, column="id"):
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')


def up(migrator, db):
    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False

    class Upload(Table):
        id = peewee.TextField(primary_key=True)
        account_id = peewee.TextField(constraints=[references("account")])
        mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
        status = peewee.TextField()
        filename = peewee.TextField()
        content_type = peewee.TextField()
        content_length = peewee.BigIntegerField()
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField()
        stored_at = peewee.BigIntegerField(null=True)
        unnamed_since = peewee.BigIntegerField(null=True)

    class UploadUse(Table):
        upload_id = peewee.TextField(constraints=[references("upload")])
        kind = peewee.TextField()
        row_id = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("upload_id", "kind", "row_id")
            indexes = ((("kind", "row_id"), False),)

    Upload.create_table()
    UploadUse.create_table()
    for name, column, condition in (
        ("upload_waiting", "expires_at", "\"status\" IN ('waiting')"),
        (
            "upload_unnamed",
            "unnamed_since",
            '("status" IN (\'stored\')) AND ("unnamed_since" IS NOT NULL)',
        ),
        ("upload_removing", "id", "\"status\" IN ('removing')"),
    ):
        db.execute_sql(f'CREATE INDEX "{name}" ON "upload" ("{column}") WHERE ({condition})')
