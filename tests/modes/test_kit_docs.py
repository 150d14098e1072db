"""`plugins/README.md`, held to the code: its tables are whole, its examples run, its steps work."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from engine import hookspecs, modes, operations, plans, roles
from engine.conformance import ModeSuite, answers, questions, schemas
from engine.rules import json_shapes
from engine.states import TASK
from plugins import defaults
from tests.modes.packages import FIXTURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "plugins" / "README.md").read_text()
# The same with nothing in its blocks of code, whose comments look like headings.
PROSE = re.sub(
    r"^```.*?^```$", lambda block: re.sub(r"[^\n]", " ", block[0]), README, flags=re.M | re.S
)
HOOKS = sorted(name for name, value in vars(hookspecs).items() if hasattr(value, "muster_spec"))
FIFTEEN_MINUTES = "Write a mode in fifteen minutes"


def section(title: str) -> str:
    """What stands under a heading, down to the next of its rank or above."""
    heading = re.search(rf"^(#+) {re.escape(title)}$", PROSE, re.M)
    assert heading is not None, title
    after = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.M).search(PROSE, heading.end())
    return README[heading.end() : len(README) if after is None else after.start()]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def tables(text: str) -> list[list[str]]:
    """The first cell of each row, of each table, without its quotes."""
    found = re.findall(r"((?:^\|.*\n)+)", text + "\n", re.M)
    return [list(re.findall(r"^\| `(.+?)` \|", table, re.M)) for table in found]


def members(kind: Any) -> list[str]:
    return [one.name for one in dataclasses.fields(kind)]


def module(name: str, text: str, folder: Path) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def files(text: str) -> Iterator[tuple[str, str]]:
    """The blocks that say in their first line which file they are; the line is not in the file."""
    for block in re.findall(r"^```(?:python|ini|toml)\n(.*?)^```$", text, re.M | re.S):
        first, _, rest = block.partition("\n")
        if re.fullmatch(r"# [\w.]+\.\w+", first):
            yield first.removeprefix("# "), rest


def test_every_question_has_a_heading_with_its_arguments_and_none_is_invented() -> None:
    told = re.findall(r"^### (\w+)\((.*)\)$", section("The questions"), re.M)
    asked = {name: list(hook_arguments(name)) for name in HOOKS}
    assert {name: [one for one in given.split(", ") if one] for name, given in told} == asked


def hook_arguments(name: str) -> tuple[str, ...]:
    code = getattr(hookspecs, name).__code__
    found: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return found


def test_every_effect_is_in_the_table_with_its_members() -> None:
    (told, _, picks) = tables(section("Effects"))
    effects = [f"{kind.__name__}({', '.join(members(kind))})" for kind in get_args(plans.Effect)]
    assert sorted(told) == sorted(effects)
    assert picks == list(plans.PICKS)


def test_every_move_that_a_mode_may_say_is_in_the_table_as_the_engine_makes_it() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(\w+)` \|", section("Moves"), re.M)
    told = {
        (state, verb): after
        for verb, before, after in rows
        for state in re.findall(r"`(\w+)`", before)
    }
    assert told == {key: after for key, after in TASK.items() if key[1] in plans.MOVES}
    assert [verb for verb, _, _ in rows] == list(plans.MOVES)


def test_every_role_is_in_a_table() -> None:
    assert set(tables(section("Roles"))[0]) == {name for name in vars(roles) if name.isupper()}


def test_the_command_that_the_text_names_lists_every_operation_with_its_roles() -> None:
    assert "`python -m engine.operations`" in README
    command = [sys.executable, "-m", "engine.operations"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    told = dict(line.split(maxsplit=1) for line in shown.splitlines())
    assert told == {
        name: ", ".join(sorted(allowed)) for name, allowed in operations.DEFAULT.items()
    }


@pytest.mark.parametrize("kind", ["ModeInfo", "Verb", "Desk", "Selection", "Proving"])
def test_every_member_that_a_mode_says_is_in_a_table(kind: str) -> None:
    assert tables(section(kind))[0] == members(getattr(plans, kind))


def test_everything_that_a_mode_is_shown_is_in_a_table() -> None:
    kinds = ("GigFacts", "TaskFacts", "Act", "Sent", "Planner", "Routed")
    told = tables(section("What a mode is shown"))
    assert told == [members(getattr(plans, kind)) for kind in kinds]


def test_every_word_of_a_schema_is_in_a_table() -> None:
    assert set(tables(section("Settings"))[0]) == schemas.OF_SETTINGS
    assert set(tables(section("Fields"))[0]) == json_shapes._WORDS


def test_what_a_class_of_tests_may_say_is_in_a_table() -> None:
    told = tables(section("The tests that every mode keeps"))
    assert told == [list(ModeSuite.__annotations__)]


def errand(folder: Path) -> ModuleType:
    (given,) = files(section("A mode with all of it"))
    return module(given[0].removesuffix(".py"), given[1], folder)


@pytest.mark.parametrize("hook", HOOKS)
def test_an_example_runs_and_answers_as_a_mode_must(hook: str, tmp_path: Path) -> None:
    """Beside what it asserts itself: asked by the engine, in a mode that has everything."""
    (before, *_) = blocks(section("The questions"), "python")
    heading = f"{hook}({', '.join(hook_arguments(hook))})"
    (example,) = blocks(section(heading), "python")
    made = module("example", before + example, tmp_path)
    assert hasattr(getattr(made, hook), "muster_impl")
    if hook != "describe":
        made.describe = errand(tmp_path).describe  # type: ignore[attr-defined]
    mode = modes.Mode(made, defaults)
    asked = answers.Asked(mode, made)
    found = [
        problem
        for question, told in questions.of(mode, {})
        if question == hook
        for problem in asked.problems(hook, told)
    ]
    assert found == []


class TestTheModeWithAllOfItKeeps(ModeSuite):
    """As an author runs it; its text is in the README alone."""

    mode: Any = None

    @pytest.fixture(autouse=True)
    def written(self, tmp_path: Path) -> None:
        self.mode = errand(tmp_path)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", ["errand"])


def test_the_first_mode_is_the_package_that_is_installed_and_played_elsewhere() -> None:
    told = dict(files(section(FIFTEEN_MINUTES)))
    del told["test_muster_hurry.py"]
    package = FIXTURES / "outside_mode"
    assert told == {path.name: path.read_text() for path in package.iterdir() if path.is_file()}


def test_fifteen_minutes_lead_from_an_empty_folder_to_an_installed_mode(
    tmp_path: Path, activated: dict[str, str]
) -> None:
    text = section(FIFTEEN_MINUTES)
    folder = tmp_path / "muster-hurry"
    folder.mkdir()
    for name, content in files(text):
        (folder / name).write_text(content)
    enter, test, install = blocks(text, "sh")
    assert enter.startswith(". .venv/bin/activate\n")
    passed, mistake, refused = [one.strip() for one in blocks(text, "text")]

    told = run(test, folder, activated)
    assert told.returncode == 0, told.stdout
    assert passed in told.stdout

    mode = folder / "muster_hurry.py"
    sound = mode.read_text()
    mode.write_text(sound.replace("queue.decline", "queue.declin"))
    told = run(test, folder, activated)
    assert told.returncode == 1
    assert mistake in told.stdout
    mode.write_text(sound)

    told = run(install, folder, activated)
    assert told.returncode == 0, told.stdout
    program = (
        "from importlib.metadata import entry_points as e; print(e(group='muster.modes').names)"
    )
    assert "'hurry'" in run(f'python -c "{program}"', tmp_path, activated).stdout
    sentence = module("hurry", sound, tmp_path).refuses()["queue.decline"]
    assert refused == f"409 hurry: {sentence}"


@pytest.fixture
def activated(tmp_path: Path) -> dict[str, str]:
    """The surroundings of a shell after `activate`: an environment of the test's own to install in,
    over the one that it runs in."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (packages / "over.pth").write_text(sysconfig.get_path("purelib"))
    (packages / "muster.pth").write_text(str(ROOT))
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    folders = [tmp_path / "venv" / "bin", Path(sys.executable).parent, own["PATH"]]
    return {**own, "PATH": os.pathsep.join(map(str, folders))}


def run(
    commands: str, folder: Path, surroundings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-ec", commands],
        cwd=folder,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_every_link_leads_to_a_heading() -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", PROSE, re.M)
    }
    assert {*re.findall(r"\]\(#([^)]+)\)", README)} <= headings
