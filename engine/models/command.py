"""Commands: recorded intents. The row is the outbox; the broker only carries its id."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states


class Command(Table):
    id = peewee.TextField(primary_key=True)
    kind = peewee.TextField()
    status = peewee.TextField()
    account_id = peewee.TextField(null=True)
    gig_id = peewee.TextField(null=True)
    arguments = JsonField()
    result = JsonField(null=True)
    error = JsonField(null=True)
    # Starts, which fence the outcome of each; and those that ended in an error of ours.
    attempts = peewee.BigIntegerField()
    failures = peewee.BigIntegerField()
    run_after = peewee.BigIntegerField()
    lease_until = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
    finished_at = peewee.BigIntegerField(null=True)


UNFINISHED = in_states(Command.status, "pending", "running", "waiting")
# The sweep reads only what is not finished.
Command.add_index(Command.index(Command.run_after, name="command_due", where=UNFINISHED))
