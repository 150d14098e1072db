"""A shop and its people, as tests want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.world import Answer, Gig, Person, World


@dataclass
class Shop:
    """An order machine: its vendor, the place in which orders land, and how to buy in it."""

    world: World
    gig: Gig
    mailbox_id: str

    @property
    def path(self) -> str:
        return self.gig.path

    @property
    def vendor(self) -> Person:
        return self.gig.owner

    def buyer(self, dollars: int | None = None) -> Person:
        """A member; with `dollars` he has a hot wallet with that much, `buyer.wallet_id`."""
        person = self.world.worker(self.gig, self.world.person("buyer"))
        if dollars is not None:
            person.wallet_id = self.world.funded_wallet(person, dollars)  # type: ignore[attr-defined]
        return person

    def save(self, buyer: Person, payload: str = "one haiku", **query: Any) -> Answer:
        """Save a draft order, with the shop's token and the buyer's key."""
        query = {"draft": "true", **query}
        path = f"/inbound/webhook/{self.gig.id}?token={self.gig.token}"
        path += "".join(f"&{name}={value}" for name, value in query.items())
        return buyer.call(
            "POST", path, raw=payload.encode(), headers={"content-type": "text/plain"}
        )

    def draft(self, buyer: Person, payload: str = "one haiku", **query: Any) -> str:
        message_id: str = self.save(buyer, payload, **query).ok()["message_id"]
        return message_id

    def publish(self, buyer: Person, task_id: str, **body: Any) -> Answer:
        wallet = getattr(buyer, "wallet_id", None)
        given = {} if wallet is None else {"wallet_alias_id": wallet}
        return buyer.call("POST", f"{self.path}/tasks/{task_id}/publish", {**given, **body} or None)

    def order(self, buyer: Person, payload: str = "one haiku", **body: Any) -> str:
        """An order that has been sent; answers its id."""
        task_id = self.draft(buyer, payload)
        self.publish(buyer, task_id, **body).ok()
        return task_id

    def deliver(self, task_id: str, note: str = "", **fields: Any) -> str:
        body = {"task_identifier": task_id, "proofs": ["a preview"], "private_note": note, **fields}
        proof_id: str = self.vendor.post(f"{self.path}/proofs", body)["proof"]["id"]
        return proof_id

    def deliver_refused(self, task_id: str, reason: str) -> None:
        body = {"task_identifier": task_id, "proofs": ["late"]}
        self.vendor.call("POST", f"{self.path}/proofs", body).refused(409, reason)

    def withdraw(self, person: Person, task_id: str) -> Answer:
        return person.call("POST", f"{self.path}/tasks/{task_id}/withdraw")

    def rule(self, person: Person, proof_id: str, action: str = "approve", **more: Any) -> Answer:
        body = {"action": action, **more}
        return person.call("PATCH", f"{self.path}/proofs/{proof_id}", body)

    def task(self, person: Person, task_id: str) -> Any:
        return person.get(f"{self.path}/tasks/{task_id}")["task"]


def shop(
    world: World, list_price: str | int = 0, vendor: Person | None = None, **more: Any
) -> Shop:
    """Open a shop; by default one that takes no money."""
    vendor = vendor or world.person("vendor")
    body = {"title": "Haiku on demand", "distribution": "inbound_order", "list_price": list_price}
    made = vendor.post("/gigs", {**body, **more})
    view = made["gig"]
    gig = Gig(
        view["id"],
        vendor,
        view.get("invite_url", "=").rpartition("=")[2],
        view["webhook"].rpartition("=")[2],
        made["webhook_secret"],
    )
    return Shop(world, gig, made["vendor_mailbox_id"])
