"""Lays our contracts and their tests into a folder with forge, the compiler and the library."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from engine.chain import npm
from engine.chain.abi import BUILD

HERE = Path(__file__).parent
GAS = HERE / "gas" / "Treasury.json"


@dataclass(frozen=True)
class Workspace:
    folder: Path
    forge: Path

    @property
    def gas(self) -> Path:
        """What the last run of the gas tests found."""
        return self.folder / "gas" / GAS.name

    def environment(self) -> dict[str, str]:
        """Forge and node are found by whoever needs them."""
        first = [str(self.forge.parent), str(Path(npm.find_node()).parent)]
        path = os.pathsep.join([*first, os.environ.get("PATH", os.defpath)])
        return {**os.environ, "PATH": path}

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the workspace; what it says comes back as one text."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def prepare(folder: Path) -> Workspace:
    """Raises NpmFailed when a package cannot be had."""
    for name in ("package.json", "package-lock.json", "foundry.toml", "solc.js"):
        shutil.copy(HERE / name, folder)
    shutil.copytree(HERE / "test", folder / "test")
    (folder / "src").mkdir()
    for source in BUILD.parent.glob("*.sol"):
        shutil.copy(source, folder / "src")
    npm.npm(folder, "ci", "--prefer-offline")
    (forge,) = (folder / "node_modules" / "@foundry-rs").glob("forge-*/bin/forge")
    return Workspace(folder, forge)
