"""What the suite sees of what a mode brings in and of its desk, and what it takes for neither."""

from __future__ import annotations

import py_compile
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import desks
from engine.conformance import ModeSuite, imports
from tests.modes import desk_mode
from tests.modes.test_conformance import SOUND, failure_of, load, place, told, written

pytestmark = pytest.mark.rule("G-03")


def with_desk(text: str, path: str) -> str:
    """The sound mode, with a desk at this path."""
    described = f'stages=("open",), desk=Desk({path!r}, "Here", shown=("open",)))'
    text = text.replace('description="A mode that is tried.")', f'description="One.", {described}')
    return text.replace("import Enqueue", "import Desk, Enqueue")


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "a clock by another name": (
        lambda text: (
            "from datetime import datetime as at\n" + text + "\n\nask = at\nNOW = ask.now\n"
        ),
        r"asks what time it is: a mode has no clock",
    ),
    "a file": (
        lambda text: text + "\n\ndef text():\n    return open(__file__)\n",
        r"uses open: a mode reads and writes no files; what it keeps of a task goes through",
    ),
    "an import by name": (
        lambda text: text + '\n\nload = __import__\nload("socket")\n',
        r"uses __import__: what is loaded or run by its name cannot be seen here; write an import",
    ),
    "a process": (
        lambda text: "import os.path as here\nimport threading\n" + text,
        r"line 1, imports os\.path: a mode reads and writes no files;(?s:.*)line 2, imports "
        r"threading: a mode starts nothing",
    ),
    "the engine by its front door": (
        lambda text: "import engine\n" + text + "\n\ndef rows():\n    return engine.db.db\n",
        r"uses engine\.db: a mode touches no database;",
    ),
    "a desk where another has its own": (
        lambda text: with_desk(text, "/v1/incoming"),
        r"the desk's path '/v1/incoming' is that of the installed mode 'incoming'; give it another",
    ),
    "a desk in the way": (
        lambda text: with_desk(text, "/v1/me"),
        r"the desk's path '/v1/me' is Muster's own; give it another",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_mode_that_reaches_out_is_told_what_to_mend(what: str, tmp_path: Path) -> None:
    change, sentence = BROKEN[what]
    found = told(written(tmp_path, change(SOUND)), tmp_path)
    assert re.search(sentence, found), found


@pytest.mark.rule("A-01")
def test_a_desk_that_lets_somebody_do_more_than_elsewhere_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite: Any = type("TestTried", (ModeSuite,), {"mode": desk_mode})()
    play = suite.test_its_tasks_live_and_none_is_lost
    assert failure_of(play, name="benches", tmp_path=place(tmp_path, play)) == ""
    monkeypatch.setattr(desks, "require", lambda has, by: None)
    (tmp_path / "open").mkdir()
    found = failure_of(play, name="benches", tmp_path=place(tmp_path / "open", play))
    sentence = r"the verb '(odd|boss)' is refused to worker \d in his gig, and done at his desk"
    assert re.search(sentence, found), found


def test_names_of_a_modes_own_are_no_files_and_its_times_no_clock(tmp_path: Path) -> None:
    own = """
import re
import datetime as dates

WORD = re.compile("a+")


def open(task, exec):
    time = dates.datetime.fromtimestamp(0)
    return (open, exec, time.now)
"""
    assert list(imports.problems(written(tmp_path, SOUND + own))) == []


def test_a_module_without_a_source_is_told_of(tmp_path: Path) -> None:
    source = tmp_path / "hidden.py"
    source.write_text(SOUND)
    made = py_compile.compile(str(source), str(tmp_path / "hidden.pyc"))
    source.unlink()
    (found,) = imports.problems(load(Path(str(made))))
    assert found == (
        "hidden has no source that can be read, so nobody knows what it brings in. Ship the .py "
        "file."
    )
