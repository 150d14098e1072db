"""Notifications: what an account is told of, until its holder has seen it (T-09)."""

from __future__ import annotations

from collections.abc import Iterable

from engine import clock, rows
from engine.events import Subject
from engine.models.notification import Notification


def tell(
    account_ids: Iterable[str], kind: str, title: str, subject: Subject, gig_id: str | None
) -> None:
    """Write a notification for each account; only inside `db.write`, with what it tells of."""
    made = [
        {
            "account_id": account_id,
            "kind": kind,
            "title": title,
            "at": clock.now(),
            "gig_id": gig_id,
            "subject_kind": subject.kind,
            "subject_id": subject.id,
        }
        for account_id in sorted(set(account_ids))
    ]
    rows.insert(Notification, *made)
