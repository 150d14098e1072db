"""Renewing what is encrypted, so that an old master key can be dropped (Z-07).

Put the new key first and keep the old one behind it, in every process; then run this. Each batch is
a transaction of its own and each row is changed only if it is still as it was read, so servers may
run meanwhile, and it may be stopped and run again. At the end everything is read once more, for
what changed under its hands, or was written by a process that has not the new key first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from engine import install, letters, webhook_secrets
from engine.db import db
from engine.errors import Refused
from engine.models.access import StoredAnswer
from engine.models.command import UNFINISHED, Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.models.wallet import Wallet

BATCH = 200
Changes = dict[str, Any]


@dataclass
class Count:
    """Rows: brought under the first key, found there already, and under a key that is missing."""

    renewed: int = 0
    current: int = 0
    unreadable: int = 0


@dataclass
class Report:
    counts: dict[str, Count] = field(default_factory=dict)
    # Rows that were under an old key when everything was read once more.
    late: int = 0

    @property
    def unreadable(self) -> int:
        return sum(count.unreadable for count in self.counts.values())

    @property
    def ok(self) -> bool:
        """Can the old keys be dropped?"""
        return not self.unreadable and not self.late

    def as_dict(self) -> dict[str, Any]:
        counts = {name: asdict(count) for name, count in self.counts.items()}
        return {"counts": counts, "late": self.late, "ok": self.ok}


@dataclass(frozen=True)
class _Kind:
    """Rows of a table that keep something encrypted.

    `renew` answers a row's columns under the first key, none if they are so already; `column` is
    one that changes whenever any of these do.
    """

    table: Any
    column: Any
    renew: Callable[[Any], Changes]
    where: tuple[Any, ...] = ()


def _value(name: str) -> Callable[[Any], Changes]:
    def renew(row: Any) -> Changes:
        new = install.current().keyring.renew(getattr(row, name))
        return {} if new is None else {name: new}

    return renew


def _secrets(row: Any) -> Changes:
    new = webhook_secrets.renew(row.webhook_secret)
    old = row.old_webhook_secrets or []
    renewed = [[webhook_secrets.renew(kept) or kept, until] for kept, until in old]
    changes: Changes = {} if new is None else {"webhook_secret": new}
    if renewed != old:
        changes["old_webhook_secrets"] = renewed
    return changes


def _order_secret(row: Any) -> Changes:
    new = webhook_secrets.renew_any(row.order_webhook_secret)
    return {} if new is None else {"order_webhook_secret": new}


def _letter(row: Any) -> Changes:
    new = install.current().keyring.renew(row.arguments["encrypted_body"])
    return {} if new is None else {"arguments": {**row.arguments, "encrypted_body": new}}


KINDS = {
    "wallets": _Kind(
        Wallet,
        Wallet.encrypted_key,
        _value("encrypted_key"),
        (Wallet.encrypted_key.is_null(False),),
    ),
    "gig_secrets": _Kind(Gig, Gig.webhook_secret, _secrets),
    "mailbox_secrets": _Kind(Mailbox, Mailbox.webhook_secret, _secrets),
    "order_secrets": _Kind(
        Task,
        Task.order_webhook_secret,
        _order_secret,
        (Task.order_webhook_secret.is_null(False),),
    ),
    "stored_answers": _Kind(
        StoredAnswer,
        StoredAnswer.encrypted_answer,
        _value("encrypted_answer"),
        (StoredAnswer.encrypted_answer.is_null(False),),
    ),
    # A letter that was sent, or given up, is never read again.
    "letters": _Kind(
        Command,
        Command.arguments,
        _letter,
        (UNFINISHED, Command.kind.in_(list(letters.TURN_SECONDS))),
    ),
}


def run() -> Report:
    """Bring everything under the first master key; Refused `no_master_key` where there is none."""
    if not install.current().keyring.has_key:
        raise Refused("no_master_key", "This install has no master key. Set MUSTER_MASTER_KEYS.")
    report = Report()
    for name, kind in KINDS.items():
        count = report.counts[name] = Count()
        for rows in _batches(kind):
            _renew(kind, rows, count)
    for kind in KINDS.values():
        for rows in _batches(kind):
            report.late += sum(bool(changes) for _, changes in _read(kind, rows, Count()))
    return report


def _batches(kind: _Kind) -> Iterator[list[Any]]:
    after = ""
    while True:
        with db.reading():
            query = kind.table.select().where(kind.table.id > after, *kind.where)
            rows = list(query.order_by(kind.table.id).limit(BATCH))
        if not rows:
            return
        yield rows
        after = rows[-1].id


def _read(kind: _Kind, rows: list[Any], count: Count) -> list[tuple[Any, Changes]]:
    """Each row whose key is there, with its columns under the first key."""
    found = []
    for row in rows:
        try:
            found.append((row, kind.renew(row)))
        except Refused as refusal:
            if refusal.code != "master_key_missing":
                raise
            count.unreadable += 1
    return found


def _renew(kind: _Kind, rows: list[Any], count: Count) -> None:
    found = _read(kind, rows, count)

    def write() -> None:
        for row, changes in found:
            if changes:
                # One that was changed meanwhile is left as it is, and read again at the end.
                same = kind.column == getattr(row, kind.column.name)
                kind.table.update(**changes).where(kind.table.id == row.id, same).execute()

    db.write(write)
    renewed = sum(bool(changes) for _, changes in found)
    count.renewed += renewed
    count.current += len(found) - renewed
