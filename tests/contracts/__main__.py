"""`python -m tests.contracts`: forge, slither and halmos over our contracts; `… gas` notes the gas.

Slither and halmos come into an environment of their own, thrown away with the workspace.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import venv
from pathlib import Path

from tests.contracts import workspace
from tests.contracts.workspace import Workspace

# Answered in engine/decisions/0006-treasury-contract.md.
ANSWERED = (
    "timestamp",
    "calls-loop",
    "low-level-calls",
    "reentrancy-benign",
    "reentrancy-events",
)


def forge(made: Workspace) -> int:
    return _tell(made, str(made.forge), "test")


def gas(made: Workspace) -> int:
    """Write what the gas tests find into the file that is compared."""
    code = _tell(made, str(made.forge), "test", "--match-contract", "GasTest")
    if code == 0:
        shutil.copy(made.gas, workspace.GAS)
    return code


def slither(made: Workspace) -> int:
    program = _install(made, "slither-analyzer==0.11.6", "slither")
    answered = ("--exclude", ",".join(ANSWERED))
    ours = ("--filter-paths", "node_modules|test|MockUSDC", "--fail-pedantic")
    return _tell(made, program, ".", "--compile-force-framework", "foundry", *answered, *ours)


def halmos(made: Workspace) -> int:
    program = _install(made, "halmos==0.3.3", "halmos")
    limits = ("--solver-timeout-assertion", "300s")
    return _tell(made, program, "--contract", "ArithmeticTest", *limits)


def _install(made: Workspace, package: str, program: str) -> str:
    folder = made.folder / f"{program}-env"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
    done = made.run(str(python), *pip)
    if done.returncode != 0:
        raise SystemExit(done.stdout)
    return str(folder / "bin" / program)


def _tell(made: Workspace, *command: str) -> int:
    done = made.run(*command)
    print(done.stdout)
    return done.returncode


STEPS = {"forge": forge, "slither": slither, "halmos": halmos}


def main(arguments: list[str]) -> int:
    steps = {**STEPS, "gas": gas}
    chosen = arguments or list(STEPS)
    if unknown := set(chosen) - set(steps):
        print(f"Not known: {', '.join(unknown)}. Known: {', '.join(steps)}.")
        return 2
    with tempfile.TemporaryDirectory(prefix="muster-contracts-") as folder:
        made = workspace.prepare(Path(folder))
        return max(steps[name](made) for name in chosen)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
