"""Uploads: what is announced, put once, and read by whoever reads a row that names it (R-08).

Rows only: the bytes are in a store of `jobs/file_stores.py`. An upload's id is its key, the last
part of the address that people write into their texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine import clock, counters, install
from engine.counters import Limit
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.ids import new_id
from engine.models.upload import Upload
from engine.moves import take

# Where an upload is to be named first; it begins the key, and opens and closes nothing.
PREFIXES = ("proofs", "tasks", "comments")
PUT_SECONDS = 900
MAX_FILENAME_CHARACTERS = 255
MAX_TYPE_CHARACTERS = 127
STORED = "stored"
# What a name would not be read as it is written for: controls, marks that turn its direction, and
# what nobody sees.
_UNREADABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_TOKEN = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}"  # noqa: S105
_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}")


@dataclass(frozen=True)
class Wanted:
    """What somebody says of a file that he is about to put; the length is in bytes."""

    filename: str
    content_type: str
    content_length: int
    prefix: str = PREFIXES[0]


def begin(account_id: str, wanted: Wanted, mailbox_id: str | None = None) -> Upload:
    """Announce a file of an account's, by itself or through a share link of that mailbox.

    400 names what is wrong with it; 429 `rate_limited` past what one account may upload.
    """
    settings = install.current().settings
    _check(wanted, settings.UPLOAD_MAX_BYTES)
    starts = Limit("uploads", settings.UPLOADS_PER_MINUTE, 60)
    volume = Limit("upload bytes", settings.UPLOAD_BYTES_PER_DAY, 86_400)

    def write() -> Upload:
        counters.check(counters.hit(starts, account_id))
        _check_volume(counters.hit(volume, account_id, wanted.content_length))
        now = clock.now()
        return Upload.create(
            id=new_id(wanted.prefix),
            account_id=account_id,
            mailbox_id=mailbox_id,
            status="waiting",
            filename=wanted.filename.strip(),
            content_type=wanted.content_type.lower(),
            content_length=wanted.content_length,
            created_at=now,
            expires_at=now + PUT_SECONDS * clock.SECOND,
            unnamed_since=now,
        )

    return db.write(write)


def _check(wanted: Wanted, most_bytes: int) -> None:
    name = wanted.filename.strip()
    if not name or len(name) > MAX_FILENAME_CHARACTERS or name in (".", ".."):
        raise invalid("filename", f"a name of 1 to {MAX_FILENAME_CHARACTERS} characters")
    if "/" in name or "\\" in name or _UNREADABLE.search(name):
        raise invalid("filename", "the name alone, without a path or characters that nobody sees")
    if len(wanted.content_type) > MAX_TYPE_CHARACTERS or not _TYPE.fullmatch(wanted.content_type):
        raise invalid("content_type", "a type like image/png, without parameters")
    if not 1 <= wanted.content_length <= most_bytes:
        raise invalid("content_length", f"a file has 1 to {most_bytes} bytes")
    if wanted.prefix not in PREFIXES:
        raise invalid("prefix", f"one of {', '.join(PREFIXES)}")


def _check_volume(used: counters.Used) -> None:
    if used.count > used.limit.most:
        raise Refused(
            "rate_limited",
            f"That is more than {used.limit.most} bytes in a day. "
            f"Try again in {used.reset_seconds} s, or with a smaller file.",
            retry_after=used.reset_seconds,
            limit=used.limit.name,
        )


def address(upload: Upload) -> str:
    """What people write into their texts; it stays the same, whoever reads it."""
    return f"{install.current().settings.PUBLIC_URL.rstrip('/')}/api/uploads/{upload.id}"


def find(key: str) -> Upload:
    """The upload of a key, with 404 for none and for one that is being removed."""
    with db.reading():
        found = Upload.get_or_none(Upload.id == key)
    if found is None or found.status == "removing":
        raise not_found("file")
    return found


def require_put(upload: Upload, content_type: str, content_length: int | None) -> None:
    """Refuse the bytes that are about to come: too late, again, or of another type or length.

    `content_length` is None where they come in chunks; then they are counted.
    """
    require_waiting(upload)
    if clock.now() >= upload.expires_at:
        raise Refused("upload_expired", "The time to put this file is over. Announce it anew.")
    if content_type.partition(";")[0].strip().lower() != upload.content_type:
        raise Refused(
            "wrong_content_type", f"Send it as announced, with content-type: {upload.content_type}."
        )
    if content_length is not None:
        require_length(upload, content_length)


def require_waiting(upload: Upload) -> None:
    """409 `upload_stored` once it was put: nobody changes what others have read."""
    if upload.status == "removing":
        raise not_found("file")
    if upload.status == STORED:
        raise already_stored()


def already_stored() -> Refused:
    return Refused(
        "upload_stored", "This file is stored, and stays as it is. Announce another one anew."
    )


def require_length(upload: Upload, size: int) -> None:
    """413 for more bytes than were announced, 400 for fewer."""
    if size > upload.content_length:
        raise Refused(
            "payload_too_large",
            f"These are more than the {upload.content_length} bytes that were announced.",
            max_bytes=upload.content_length,
        )
    if size < upload.content_length:
        raise invalid("content-length", f"{upload.content_length} bytes were announced, not {size}")


def store(upload_id: str) -> bool:
    """Its bytes are all there: say so, once; is it stored now? False for one that is removed."""

    def write() -> bool:
        if take(Upload, upload_id, "store", stored_at=clock.now()):
            return True
        status = Upload.select(Upload.status).where(Upload.id == upload_id).scalar()
        return bool(status == STORED)

    return db.write(write)
