"""What people do in a solo gig."""

from __future__ import annotations

from typing import Any

from tests.world import Gig, Person

SOLO = "queue_solo"


def poll(gig: Gig, worker: Person, count: int = 20, **body: Any) -> list[Any]:
    tasks: list[Any] = worker.post(f"{gig.path}/queue/poll", {"count": count, **body})["tasks"]
    return tasks


def sources(tasks: list[Any]) -> list[str]:
    return [task["source_task_id"] for task in tasks]


def prove(gig: Gig, worker: Person, task_id: str) -> str:
    proof_id: str = worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]["id"]
    return proof_id


def review(gig: Gig, proof_id: str, **verdict: Any) -> Any:
    return gig.owner.patch(f"{gig.path}/proofs/{proof_id}", verdict)


def decline(gig: Gig, worker: Person, task_id: str) -> None:
    worker.post(f"{gig.path}/queue/{task_id}/decline", {})


def second_place(gig: Gig, worker: Person) -> str:
    body = {"new": True, "invite": gig.invite}
    mailbox_id: str = worker.post(f"{gig.path}/mailboxes", body)["mailbox"]["id"]
    return mailbox_id
