"""Which uploads are removed: never put, or named by no row for long (R-08).

Decided here by one move; the bytes go next, then the row. Whoever dies in between leaves one that
is `removing`, and it is gone through again.
"""

from __future__ import annotations

from engine import clock, install
from engine.db import db
from engine.models.upload import REMOVING, UNNAMED, UNSTORED, Upload, UploadUse
from engine.moves import take, take_all
from engine.uploads import PUT_SECONDS

# Bytes that began to come within their time may take as long again.
LATE_SECONDS = PUT_SECONDS + 60
AT_ONCE = 500


def late() -> list[Upload]:
    """Those that nobody said are stored, and that nobody can put any more."""
    until = clock.now() - LATE_SECONDS * clock.SECOND
    with db.reading():
        query = Upload.select().where(UNSTORED, Upload.expires_at <= until)
        return list(query.order_by(Upload.expires_at).limit(AT_ONCE))


def give_up(upload: Upload) -> None:
    """It never came."""
    db.write(lambda: take(Upload, upload.id, "remove", UNSTORED))


def mark_unnamed() -> int:
    """Begin to remove what no row has named for long; how many are that?

    Whoever names one has its row locked, and this looks at it again once he is done.
    """
    hours = install.current().settings.UPLOAD_UNNAMED_HOURS
    until = clock.now() - hours * 3600 * clock.SECOND
    return db.write(lambda: take_all(Upload, "remove", UNNAMED, Upload.unnamed_since <= until))


def removing() -> list[str]:
    """The ids of those whose bytes are to go."""
    with db.reading():
        return [one.id for one in Upload.select(Upload.id).where(REMOVING).limit(AT_ONCE)]


def removed(upload_id: str) -> None:
    """Its bytes are gone; now its row is."""

    def write() -> None:
        if db.lock(Upload.select(Upload.id).where(Upload.id == upload_id, REMOVING)):
            UploadUse.delete().where(UploadUse.upload_id == upload_id).execute()
            Upload.delete().where(Upload.id == upload_id).execute()

    db.write(write)


def any_kept() -> bool:
    """Has this install any uploads?"""
    with db.reading():
        return bool(Upload.select().exists())


def status_of(upload_id: str) -> str | None:
    """None where there is no such upload."""
    with db.reading():
        found: str | None = Upload.select(Upload.status).where(Upload.id == upload_id).scalar()
    return found
