"""A gig's revision, which its entity tag is made of, and an account's time zone.

Both have a default in the database, so that processes of the version before can still write.
"""

import peewee


def up(migrator, db):
    revision = peewee.BigIntegerField(constraints=[peewee.SQL("DEFAULT 1")])
    timezone = peewee.TextField(constraints=[peewee.SQL("DEFAULT 'UTC'")])
    migrator.migrate(
        migrator.add_column("gig", "revision", revision, allow_not_null=True),
        migrator.add_column("account", "timezone", timezone, allow_not_null=True),
    )
