"""The suite for authors of modes: every installed mode keeps it, and broken ones do not."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from engine.conformance import ModeSuite
from engine.modes import ENTRY_POINTS

FIXTURES = Path(__file__).parents[1] / "fixtures"


def load(path: Path) -> ModuleType:
    """A mode's module, from where it lies."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What a mode's verbs want beside what their schemas say.
BODIES: dict[str, Any] = {
    "incoming": {
        "plan": {"plannedStart": "2031-03-04T09:00:00"},
        "reassign": lambda play: {"assigneeId": play.workers[1].number},
    }
}

# A class for each, as an author writes one for his.
for _point in entry_points(group=ENTRY_POINTS):
    _values = {"mode": _point.load(), "bodies": BODIES.get(_point.name, {})}
    _title = "".join(word.title() for word in _point.name.split("_"))
    globals()[f"Test{_title}Keeps"] = type(f"Test{_title}Keeps", (ModeSuite,), _values)


class TestHurryKeeps(ModeSuite):
    mode = load(FIXTURES / "outside_mode" / "muster_hurry.py")


class TestAuctionKeeps(ModeSuite):
    mode = load(FIXTURES / "auction_mode" / "muster_auction.py")


class TestLotteryKeeps(ModeSuite):
    mode = load(FIXTURES / "lottery_mode" / "muster_lottery.py")


SOUND = """
from engine.hookspecs import impl
from engine.plans import Enqueue, ModeInfo, MoveTask, PutBack, Reply, Selection, Stage, Verb


@impl
def describe():
    return ModeInfo(names=("tried",), title="Tried", description="A mode that is tried.")


@impl
def distribute(gig, task):
    return (Enqueue(), Reply({"status": "queued"}))


@impl
def select(gig):
    return Selection(shelf="queue")
"""
RELEASED = "\n\n@impl\ndef released(gig, task):\n    return "
VERB = 'description="A mode that is tried.", stages=("open",), verbs=(%s,))'
QUEUED = '(Enqueue(), Reply({"status": "queued"}))'

