"""Where the bytes of uploads are: a folder, or a bucket (R-08).

A folder's file is written beside the others first, and linked to its name once it is whole; a link
never replaces a file, so of two who put the same upload one wins. What is written stays under its
first name until its row says that it is stored: from that name the sweep sees what was broken off.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import structlog

from engine import clock, upload_links
from engine.errors import Refused, not_found
from engine.models.upload import Upload
from engine.settings import Settings

# So many may be putting the bytes of one upload at the same time: whoever was cut off tries again
# before he is missed, and nobody fills the disk by one address.
MOST_AT_ONCE = 3
RETRY_SECONDS = 30
log = structlog.get_logger()
_KEY = re.compile(r"[a-z]{1,20}_[0-9A-Z]{26}")


@dataclass(frozen=True)
class Ticket:
    """Where to put a file, and the headers that have to come with it."""

    url: str
    headers: dict[str, str]


class Store(Protocol):
    """What both kinds can do. Each raises 503 `uploads_unavailable` where it does not answer."""

    @property
    def origin(self) -> str | None:
        """Where files are put, if not here: scheme, host and port."""

    def ticket(self, upload: Upload) -> Ticket: ...
    def has(self, upload: Upload) -> bool:
        """Are all its bytes there?"""

    def link(self, upload: Upload, disposition: str) -> str:
        """Where whoever has this address fetches it for a moment, as a download."""

    def trouble(self) -> str | None:
        """What keeps it from its work, for whoever looks after the install."""

    def remove(self, upload_id: str) -> None: ...
    def broken_off(self, seconds: int) -> Iterator[tuple[str, Unfinished]]:
        """What nothing was written to for so long, with the ids of its uploads."""


@dataclass
class Unfinished:
    """A file that is coming in; `drop` it whatever becomes of it."""

    path: Path
    file: IO[bytes] | None = None
    size: int = field(default=0)
    _dropped: bool = field(default=False)

    def write(self, part: bytes) -> None:
        assert self.file is not None
        with _available():
            self.file.write(part)
        self.size += len(part)

    def close(self) -> None:
        """All of it is on the disk."""
        if self.file is not None:
            with _available():
                self.file.flush()
                os.fsync(self.file.fileno())
                self.file.close()
            self.file = None

    def drop(self) -> None:
        if self.file is not None:
            with suppress(OSError):
                self.file.close()
            self.file = None
        # Its name may be somebody else's by the second time.
        if not self._dropped:
            self._dropped = True
            # What cannot be removed just now is the sweep's.
            with suppress(OSError):
                self.path.unlink()


class Folder:
    """A folder that all processes share."""

    origin: str | None = None

    def __init__(self, folder: Path, least_free: int) -> None:
        """Made now if it is not there; later it is not, since a disk may be missing then."""
        self._folder, self._least_free = folder, least_free
        self._coming = folder / "unfinished"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            log.warning("uploads.no_folder", error=str(error))

    def ticket(self, upload: Upload) -> Ticket:
        return Ticket(upload_links.to_put(upload), {"content-type": upload.content_type})

    def begin(self, upload: Upload) -> Unfinished:
        """Room for an upload's bytes; 409 `in_progress` while others are putting them."""
        with _available():
            self._coming.mkdir(mode=0o700, exist_ok=True)
            if self._free() - upload.content_length < self._least_free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            for number in range(MOST_AT_ONCE):
                path = self._coming / f"{_checked(upload.id)}.{number}"
                mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                with suppress(FileExistsError):
                    return Unfinished(path, os.fdopen(os.open(path, mode, 0o600), "wb"))
        raise Refused(
            "in_progress",
            "This file is being put several times at once. Wait for those, or announce it anew.",
            retry_after=RETRY_SECONDS,
        )

    def _free(self) -> int:
        disk = os.statvfs(self._folder)
        return disk.f_bavail * disk.f_frsize

    def keep(self, unfinished: Unfinished, upload_id: str) -> bool:
        """Give a whole file its name; False where another has it."""
        unfinished.close()
        with _available():
            try:
                os.link(unfinished.path, self.path(upload_id))
            except FileExistsError:
                return False
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return True

    def path(self, upload_id: str) -> Path:
        return self._folder / _checked(upload_id)

    def open(self, upload: Upload) -> IO[bytes]:
        """Its bytes; 404 where its file is gone."""
        with _available():
            try:
                return self.path(upload.id).open("rb")
            except FileNotFoundError:
                self._require_folder()
                raise not_found("file") from None

    def has(self, upload: Upload) -> bool:
        with _available():
            try:
                return self.path(upload.id).stat().st_size == upload.content_length
            except FileNotFoundError:
                self._require_folder()
                return False

    def link(self, upload: Upload, disposition: str) -> str:
        return upload_links.to_fetch(upload)

    def trouble(self) -> str | None:
        if not self._folder.is_dir():
            return "the folder is not there"
        if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
            return "the folder cannot be written to"
        return "the disk is almost full" if self._free() < self._least_free else None

    def remove(self, upload_id: str) -> None:
        with _available():
            try:
                self.path(upload_id).unlink()
            except FileNotFoundError:
                self._require_folder()

    def _require_folder(self) -> None:
        """Without the folder nobody knows what is in it."""
        os.stat(self._folder)

    def broken_off(self, seconds: int) -> Iterator[tuple[str, Unfinished]]:
        with _available():
            coming = sorted(self._coming.iterdir()) if self._coming.is_dir() else []
        for path in coming:
            with suppress(FileNotFoundError):
                upload_id = path.name.partition(".")[0]
                # By the clock that writes a file's time, which is the machine's.
                old = path.stat().st_mtime <= clock.machines() - seconds
                if old and _KEY.fullmatch(upload_id):
                    yield upload_id, Unfinished(path)


def _checked(upload_id: str) -> str:
    """A path is made of a key of ours and of nothing else."""
    if not _KEY.fullmatch(upload_id):
        raise ValueError(f"not a key of an upload: {upload_id!r}")
    return upload_id


class _available:
    """A disk that is full or away is the operator's to mend, and not a fault of the request."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError):
            raise unavailable(error) from error


def unavailable(error: Exception) -> Refused:
    """503 for whoever asks; what it was is told to the operator in whole."""
    told = error.strerror if isinstance(error, OSError) else None
    # What a client of HTTP says of itself holds an address that is signed.
    log.warning("uploads.unavailable", error=str(error) if told else type(error).__name__)
    return Refused(
        "uploads_unavailable",
        f"Files are not at hand just now ({told or type(error).__name__}). Try again later.",
    )


def make(settings: Settings) -> Store | None:
    """The store that the settings name; None where they name none."""
    if settings.UPLOAD_S3_BUCKET:
        from jobs.s3_store import Bucket

        return Bucket(settings)
    if not settings.UPLOAD_DIR:
        return None
    return Folder(Path(settings.UPLOAD_DIR), settings.UPLOAD_MIN_FREE_BYTES)
