"""Leases: who does a thing just now, on either database. They save work and guard nothing."""

from __future__ import annotations

from collections.abc import Collection

from engine import clock, rows
from engine.db import db
from engine.models.meta import Lease


def hold(name: str, holder: str, seconds: int) -> bool:
    """Take or renew a lease; says whether `holder` has it for the next `seconds`."""

    def write() -> bool:
        now = clock.now()
        until = now + seconds * clock.SECOND
        Lease.insert(name=name, holder=holder, fence=1, until=until).on_conflict_ignore().execute()
        renewed = (
            Lease.update(until=until).where(Lease.name == name, Lease.holder == holder).execute()
        )
        if renewed:
            return True
        taken = (
            Lease.update(holder=holder, fence=Lease.fence + 1, until=until)
            .where(Lease.name == name, Lease.until < now)
            .execute()
        )
        return bool(taken)

    return db.write(write)


def release(name: str, holder: str) -> None:
    db.write(
        lambda: Lease.update(until=0).where(Lease.name == name, Lease.holder == holder).execute()
    )


def holder_of(name: str) -> str | None:
    """Who holds the lease now; None when nobody does."""
    with db.reading():
        lease = Lease.get_or_none(Lease.name == name, Lease.until >= clock.now())
    return None if lease is None else lease.holder


def hold_each(names: Collection[str], holder: str, seconds: int) -> set[str]:
    """Take or renew many leases in one statement; says which of them `holder` now has."""
    if not names:
        return set()
    length = seconds * clock.SECOND
    tail = f"""
        ON CONFLICT (name) DO UPDATE SET
            holder = excluded.holder,
            until = excluded.until,
            fence = lease.fence + CASE WHEN lease.holder = excluded.holder THEN 0 ELSE 1 END
        WHERE lease.holder = excluded.holder OR lease.until < excluded.until - {length}
        RETURNING name
    """

    def write() -> set[str]:
        until = clock.now() + length
        # In one order for all, or two holders would wait for each other.
        wanted = [
            {"name": name, "holder": holder, "fence": 1, "until": until} for name in sorted(names)
        ]
        return {str(name) for (name,) in rows.insert(Lease, *wanted, tail=tail)}

    return db.write(write)


def held_by_others(prefix: str, holder: str) -> list[str]:
    """Names that begin with `prefix` and that somebody else holds now."""
    with db.reading():
        query = Lease.select(Lease.name).where(
            Lease.name.startswith(prefix), Lease.holder != holder, Lease.until >= clock.now()
        )
        return [row.name for row in query]


def release_all(holder: str) -> None:
    """Give back whatever `holder` has, so that nobody waits for it to run out."""
    db.write(lambda: Lease.update(until=0).where(Lease.holder == holder).execute())
