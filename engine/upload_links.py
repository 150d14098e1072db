"""Addresses that are signed, so that whoever has one needs no key: to put a file, or to fetch it
for a moment (R-08).
"""

from __future__ import annotations

import hashlib
import hmac

from engine import clock, install
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.upload import Upload
from engine.uploads import address, find

FETCH_SECONDS = 60


def to_put(upload: Upload) -> str:
    """Where its bytes are put in this install, until it expires."""
    return f"{address(upload)}?signature={_of_put(upload)}"


def put_by(key: str, given: str) -> Upload:
    """The upload that a signature lets put, in whatever state; 403 `wrong_signature`."""
    with db.reading():
        found = Upload.get_or_none(Upload.id == key)
    if found is None:
        raise not_found("file")
    _require(_of_put(found), given)
    return found


def to_fetch(upload: Upload) -> str:
    """Where it is fetched in this install within `FETCH_SECONDS`, by whoever has this address."""
    until = clock.now() + FETCH_SECONDS * clock.SECOND
    return f"{address(upload)}/file?until={until}&signature={_of_fetch(upload.id, until)}"


def fetched_by(key: str, until: int, given: str) -> Upload:
    """The upload that a signature lets fetch until then (ms); 403 for a wrong or an old one."""
    found = find(key)
    _require(_of_fetch(found.id, until), given)
    if clock.now() >= until:
        raise Refused(
            "upload_expired", "The time to fetch the file from here is over. Ask for it again."
        )
    return found


def _of_put(upload: Upload) -> str:
    what = (upload.id, upload.content_type, upload.content_length, upload.expires_at)
    return _signature("put", *what)


def _of_fetch(key: str, until: int) -> str:
    return _signature("fetch", key, until)


def _signature(*what: object) -> str:
    """No member has a newline in it, so none passes for two."""
    secret = install.shared_secret("uploads").encode()
    return hmac.new(secret, "\n".join(map(str, what)).encode(), hashlib.sha256).hexdigest()


def _require(wanted: str, given: str) -> None:
    if not hmac.compare_digest(wanted.encode(), given.encode()):
        raise Refused("wrong_signature", "This address of a file was changed. Ask for it anew.")
