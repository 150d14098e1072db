"""A closed gig: nothing new, and work in hand goes on (G-08)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.scene import all_hold
from tests.world import World


@pytest.mark.rule("G-08")
@pytest.mark.parametrize("distribution", ["queue", "queue_solo"])
def test_a_closed_gig_takes_and_hands_out_nothing_new_and_work_in_hand_goes_on(
    world: World, distribution: str
) -> None:
    gig = world.gig(distribution=distribution, task_timeout=600, requires_approval=False)
    worker, other = world.worker(gig), world.worker(gig)
    newcomer = world.person()
    for _ in range(6):
        world.task(gig)
    held = [task["id"] for task in worker.post(f"{gig.path}/queue/poll", {"count": 5})["tasks"]]
    proven = [
        worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]["id"]
        for task_id in held[:2]
    ]
    waits = gig.owner.get(f"{gig.path}/queue?limit=200")["tasks"][-1]["id"]
    draft = world.task(gig, draft="true")
    reserved = world.task(
        gig,
        availability="reserved",
        reserved_for=other.mailbox["id"],  # type: ignore[attr-defined]
    )

    gig.owner.call("DELETE", gig.path).ok()

    world.send(gig).refused(409, "gig_closed")
    invite = {"invite": gig.invite}
    new: list[tuple[Any, str, str, dict[str, Any]]] = [
        (worker, "POST", "queue/poll", {}),
        (other, "POST", "queue/poll", {"count": 20}),
        (other, "POST", f"queue/{waits}/claim", {}),
        (other, "POST", f"queue/{reserved}/claim", {}),
        (other, "POST", "proofs", {"task_identifier": reserved}),
        (gig.owner, "POST", f"tasks/{draft}/publish", {}),
        (newcomer, "POST", "mailboxes", invite),
        (worker, "POST", "mailboxes", {**invite, "new": True}),
    ]
    if distribution == "queue":
        new.append((other, "POST", "proofs", {"task_identifier": waits}))

    def refused(row: tuple[Any, str, str, dict[str, Any]]) -> None:
        person, method, path, body = row
        person.call(method, f"{gig.path}/{path}", body).refused(409, "gig_closed")

    all_hold(new, refused)

    goes_on: list[tuple[Any, str, str, dict[str, Any]]] = [
        (worker, "POST", f"tasks/{held[2]}/heartbeat", {}),
        (worker, "POST", "proofs", {"task_identifier": held[2]}),
        (worker, "POST", f"queue/{held[3]}/decline", {}),
        (gig.owner, "PATCH", f"proofs/{proven[0]}", {"action": "approve"}),
        (gig.owner, "PATCH", f"proofs/{proven[1]}", {"action": "reject"}),
        (gig.owner, "POST", f"tasks/{held[4]}/recycle", {}),
        (gig.owner, "PATCH", f"tasks/{waits}/priority", {"priority": 3}),
        (gig.owner, "DELETE", f"tasks/{waits}", {}),
        (worker, "POST", "mailboxes", invite),
        (gig.owner, "POST", "invites", {}),
        (gig.owner, "PATCH", "", {"title": "Closed"}),
        (worker, "GET", "", None),
        (worker, "GET", "queue", None),
        (worker, "GET", "proofs", None),
        (worker, "GET", "events", None),
        (worker, "GET", f"tasks/{held[0]}", None),
        (gig.owner, "GET", "dashboard", None),
        (gig.owner, "GET", "mailboxes", None),
    ]

    def works(row: tuple[Any, str, str, dict[str, Any]]) -> None:
        person, method, path, body = row
        person.call(method, f"{gig.path}/{path}".rstrip("/"), body).ok()

    all_hold(goes_on, works)

    # What went back waits, and is taken once the gig is open again.
    assert not any(row["poll_in_gig"] for row in other.get("/work/available")["mailboxes"])
    gig.owner.patch(gig.path, {"status": "active"})
    assert other.get("/work/available")["mailboxes"][0]["poll_in_gig"] is True
    assert other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    leave = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    gig.owner.call("DELETE", gig.path).ok()
    worker.call("DELETE", leave).ok()
    worker.call("POST", f"{gig.path}/mailboxes", invite).refused(409, "gig_closed")
