"""People who talk about a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.world import Answer, Gig, Person, World

EVERYBODY = {"owner", "holder", "member", "other"}
# What a comment replies to: who said it first, to whom if not to all, in reply to what.
PARENTS: dict[str, tuple[str, bool, str | None]] = {
    "owner's": ("owner", False, None),
    "holder's": ("holder", False, None),
    "member's": ("member", False, None),
    "member→owner": ("member", True, None),
    "owner→holder": ("owner", True, None),
    "member→holder": ("member", True, "holder's"),
}


@dataclass
class Talk:
    """A task in `holder`'s hands; `member` and `other` are two more workers of the gig."""

    world: World
    gig: Gig
    task_id: str
    people: dict[str, Person]

    @classmethod
    def of(cls, world: World, policy: str | None = None, **fields: Any) -> Talk:
        gig = world.gig(**fields)
        people = {"owner": gig.owner}
        for name in ("holder", "member", "other"):
            people[name] = world.worker(gig, name=f"the {name}")
        gig.owner.patch("/auth/me", {"display_name": "the owner"})
        task_id = world.task(gig, subject="Birds")
        people["holder"].post(f"{gig.path}/queue/poll", {"count": 1})
        made = cls(world, gig, task_id, people)
        if policy is not None:
            made.set(policy)
        return made

    @property
    def path(self) -> str:
        return f"{self.gig.path}/tasks/{self.task_id}/comments"

    def set(self, policy: str | None) -> Any:
        return self.gig.owner.patch(f"{self.path}-policy", {"policy": policy})

    def call(self, who: str, text: str = "Hello.", **more: Any) -> Answer:
        return self.people[who].call("POST", self.path, {"body": text, **more})

    def say(self, who: str, text: str = "Hello.", **more: Any) -> Any:
        return self.call(who, text, **more).ok()["comment"]

    def read(self, who: str) -> Any:
        return self.people[who].get(f"{self.path}?limit=200")

    def ids(self, who: str) -> list[str]:
        return [one["id"] for one in self.read(who)["comments"]]

    def delete(self, who: str, comment_id: str) -> Answer:
        return self.people[who].call("DELETE", f"{self.path}/{comment_id}")

    def close(self, who: str) -> Person:
        """The owner closes somebody's mailbox."""
        person = self.people[who]
        mailbox = f"{self.gig.path}/mailboxes/{person.mailbox['id']}"  # type: ignore[attr-defined]
        self.gig.owner.patch(mailbox, {"status": "inactive"})
        return person

    def parents(self) -> dict[str | None, str | None]:
        """One comment of each kind in `PARENTS`, by its name; None stands for no parent."""
        self.set("public")
        made: dict[str | None, str | None] = {None: None}
        for name, (author, private, parent) in PARENTS.items():
            said = self.say(author, name, private=private, parent_id=made[parent])
            made[name] = said["id"]
        return made
