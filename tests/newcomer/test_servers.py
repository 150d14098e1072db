"""The suite's servers come with what pip installs: the machine needs Python and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from engine.chain import npm
from engine.chain.local import LocalChain
from tests.services import Postgres, Redis

ROOT = Path(__file__).parents[2]
# Needs all of them: PostgreSQL and the broker, or SQLite; and on both the chain.
PROBE = "tests/contract/test_payout_wallets.py::"
PROBE += "test_play_money_is_named_by_a_number_or_by_a_string"


@pytest.mark.rule("Z-02")
def test_the_suite_runs_where_no_program_is_installed(tmp_path: Path, anvil: None) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", PROBE],
        cwd=ROOT,
        env={"PATH": str(programs), "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "2 passed" in done.stdout


@pytest.mark.rule("Z-02")
def test_each_server_is_a_program_of_the_virtual_environment(
    postgres: Postgres, redis: Redis, shared_chain: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = (postgres.pid, redis.pid, shared_chain.pid)
    programs = [Path(psutil.Process(pid).exe()) for pid in running]
    assert [one.name for one in programs] == ["postgres", "valkey-server", "anvil"]
    monkeypatch.setenv("PATH", "")
    programs.append(Path(npm.find_node()))
    assert all(one.is_relative_to(Path(sys.prefix).resolve()) for one in programs), programs


@pytest.mark.rule("Z-01")
@pytest.mark.parametrize("target", ["up", "test"])
def test_a_newcomer_is_told_what_he_waits_for(tmp_path: Path, target: str) -> None:
    dry = subprocess.run(
        ["make", "--dry-run", target, f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = dry.stdout.splitlines()
    long = [number for number, line in enumerate(lines) if "pip install" in line]
    assert long
    assert all(any(line.startswith("echo ") for line in lines[max(0, n - 2) : n]) for n in long)
