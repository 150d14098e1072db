"""Stored answers to keyed requests (H-07).

The row of a key is written in the same transaction as the effect, with the answer in it, so there
is no moment in which one is there without the other. Of two requests with one key the second waits
at the row's unique key and finds the first one's answer. A request whose effect is a command
stores the command's id instead, and the answer once the command is done. However long that takes,
the key stays: its day then begins when the command has ended.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import simplejson

from engine import clock, install
from engine.db import db
from engine.errors import Refused
from engine.models.access import StoredAnswer
from engine.models.command import Command

DAY_MS = 24 * 3600 * clock.SECOND
MAX_KEY_CHARACTERS = 255

_FORGET = """
DELETE FROM stored_answer WHERE created_at <= ? AND NOT EXISTS (
    SELECT 1 FROM command WHERE command.id = stored_answer.command_id
    AND (command.finished_at IS NULL OR command.finished_at > ?)
)
"""


@dataclass(frozen=True)
class Keyed:
    """A request under a key. `principal` is an account, or a token's hash where there is none."""

    principal: str
    method: str
    path: str
    key: str
    body: bytes

    @property
    def id(self) -> str:
        told = "\0".join((self.principal, self.method, self.path, self.key))
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True)
class Answer:
    """What was answered, or, with status 0, the command whose outcome will be."""

    status: int
    headers: list[tuple[str, str]]
    body: str
    command_id: str | None = None


def find(keyed: Keyed) -> Answer | None:
    """The stored answer, or None for a request that is to run; only inside `db.write`.

    422 `idempotency_mismatch` when the key came with another body.
    """
    found = db.lock(StoredAnswer.select().where(StoredAnswer.id == keyed.id))
    if not found:
        return None
    (row,) = found
    command = Command.get_or_none(Command.id == row.command_id) if row.command_id else None
    if _is_over(row, command) or _failed(row, command):
        StoredAnswer.delete().where(StoredAnswer.id == keyed.id).execute()
        return None
    if row.fingerprint != keyed.fingerprint:
        raise Refused(
            "idempotency_mismatch",
            "Another request was sent under this Idempotency-Key. Use a new key for a new request.",
        )
    if row.encrypted_answer is None:
        return Answer(0, [], "", row.command_id)
    kept = simplejson.loads(install.current().keyring.decrypt(str(row.encrypted_answer)))
    return Answer(kept["status"], [tuple(pair) for pair in kept["headers"]], kept["body"])


def _is_over(row: StoredAnswer, command: Command | None) -> bool:
    """Has a day passed since it was asked, and since its command ended? Not while that runs."""
    over = clock.now() - DAY_MS
    if command is None:
        return bool(row.created_at <= over)
    return command.finished_at is not None and max(row.created_at, command.finished_at) <= over


def _failed(row: StoredAnswer, command: Command | None) -> bool:
    """A command that failed took no effect, so the retry after topping up runs."""
    if row.command_id is None or row.encrypted_answer is not None:
        return False
    return command is None or command.status == "failed"


def reserve(keyed: Keyed) -> bool:
    """Write the key's row before the effect; False when another has just written it."""
    if not db.is_postgres:
        # The one writer stands alone, and a row that is taken back is a commit that wakes others.
        return True
    made = (
        StoredAnswer.insert(id=keyed.id, fingerprint=keyed.fingerprint, created_at=clock.now())
        .on_conflict_ignore()
        .returning(StoredAnswer.id)
        .execute()
    )
    return bool(list(made))


def begin(keyed: Keyed) -> tuple[Answer | None, int]:
    """The stored answer if there is one, and when the key was first used, in milliseconds.

    For a request that takes effect in several transactions: its row is there before them.
    """

    def write() -> tuple[Answer | None, int]:
        if find(keyed) is None:
            values = {"id": keyed.id, "fingerprint": keyed.fingerprint, "created_at": clock.now()}
            StoredAnswer.insert(**values).on_conflict_ignore().execute()
        # Also of one who has come first since: with another body it is refused.
        known = find(keyed)
        row = StoredAnswer.get(StoredAnswer.id == keyed.id)
        return (known if known is not None and known.status else None), int(row.created_at)

    return db.write(write)


def release(keyed: Keyed) -> None:
    """Nothing took effect under the key, so whoever repeats it runs."""
    StoredAnswer.delete().where(StoredAnswer.id == keyed.id).execute()


def keep(keyed: Keyed, answer: Answer) -> None:
    """Store the answer, or the command it will come from, beside its effect."""
    encrypted = None
    if answer.status:
        told = {"status": answer.status, "headers": answer.headers, "body": answer.body}
        encrypted = install.current().keyring.encrypt(simplejson.dumps(told))
    StoredAnswer.insert(
        id=keyed.id,
        fingerprint=keyed.fingerprint,
        created_at=clock.now(),
        command_id=answer.command_id,
        encrypted_answer=encrypted,
    ).on_conflict(
        conflict_target=[StoredAnswer.id],
        update={
            StoredAnswer.command_id: answer.command_id,
            StoredAnswer.encrypted_answer: encrypted,
        },
    ).execute()


def forget_old() -> None:
    """Drop what is over; rung by the scheduler."""
    old = clock.now() - DAY_MS
    db.write(lambda: db.rows(_FORGET, (old, old)))
