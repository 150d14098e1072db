"""A link to one task, and those who open it (C-01)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.db import db
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from tests.world import Answer, Gig, Person, World

SOLO = {"distribution": "queue_solo"}
ONE = {**SOLO, "max_claims_per_task": 1}


@dataclass
class Link:
    """A gig, a worker who opens the link of a task in it, and a colleague of his."""

    world: World
    gig: Gig
    worker: Person
    colleague: Person
    task_id: str
    opener: Person = field(init=False)

    def __post_init__(self) -> None:
        self.opener = self.worker

    @classmethod
    def of(cls, world: World, *, query: dict[str, Any] | None = None, **fields: Any) -> Link:
        gig = world.gig(**fields)
        worker, colleague = world.worker(gig), world.worker(gig)
        return cls(world, gig, worker, colleague, world.task(gig, **(query or {})))

    @property
    def path(self) -> str:
        return f"{self.gig.path}/queue/{self.task_id}/claim"

    def open(self, who: Person | None = None, **body: Any) -> Answer:
        return (who or self.opener).call("POST", self.path, body)

    def set(self, **values: Any) -> None:
        """As no route brings it about, or only by a long way."""
        db.write(lambda: Task.update(**values).where(Task.id == self.task_id).execute())

    def take(self, who: Person) -> str:
        task_id: str = self.open(who).ok()["task"]["id"]
        return task_id

    def prove(self, who: Person, task_id: str | None = None) -> str:
        body = {"task_identifier": task_id or self.task_id}
        proof_id: str = who.post(f"{self.gig.path}/proofs", body)["proof"]["id"]
        return proof_id

    def owner_sets(self, what: str, body: dict[str, Any], method: str = "PATCH") -> None:
        path = f"{self.gig.path}/tasks/{self.task_id}/{what}"
        self.gig.owner.call(method, path, body).ok()

    def reserve_for(self, who: Person) -> None:
        self.owner_sets("availability", {"availability": "reserved", "reserved_for": place(who)})

    def assign_to(self, who: Person) -> None:
        self.owner_sets("assign", {"assign_to": place(who)}, "POST")

    def shut(self, who: Person) -> None:
        path = f"{self.gig.path}/mailboxes/{place(who)}"
        self.gig.owner.patch(path, {"status": "inactive"})

    def limit(self, who: Person, **limits: Any) -> None:
        db.write(lambda: Mailbox.update(**limits).where(Mailbox.id == place(who)).execute())


def place(who: Person) -> str:
    mailbox_id: str = who.mailbox["id"]  # type: ignore[attr-defined]
    return mailbox_id
