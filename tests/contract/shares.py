"""Whoever has the share link of a worker's mailbox, and no key (R-07)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from engine.db import db
from engine.models.event import Event
from engine.models.proof import Proof
from tests.contract.links import place
from tests.world import Answer, Gig, Person, World


@dataclass
class Share:
    """What the link of one mailbox is asked."""

    world: World
    token: str

    @classmethod
    def of(cls, worker: Person) -> Share:
        """The link of the place that the worker has joined last."""
        return cls(worker.world, token_of(worker))

    def info(self) -> Answer:
        return self.world.call("GET", f"/public/mailbox-info?token={quote(self.token)}")

    def task(self, task_id: str) -> Answer:
        return self.world.call("GET", f"/public/task?token={quote(self.token)}&task={task_id}")

    def prove(self, task_id: str, key: str | None = None, **more: Any) -> Answer:
        return self._post("submit-proof", key, task_identifier=task_id, **more)

    def decline(self, task_id: str, key: str | None = None) -> Answer:
        return self._post("task/decline", key, task=task_id)

    def report(self, task_id: str, key: str | None = None) -> Answer:
        return self._post("task/violation", key, task=task_id, violation="Spam.")

    def all(self, task_id: str) -> list[Answer]:
        """Each of its routes once."""
        read = [self.info(), self.task(task_id)]
        return [*read, self.prove(task_id), self.decline(task_id), self.report(task_id)]

    def _post(self, path: str, key: str | None, **body: Any) -> Answer:
        headers = {} if key is None else {"idempotency-key": key}
        told = {"share_token": self.token, **body}
        return self.world.call("POST", f"/public/{path}", told, headers=headers)


def token_of(worker: Person) -> str:
    (mine,) = [
        one for one in worker.get("/mailboxes/mine")["mailboxes"] if one["id"] == place(worker)
    ]
    token: str = mine["share_token"]
    return token


def regenerate(gig: Gig, worker: Person, **headers: str) -> Answer:
    path = f"{gig.path}/mailboxes/{place(worker)}/regenerate-token"
    return worker.call("POST", path, headers=headers)


def proofs_of(task_id: str) -> list[Proof]:
    with db.reading():
        return list(Proof.select().where(Proof.task_id == task_id))


def events_of(kind: str) -> list[Event]:
    with db.reading():
        return list(Event.select().where(Event.type == kind))
