"""Small facts about the install: single values, leases, and which scheduled slots have run."""

from __future__ import annotations

import peewee

from engine.models.base import Table


class Meta(Table):
    """One named value."""

    key = peewee.TextField(primary_key=True)
    value = peewee.TextField()

    @classmethod
    def read(cls, key: str) -> str | None:
        row = cls.get_or_none(cls.key == key)
        return None if row is None else row.value

    @classmethod
    def put(cls, key: str, value: str) -> None:
        cls.insert(key=key, value=value).on_conflict(
            conflict_target=[cls.key], update={cls.value: value}
        ).execute()

    @classmethod
    def put_once(cls, key: str, value: str) -> str:
        """Keep the first value that anybody gave; answers the one that stands."""
        cls.insert(key=key, value=value).on_conflict_ignore().execute()
        return cls.get(cls.key == key).value

    @classmethod
    def add(cls, key: str, amount: int) -> None:
        """Add to a number in one statement, so that two at once both count."""
        total = (cls.value.cast("bigint") + amount).cast("text")
        cls.insert(key=key, value=str(amount)).on_conflict(
            conflict_target=[cls.key], update={cls.value: total}
        ).execute()

    @classmethod
    def swap(cls, key: str, old: str, new: str) -> bool:
        """Replace `old` by `new` unless somebody was quicker."""
        changed = cls.update(value=new).where(cls.key == key, cls.value == old).execute()
        return bool(changed == 1)


class Lease(Table):
    """Who does a thing just now. It saves work; correctness never rests on it."""

    name = peewee.TextField(primary_key=True)
    holder = peewee.TextField()
    fence = peewee.BigIntegerField()
    until = peewee.BigIntegerField()


class JobRun(Table):
    """One scheduled slot that has been rung; the key makes it ring once."""

    job = peewee.TextField()
    slot = peewee.BigIntegerField()
    rung_at = peewee.BigIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("job", "slot")
