"""A worker's planning schedule: his time zone and his working hours (I-04)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import rows
from engine.db import db
from engine.models.account import Account
from engine.operations import Caller
from engine.rules.working_hours import Hours


@dataclass(frozen=True)
class Schedule:
    """`zone` is a name of the IANA database; `hours` as in `engine/rules/working_hours.py`."""

    zone: str
    hours: Hours


def of(account: Account) -> Schedule:
    """What an account has said; a day that it has not named has no working hours."""
    return Schedule(str(account.timezone), account.working_hours or {})


def read(caller: Caller) -> Schedule:
    with db.reading():
        account = rows.one(Account, "id = ?", caller.account_id)
    assert account is not None, "who calls has an account"
    return of(account)


def change(caller: Caller, values: dict[str, Any]) -> Schedule:
    """Set `timezone`, `working_hours` or both, which are checked already; the rest stays.

    What was planned stays at its moment, and is shown by the clocks of the new zone.
    """

    def write() -> Schedule:
        if values:
            Account.update(**values).where(Account.id == caller.account_id).execute()
        return read(caller)

    return db.write(write)
