"""The data folder of `muster up`: what the install is made of, and the keys for its developer.

`install.json` holds settings as their environment variables would, so that every other command can
be run beside it with `--data-dir`. Both files are for their owner's eyes only (mode 600).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import SettingsError
from engine.ids import new_token
from engine.keyring import new_master_key

DEFAULT = Path(".muster")
INSTALL = "install.json"
DEVELOPER = "dev.json"
LOCK = "up.lock"


def write_private(path: Path, value: dict[str, Any]) -> None:
    """Replace a file at once, readable by its owner only."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read(path: Path) -> dict[str, Any]:
    """What a file of ours says; empty when there is none."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from error
    return found


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else starts an install in the folder meanwhile, whatever becomes of this process.

    Two would share a chain, which the first to end would stop.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SettingsError(
                f"Muster is up in {folder} already. Stop that one, or give another --data-dir."
            ) from error
        yield


def make_install(folder: Path) -> dict[str, str]:
    """The settings of the folder's install; secrets are made at its first start and kept."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / INSTALL
    known = read(path)
    made = {
        "STAGE": "dev",
        "DATABASE_URL": f"sqlite:///{(folder / 'muster.db').resolve()}",
        "MASTER_KEYS": new_master_key(),
        "ADMIN_KEY": new_token(32),
        "CONFIRMATIONS": "1",
        "WEBHOOK_ALLOW_PRIVATE": "loopback",
        "UPLOAD_DIR": str((folder / "uploads").resolve()),
        **known,
    }
    if made != known:
        write_private(path, made)
    return made


def defaults(folder: Path | None, environment: dict[str, str]) -> dict[str, str]:
    """Settings for a command beside a running install.

    An environment that names a database is an install of its own, unless a folder was asked for.
    """
    if folder is None:
        if "MUSTER_DATABASE_URL" in environment or not (DEFAULT / INSTALL).exists():
            return {}
        folder = DEFAULT
    found = read(folder / INSTALL)
    if not found:
        raise SettingsError(f"There is no install in {folder}; start one with muster up.")
    return found
