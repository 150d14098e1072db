"""A mode from a separate package runs a task with no edit here."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import modes
from plugins import defaults
from tests.modes.packages import install
from tests.world import World


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built and installed by pip into a folder of its own."""
    return install("outside_mode", tmp_path_factory.mktemp("outside"))


@pytest.mark.rule("G-03")
def test_a_mode_of_another_package_hands_out_a_task(
    world: World, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    modes.load(defaults)

    listed = world.call("GET", "/modes").ok()["modes"]
    assert "hurry" in [mode["name"] for mode in listed]

    gig = world.gig(distribution="hurry", join_policy="open")
    worker = world.worker(gig)
    task_id = world.task(gig, "work", priority=7)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 5})["tasks"]
    assert task["id"] == task_id
    refusal = worker.call("POST", f"{gig.path}/queue/{task_id}/decline", {}).refused(409, "hurry")
    assert "Hand in what you have" in refusal["error"]
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
    body = {"action": "reject", "rejection_tag": "incomplete"}
    answer = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", body)
    assert (answer["status"], answer["requeued"]) == ("rejected", True)


@pytest.mark.rule("G-03")
def test_a_gig_of_an_unknown_mode_is_refused_with_the_names_of_those_that_exist(
    world: World,
) -> None:
    owner = world.person()
    body = {"title": "t", "distribution": "telepathy"}
    refusal = owner.call("POST", "/gigs", body).refused(400, "unknown_mode")
    assert "queue" in refusal["errors"]["distribution"]
