"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from engine.modes import ENTRY_POINTS

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


def _names_of_modes() -> frozenset[str]:
    """What Muster's own modes, their modules and their entry points are called."""
    found: set[str] = set()
    for point in entry_points(group=ENTRY_POINTS):
        if point.value.startswith("plugins."):
            module = point.load()
            found |= {point.name, point.value.rpartition(".")[2], *module.describe().names}
    return frozenset(found)


MODES = _names_of_modes()
# Words that some code means something else by, in these files.
OTHER_MEANINGS = {
    ("engine/*", "random"): "an order of a queue (Q-01), and the Python module",
    ("engine/backlog.py", "queue"): "whether work waits that was sent, or is under way",
    ("engine/gig_settings.py", "queue"): "what a gig is whose owner does not say, by G-01",
    ("engine/conformance/answers.py", "queue"): "a shelf, in a Selection",
    ("web/*", "/queue"): "where a gig's shelf is read and taken from, by the contract's paths",
}


def _named(source: str) -> list[str]:
    """The modes that Python code names: by a string that is one, or that has one in its path.

    Words of prose are left alone. A name of several words is none of English, so it is not to be
    anywhere, be it in a comment.
    """
    tree = ast.parse(source)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found = [name for name in MODES if "_" in name and re.search(rf"\b{name}\b", source)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found += _in_text(node.value)
    return found


def _in_text(text: str) -> list[str]:
    paths = [f"/{name}" for name in MODES if re.search(rf"/{name}(?![\w-])", text)]
    return [text, *paths] if text in MODES else paths


@pytest.mark.parametrize(
    "source",
    [
        '@route("/v1/incoming")\ndef listed(): ...',
        'path = f"/v1/incoming/{number}/plan"',
        'text = "See GET /api/v1/incoming."',
        'if gig.distribution == "push": ...',
        "# As in round_robin.",
        'MODES = {"random": 1}',
    ],
)
def test_code_that_names_a_mode_is_found(source: str) -> None:
    assert _named(source)


@pytest.mark.parametrize(
    "source",
    ['"""Incoming mail, in a queue."""', 'text = "a push of incoming mail"', "push(queue)"],
)
def test_words_of_english_name_no_mode(source: str) -> None:
    assert not _named(source)


def test_nothing_outside_the_plugins_names_a_mode() -> None:
    """Nor asks which one a gig has; what a mode is like is asked of the mode."""
    used = set()
    for path in FILES:
        file = str(path.relative_to(ROOT))
        if file.startswith("plugins/"):
            continue
        source = _source(path)
        assert not re.search(r"distribution\s*(==|!=)\s|distribution\s+in\s*[(\[{]", source), file
        for name in _named(source):
            meant = [key for key in OTHER_MEANINGS if key[1] == name and fnmatch(file, key[0])]
            assert meant, f"{file} names the mode {name}"
            used |= set(meant)
    assert used == OTHER_MEANINGS.keys(), "what is not there any more needs no reason"


def test_no_page_names_a_mode() -> None:
    for path in (ROOT / "web").rglob("*.html"):
        text = _source(path)
        quoted = [name for name in MODES if re.search(rf"""["'`/]{name}["'`/]""", text)]
        assert quoted == [], path


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
