"""What tests of tasks in hand ask and do again and again."""

from __future__ import annotations

from typing import Any

from tests.world import Answer, Gig, Person

TIMEOUT = 60


def poll(gig: Gig, worker: Person, count: int = 20) -> list[str]:
    """The ids of what the worker is handed."""
    return [one["id"] for one in worker.post(f"{gig.path}/queue/poll", {"count": count})["tasks"]]


def claim(gig: Gig, worker: Person) -> str:
    """The one task that waits, in this worker's hands."""
    (task_id,) = poll(gig, worker)
    return task_id


def act(gig: Gig, person: Person, task_id: str, what: str, body: Any = None) -> Answer:
    """One of the calls about a task in hand, as it is answered."""
    if what == "proof":
        return person.call("POST", f"{gig.path}/proofs", {"task_identifier": task_id})
    if what == "violation":
        body = {"violation": "It asks for what is forbidden.", **(body or {})}
    place = "queue" if what in ("decline", "violation") else "tasks"
    return person.call("POST", f"{gig.path}/{place}/{task_id}/{what}", body)


def told(gig: Gig, *kinds: str) -> list[dict[str, Any]]:
    """The gig's events of these kinds, as its owner reads them."""
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        page = gig.owner.get(f"{gig.path}/events?limit=200&after={after}")
        found += page["events"]
        if not page["events"]:
            return [event for event in found if event["type"] in kinds]
        after = page["next_after"]


def mailbox_id(worker: Person) -> str:
    found: str = worker.mailbox["id"]  # type: ignore[attr-defined]
    return found


def task_of(gig: Gig, task_id: str) -> dict[str, Any]:
    """The task as its owner reads it."""
    found: dict[str, Any] = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    return found


def assign(gig: Gig, worker: Person, task_id: str) -> None:
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", {"assign_to": mailbox_id(worker)})


def reserve(gig: Gig, worker: Person, task_id: str) -> None:
    body = {"availability": "reserved", "reserved_for": mailbox_id(worker)}
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/availability", body)
