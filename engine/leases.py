"""Leases: who does a thing just now, on either database. They save work and guard nothing."""

from __future__ import annotations

from engine import clock
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
