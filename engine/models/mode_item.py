"""What a distribution mode keeps of a task by itself, and whose turn it is in a gig."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, references


class ModeItem(Table):
    """A task's stage in its mode, in the mode's own words; only where the mode has stages."""

    # The whole number that a desk calls it by.
    number = peewee.BigAutoField()
    task_id = peewee.TextField(unique=True, constraints=[references("task")])
    stage = peewee.TextField()
    rank = peewee.BigIntegerField()
    memo = JsonField()
    # A UUID, new with every change: what `If-Match` names.
    revision = peewee.TextField()
    # What its mode is to be asked about, and when.
    bell = peewee.TextField(null=True)
    bell_at = peewee.BigIntegerField(null=True)
    # How often in a row its mode could not answer the bell.
    bell_failures = peewee.BigIntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])


ModeItem.add_index(
    ModeItem.index(ModeItem.bell_at, name="modeitem_bell", where=ModeItem.bell_at.is_null(False))
)


class Rotation(Table):
    """How many turns a gig has given; held by whoever gives one, so that one does at a time."""

    gig_id = peewee.TextField(primary_key=True, constraints=[references("gig")])
    turns = peewee.BigIntegerField()
    # Gives many workers a copy each, while whatever comes after it waits (`engine/turns.py`).
    command_id = peewee.TextField(null=True)
