"""Tasks that are sent while their gig ends, or its limits fall: what was answered first counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from engine import gigs
from engine.db import db
from tests.push.people import inbound, waiting
from tests.world import Answer, Gig, World

pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)
SECONDS = 20
ENDS: dict[str, Callable[[Gig], Any]] = {
    "cancelled": lambda gig: gig.owner.post(f"{gig.path}/cancel"),
    "closed": lambda gig: gig.owner.patch(gig.path, {"status": "closed"}),
}


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, do: Callable[[], Answer], other: Callable[[], Any]
) -> Answer:
    """What `do` answers when `other` is over between its first look at the gig and the rest."""
    looked, over = threading.Event(), threading.Event()
    get, found = gigs.get, list[Answer]()

    def slow(gig_id: str) -> Any:
        gig = get(gig_id)
        # Not the look for the names that its query may have, which is before.
        writing = threading.current_thread() is thread and db.transaction is not None
        if writing and not looked.is_set():
            looked.set()
            assert over.wait(SECONDS)
        return gig

    thread = threading.Thread(target=lambda: found.append(do()))
    monkeypatch.setattr(gigs, "get", slow)
    thread.start()
    assert looked.wait(SECONDS)
    other()
    over.set()
    thread.join(SECONDS)
    monkeypatch.undo()
    return found[0]


@pytest.mark.parametrize("how", ["pushed", "assigned", "published"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.rule("G-08", "U-01", "T-05")
def test_what_ended_first_hands_out_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, end: str, how: str
) -> None:
    gig = world.gig(distribution="queue" if how == "assigned" else "round_robin")
    worker = world.worker(gig)
    draft = world.send(gig, draft="true").json["message_id"]
    sends: dict[str, Callable[[], Answer]] = {
        "pushed": lambda: world.send(gig),
        "assigned": lambda: world.send(gig, assign_to=worker.mailbox["id"]),
        "published": lambda: gig.owner.call("POST", f"{gig.path}/tasks/{draft}/publish", {}),
    }
    answer = meanwhile(monkeypatch, sends[how], lambda: ENDS[end](gig))
    answer.refused(409, "gig_closed")
    assert inbound(worker) == []


@pytest.mark.rule("M-05")
def test_a_limit_that_was_lowered_first_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig(distribution="round_robin", default_max_open_tasks=2)
    worker = world.worker(gig)
    held = world.task(gig)
    answer = meanwhile(
        monkeypatch,
        lambda: world.send(gig),
        lambda: gig.owner.patch(gig.path, {"default_max_open_tasks": 1}),
    )
    assert answer.ok()["status"] == "waiting"
    assert inbound(worker) == [held]
    assert waiting(gig) == [answer.json["message_id"]]
