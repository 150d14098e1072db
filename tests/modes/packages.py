"""Modes of other packages, installed as their users install them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"


def install(name: str, folder: Path) -> Path:
    """Build the package `tests/fixtures/<name>` with pip; answers where it is installed."""
    # Built from a copy: a build leaves files beside the source.
    source, target = folder / "source", folder / "site"
    source.mkdir()
    for path in (FIXTURES / name).iterdir():
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    subprocess.run([*command, str(target), str(source)], check=True)
    return target
