"""Where the bytes of uploads are: a folder, or a bucket (R-08).

A folder's file is written beside the others first, and linked to its name once it is whole; a link
never replaces a file, so of two who put the same upload one wins. What is written stays under its
first name until its row says that it is stored: from that name the sweep sees what was broken off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from engine import clock, uploads
from engine.errors import Refused
from engine.ids import new_token
from engine.models.upload import Upload
from engine.settings import Settings

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

    def link(self, upload: Upload, disposition: str) -> str | None:
        """Where to fetch it for a moment, as a download; None: it is read here."""

    def remove(self, upload_id: str) -> None: ...
    def broken_off(self, seconds: int) -> Iterator[tuple[str, Unfinished]]:
        """What nothing was written to for so long, with the ids of its uploads."""


@dataclass
class Unfinished:
    """A file that is coming in; `drop` it whatever becomes of it."""

    path: Path
    file: IO[bytes] | None = None
    size: int = field(default=0)

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
        self.path.unlink(missing_ok=True)


class Folder:
    """A folder that all processes share."""

    origin: str | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._coming = folder / "unfinished"

    def ticket(self, upload: Upload) -> Ticket:
        url = f"{uploads.address(upload)}?signature={uploads.signature(upload)}"
        return Ticket(url, {"content-type": upload.content_type})

    def begin(self, upload: Upload) -> Unfinished:
        """Room for an upload's bytes."""
        with _available():
            self._coming.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._coming / f"{_checked(upload.id)}.{new_token(16)}"
            mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return Unfinished(path, os.fdopen(os.open(path, mode, 0o600), "wb"))

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

    def has(self, upload: Upload) -> bool:
        try:
            return self.path(upload.id).stat().st_size == upload.content_length
        except FileNotFoundError:
            return False

    def link(self, upload: Upload, disposition: str) -> str | None:
        return None

    def remove(self, upload_id: str) -> None:
        with _available():
            self.path(upload_id).unlink(missing_ok=True)

    def broken_off(self, seconds: int) -> Iterator[tuple[str, Unfinished]]:
        if not self._coming.is_dir():
            return
        for path in sorted(self._coming.iterdir()):
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
    return Refused(
        "uploads_unavailable",
        f"Files cannot be stored just now ({type(error).__name__}). Try again later.",
    )


def make(settings: Settings) -> Store | None:
    """The store that the settings name; None where they name none."""
    if settings.UPLOAD_S3_BUCKET:
        from jobs.s3_store import Bucket

        return Bucket(settings)
    return Folder(Path(settings.UPLOAD_DIR)) if settings.UPLOAD_DIR else None