# What is wrong: how the sound mode becomes it, and what its author is told.
BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "an effect that is none": (
        lambda text: text.replace("Enqueue(), Reply", '"enqueue", Reply'),
        r"distribute\(\), of a task that is queued: answered 'enqueue', which is no effect\. There "
        r"are Assign, AssignAccount, AssignByLot, Enqueue,",
    ),
    "an effect without its tuple": (
        lambda text: text.replace(QUEUED, "Enqueue()"),
        r"a plan is a tuple: \(Enqueue\(…\),\) with the comma",
    ),
    "a sender who is told nothing": (
        lambda text: text.replace(QUEUED, "(Enqueue(),)"),
        r"tells its sender nothing; say Reply\(\{'status': 'queued'\}\)",
    ),
    "an operation that there is not": (
        lambda text: text + '\n\n@impl\ndef refuses():\n    return {"queue.pol": "Never."}\n',
        r"refuses\(\) names 'queue\.pol', which is no operation\. Did you mean 'queue\.poll'\?",
    ),
    "a refusal that is no sentence": (
        lambda text: text + '\n\n@impl\ndef refuses():\n    return {"queue.poll": "Never"}\n',
        r"refuses\(\), 'queue\.poll': end the sentence 'Never' with a full stop\.",
    ),
    "a database": (
        lambda text: "from engine.models.task import Task\n" + text,
        r"tried\.py, line 1, imports engine\.models\.task: a mode touches no database;",
    ),
    "a clock of its own": (
        lambda text: text + "\n\nimport datetime\n\nNOW = datetime.datetime.now()\n",
        r"asks what time it is: a mode has no clock; `now` is given",
    ),
    "a function that nobody asks": (
        lambda text: text + "\n\ndef released(gig, task):\n    return (PutBack(),)\n",
        r"released\(\) is not marked with @impl of engine\.hookspecs, so nobody asks it\.",
    ),
    "a question that is none": (
        lambda text: text + "\n\n@impl\ndef relesed(gig, task):\n    return (PutBack(),)\n",
        r"relesed\(\) is no question that is asked\. Did you mean 'released'\?",
    ),
    "a released task that is discarded": (
        lambda text: text + RELEASED + '(MoveTask("discard"),)\n',
        r"MoveTask\('discard'\), which is for the engine to make; PutBack\(\) ends a copy, with "
        r"its template, and loses no other task to its sender\.",
    ),
    "a released task that stays": (
        lambda text: text + RELEASED + "()\n",
        r"released\(\), of a task that is claimed: leaves the task with the worker whose time is "
        r"over",
    ),
    "a released task that nobody finds": (
        lambda text: text + RELEASED + '(MoveTask("release"),)\n',
        r"released\(\), of a task that is claimed: moves the task to where no worker finds it; "
        r"PutBack\(\) puts it into its place as well",
    ),
    "a new task that nobody finds": (
        lambda text: text.replace(QUEUED, '(Reply({"status": "queued"}),)'),
        r"waits where nobody finds it: it is on no shelf, has no bell, .*\n.*What was done.*\n"
        r"(?s:.*)the owner sends a task for nobody in particular",
    ),
    "an error in the middle": (
        lambda text: text.replace(
            "def distribute(gig, task):", "def distribute(gig, task):\n    1/0"
        ),
        r"distribute\(\), of a task that is queued: raised ZeroDivisionError: division by zero "
        r"\(tried\.py, line \d+\)\.",
    ),
    "an error in a play": (
        lambda text: text + RELEASED + '1 / task.id.startswith("TASK_1") and (PutBack(),)\n',
        r"the mode raised ZeroDivisionError: division by zero \(tried\.py, line \d+\)",
    ),
    "a stage that there is not": (
        lambda text: text.replace("(Enqueue(), ", '(Stage("opne"), Enqueue(), ').replace(
            'description="A mode that is tried.")', VERB % 'Verb("bid", "Bid.", stages=("open",))'
        ),
        r"says Stage\('opne'\), which is not among the mode's `stages`\. Did you mean 'open'\?",
    ),
    "a verb from nowhere": (
        lambda text: text.replace(
            'description="A mode that is tried.")', VERB % 'Verb("bid", "Bid.", stages=("opne",))'
        ),
        r"the verb 'bid' is done from the stage 'opne', which is not among `stages`\. Did you mean "
        r"'open'\?",
    ),
    "a schema of unknown words": (
        lambda text: text.replace(
            'description="A mode that is tried.")',
            VERB % 'Verb("bid", "Bid.", {"price": {"typ": "integer"}})',
        ),
        r"the verb 'bid': price: typ of JSON Schema is not known here\. Did you mean 'type'\?",
    ),
    "chance": (
        lambda text: (
            text.replace('"queued"})', '"queued", "n": next(NUMBERS)})')
            + "\n\nimport itertools\n\nNUMBERS = itertools.count()\n"
        ),
        r"answered the same question first with .* An answer may follow from what is asked alone\.",
    ),
    "a pick that there is not": (
        lambda text: text.replace("PutBack", "PushTo").replace(QUEUED, '(PushTo("round_robin"),)'),
        r"says PushTo\('round_robin'\)\. The picks are: in_turn, by_lot, by_priority, everyone\.",
    ),
    "a move that is misspelt": (
        lambda text: text + RELEASED + '(MoveTask("relase"), Enqueue())\n',
        r"says MoveTask\('relase'\)\. Did you mean 'release'\?",
    ),
    "a move of the engine's": (
        lambda text: text + RELEASED + '(MoveTask("assign"),)\n',
        r"says MoveTask\('assign'\), which is for the engine to make; Assign\(…\) gives a task",
    ),
    "a move from elsewhere": (
        lambda text: text + RELEASED + '(MoveTask("return"), Enqueue())\n',
        r"MoveTask\('return'\) of a task that is claimed\. From `claimed` it can: release, "
        r"hand_back, complete\.",
    ),
    "an answer left out": (
        lambda text: text.replace('return Selection(shelf="queue")', 'Selection(shelf="queue")'),
        r"select\(\): answered None, which leaves the answer to plugins/defaults\.py",
    ),
    "work that nobody gets": (
        lambda text: text.replace('shelf="queue"', 'shelf="none"'),
        r"No worker ever got a task to do",
    ),
}


LOTTERY = (FIXTURES / "lottery_mode" / "muster_lottery.py").read_text()
GONE = 'tuple(one for one in task.memo["entered"] if one not in gone)'
EVERYBODY = 'tuple(task.memo["entered"])'
FROM_THE_WINNER = '(skip, *_draw_again(task, "release"))'
TO_ANOTHER = """(skip, *_draw_again(task, "release"), AssignByLot(
            tuple(one for one in task.memo.get("entered", ()) if one != mailbox_id) or (mailbox_id,)
        ))"""

