"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("engine", "plugins", "jobs", "web")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
MIGRATIONS = ROOT / "engine" / "migrations"
LONGEST = 400


def _source(path: Path) -> str:
    return path.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_small(path: Path) -> None:
    if path.parent != MIGRATIONS:
        assert len(_source(path).splitlines()) <= LONGEST


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_clock_asks_what_time_it_is(path: Path) -> None:
    """`engine/clock.py` reads it; `jobs/post.py` stamps signatures with the real time."""
    if path.name in ("clock.py", "post.py"):
        return
    assert not re.search(r"datetime\.(utc)?now\(|\btime\.time(_ns)?\(", _source(path))


WRITERS = {
    # The only writers of a state column: the moves, and the claim, which is one statement.
    "engine/moves.py",
    "engine/claims.py",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_moves_write_a_state(path: Path) -> None:
    if str(path.relative_to(ROOT)) in WRITERS or path.parent == MIGRATIONS:
        return
    for node in ast.walk(ast.parse(_source(path))):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if called and node.func.attr == "update":
            assert all(keyword.arg != "status" for keyword in node.keywords), node.lineno
        if isinstance(node, ast.Assign):
            for target in node.targets:
                assert not (isinstance(target, ast.Attribute) and target.attr == "status"), (
                    node.lineno
                )


def test_nothing_outside_the_plugins_names_a_mode() -> None:
    # `queue` and `random` are also words for other things.
    own = "queue_solo|inbound_order|inbound_proof|round_robin|priority_weighted|free_for_all"
    named = re.compile(rf"""distribution\s*(==|!=|in)\s|\b({own}|incoming)\b|["']push["']""")
    for room in ("engine", "jobs", "web"):
        for path in (*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.html")):
            assert not named.search(_source(path)), path


def test_the_root_holds_only_what_is_agreed() -> None:
    allowed = {
        *ROOMS,
        "tests",
        "setup.cfg",
        "pyproject.toml",
        "Makefile",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "requirements.lock",
    }
    shown = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    made = {name for name in shown if name.endswith(".egg-info") or name == "build"}
    assert shown - made <= allowed
