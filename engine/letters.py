"""Letters: each is a command of its own, to one address, which `jobs/mail.py` sends (H-14, U-02).

Each kind has a lane, in which one letter is sent at a time, so that codes to sign in with never
stand in line behind a gig that has pushed to thousands.
"""

from __future__ import annotations

from engine import clock, commands, install
from engine.db import db
from engine.models.command import UNFINISHED, Command

CODE, NOTICE = "mail.send", "mail.notice"
# How long a letter waits at most while its lane is taken; whoever is done wakes the next.
TURN_SECONDS = {CODE: 1, NOTICE: 30}


def can_send() -> bool:
    return bool(install.current().settings.SMTP_URL)


def record(kind: str, to: str, subject: str, body: str, until: int, gig_id: str | None) -> None:
    """Write a letter that is sent once this transaction commits; only inside `db.write`.

    It is not sent any more from `until` (ms) on. Only where `can_send`.
    """
    arguments = {
        "to": to,
        "subject": subject,
        # It may hold a secret, and is nobody's to read but its recipient's.
        "encrypted_body": install.current().keyring.encrypt(body),
        "until": until,
    }
    commands.record(kind, arguments, account_id=None, gig_id=gig_id)


def wake_next(kind: str) -> None:
    """The lane is free and the server takes letters: ring for the one that has waited longest."""

    def write() -> None:
        soon = clock.now() + TURN_SECONDS[kind] * clock.SECOND
        waiting = (Command.status == "waiting", Command.kind == kind, Command.run_after <= soon)
        query = Command.select(Command.id).where(UNFINISHED, *waiting)
        commands.wake_waiting({row.id for row in query.order_by(Command.run_after).limit(1)})

    db.write(write)