# The same of the lottery, whose tasks are somebody's only after a verb and a bell.
BROKEN_LOTTERY: dict[str, tuple[Callable[[str], str], str]] = {
    "a bell that gives the task to who has left": (
        lambda text: text.replace(GONE, EVERYBODY).replace(
            "(AssignByLot(among),)", "(Assign(among[0]),)"
        ),
        r"^- rang\(\) gave the task to worker 1, who has left; `gone` names him\.\n"
        r"(?s:.*)worker 1 leaves the gig\n",
    ),
    "a lot among nobody who is there": (
        lambda text: text.replace(GONE, EVERYBODY),
        r"^- rang\(\) gave the task to worker \d.*, who has left; `gone` names him",
    ),
    "a task passed on to who has left": (
        lambda text: text.replace(FROM_THE_WINNER, TO_ANOTHER),
        r"^- declined\(\) gave the task to worker \d(, worker \d)?, who has left; `gone` names him",
    ),
    "a task for its owner that waits for a bell": (
        lambda text: text.replace("MoveTask(move),\n        Enqueue(),", "PutBack(),"),
        r"is unassigned and has a bell, to which rang\(\) answers nothing, so it waits for good\. "
        r"PutBack\(\) sends what an Assign of the mode gave to its owner",
    ),
    "a task that no worker can see": (
        lambda text: text.replace("(Enqueue(), *_open", "(*_open"),
        r"waits for the verb 'enter', and no worker can see it: Enqueue\(\) lists it",
    ),
    "a plan that does not fit, with another question after it": (
        lambda text: text.replace("(AssignByLot(among),)", '(MoveTask("release"),)'),
        r"^- rang\(\) \(tried\.py, line \d+\) says MoveTask\('release'\) of a task that is "
        r"queued\. From `queued` it can: hand_back, drop\. It answered \(MoveTask",
    ),
    "somebody else's task, as soon as it is his": (
        lambda text: text.replace(
            "(Stage(DRAWN), Ring(None))", "(Stage(DRAWN), Assign(task.mailbox_id))"
        ),
        r"^- placed\(\) \(tried\.py, line \d+\) says Assign\(.*\); it is somebody's now",
    ),
}


@pytest.mark.parametrize("what", BROKEN_LOTTERY)
def test_a_broken_lottery_is_told_what_to_mend(what: str, tmp_path: Path) -> None:
    change, sentence = BROKEN_LOTTERY[what]
    text = change(LOTTERY)
    assert text != LOTTERY
    text = text.replace("    AssignByLot,\n", "    Assign,\n    AssignByLot,\n    PutBack,\n")
    suite: Any = type("TestTried", (ModeSuite,), {"mode": written(tmp_path, text)})()
    test = suite.test_its_tasks_live_and_none_is_lost
    found = failure_of(test, name="lottery", tmp_path=tmp_path)
    assert re.search(sentence, found), found


@pytest.mark.parametrize("what", ["a question that is none", "a released task that stays"])
def test_one_fault_is_told_once(what: str, tmp_path: Path) -> None:
    change, sentence = BROKEN[what]
    found = told(written(tmp_path, change(SOUND)), tmp_path)
    assert len(re.findall(sentence, found)) == 1


def told(mode: ModuleType, folder: Path) -> str:
    """What the suite says of a mode: by asking it, and where that is well, by playing."""
    suite: Any = type("TestTried", (ModeSuite,), {"mode": mode})()
    tests = [
        one for name, one in inspect.getmembers(suite, inspect.ismethod) if name[:5] == "test_"
    ]
    plays = [one for one in tests if "name" in inspect.signature(one).parameters]
    found = [failure_of(one) for one in tests if one not in plays]
    if not any(found):
        found = [failure_of(one, name="tried", tmp_path=place(folder, one)) for one in plays]
    return "\n".join(one for one in found if one)


def failure_of(test: Callable[..., None], **given: Any) -> str:
    try:
        test(**given)
    except pytest.fail.Exception as failure:
        return str(failure)
    return ""


def place(folder: Path, test: Any) -> Path:
    made: Path = folder / test.__name__
    made.mkdir()
    return made


def written(folder: Path, text: str) -> ModuleType:
    path = folder / "tried.py"
    path.write_text(text)
    return load(path)


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_mode_is_told_what_to_mend(what: str, tmp_path: Path) -> None:
    change, sentence = BROKEN[what]
    text = change(SOUND)
    assert text != SOUND
    mode = written(tmp_path, text)
    found = told(mode, tmp_path)
    assert re.search(sentence, found), found


def test_the_sound_mode_keeps_it(tmp_path: Path) -> None:
    assert told(written(tmp_path, SOUND), tmp_path) == ""
