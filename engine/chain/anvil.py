"""Where anvil is, and how to get it: `python -m engine.chain.anvil`.

The program comes in an npm package, one per platform. What is run is the binary itself: npm's
`anvil` is a node script around it, and stopping that one leaves the chain running.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

from engine.chain.npm import NpmFailed, npm

VERSION = "1.7.1"
_PLATFORMS = {
    ("Linux", "x86_64"): "linux-amd64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "x86_64"): "darwin-amd64",
    ("Darwin", "arm64"): "darwin-arm64",
}


class AnvilMissing(Exception):
    """There is no anvil. The message says how to get one."""


def home() -> Path:
    """Where `install_anvil` puts it: inside the virtual environment, and gone with it."""
    return Path(sys.prefix) / "lib" / "anvil"


def find_anvil() -> Path:
    """The binary: `MUSTER_ANVIL`, else the installed one, else one on the PATH.

    Raises AnvilMissing.
    """
    named = os.environ.get("MUSTER_ANVIL")
    if named:
        if not os.access(named, os.X_OK):
            raise AnvilMissing(f"MUSTER_ANVIL names {named}, which is not a program.")
        return Path(named)
    installed = _binary(home())
    if installed.is_file():
        return installed
    found = shutil.which("anvil")
    if found is None:
        raise AnvilMissing("anvil was not found. Run: python -m engine.chain.anvil")
    return _behind_wrapper(Path(found).resolve())


def install_anvil() -> Path:
    """Install it if it is not there yet; answers the binary. Safe to run twice at once.

    Raises NpmFailed with what npm said.
    """
    target = home()
    binary = _binary(target)
    if binary.is_file():
        return binary
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if binary.is_file():
            return binary
        # Whole or not at all: an install that breaks off leaves nothing that looks like one.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="anvil-new-") as folder:
            new = Path(folder) / "anvil"
            new.mkdir()
            (new / "package.json").write_text('{"name": "anvil", "private": true}\n')
            npm(new, "install", "--save-exact", f"@foundry-rs/anvil@{VERSION}")
            if not _binary(new).is_file():
                raise NpmFailed(f"npm installed anvil {VERSION} without a binary for this machine.")
            shutil.rmtree(target, ignore_errors=True)
            new.rename(target)
    return binary


def _binary(prefix: Path) -> Path:
    return prefix / "node_modules" / "@foundry-rs" / f"anvil-{_platform()}" / "bin" / "anvil"


def _platform() -> str:
    machine = (platform.system(), platform.machine())
    if machine not in _PLATFORMS:
        raise AnvilMissing(
            f"anvil is not made for {' '.join(machine)}. Set MUSTER_CHAIN_RPC_URL to another node."
        )
    return _PLATFORMS[machine]


def _behind_wrapper(found: Path) -> Path:
    """The binary that npm's `node_modules/@foundry-rs/anvil/bin.mjs` would start."""
    for parent in found.parents:
        if parent.name == "node_modules":
            binary = _binary(parent.parent)
            if binary.is_file():
                return binary
    return found


def main() -> int:
    try:
        print(install_anvil())  # noqa: T201  (a command's answer)
    except (NpmFailed, AnvilMissing) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
