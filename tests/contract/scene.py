"""A gig with one of everything that a path can name, and the routes as the application has them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from engine.db import db
from engine.ids import new_token
from tests.shop import shop
from tests.uploads.files import File, described, stored
from tests.world import ADMIN_KEY, Gig, Person, World

# What a caller may be told with a 5xx: the install lacks something, and says what.
LACKING = {
    "chain_not_configured",
    "admin_key_not_configured",
    "no_faucet_key",
    "no_operator_key",
    "mail_not_configured",
}


@dataclass(frozen=True)
class Route:
    """One method of one path. The schemas are those that the route itself parses with."""

    method: str
    rule: str
    endpoint: str
    body: Any = None
    query: Any = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.rule}"

    @property
    def takes_payload(self) -> bool:
        return self.endpoint in ("inbound.submit", "inbound_email.take", "bulk.send", "uploads.put")


def routes(app: Flask) -> list[Route]:
    """Every route under /api that is ours."""
    found = []
    for rule in app.url_map.iter_rules():
        if not rule.rule.startswith("/api/") or rule.endpoint.startswith("api-docs."):
            continue
        told = getattr(app.view_functions[rule.endpoint], "_apidoc", {})
        schemas = {
            one["in"]: one["schema"] if not isinstance(one["schema"], type) else one["schema"]()
            for one in told.get("arguments", {}).get("parameters", [])
        }
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            found.append(
                Route(
                    method,
                    rule.rule.removeprefix("/api"),
                    rule.endpoint,
                    schemas.get("json"),
                    schemas.get("query"),
                )
            )
    return sorted(found, key=lambda route: (route.rule, route.method))


@dataclass
class Scene:
    """`queued` waits, `held` is the worker's, `proof` is his pending proof of a third task."""

    world: World
    gig: Gig
    worker: Person
    elsewhere: Gig
    other: Person
    stranger: Person
    ids: dict[str, str] = field(default_factory=dict)
    held: str = ""
    draft: str = ""
    proof_draft: str = ""
    share_token: str = ""
    # The query of an order's public link.
    order_link: str = ""
    # The owner's, named by the task that the worker holds.
    file: File = field(init=False)

    @classmethod
    def of(cls, world: World) -> Scene:
        # Nothing listens there, and nothing is sent.
        gig = world.gig(price="2.50", proof_webhook_url="http://127.0.0.1:9/")
        elsewhere = world.gig()
        worker, other = world.worker(gig), world.worker(elsewhere)
        made = cls(world, gig, worker, elsewhere, other, world.person("stranger"))
        world.task(gig, "proven")
        made.file = stored(gig.owner)
        made.held = world.task(gig, f"held {made.file.url}")
        made.draft = world.task(gig, "draft", draft="true")
        made.order_link = _shared_order(world)
        made.share_token = worker.get("/mailboxes/mine")["mailboxes"][0]["share_token"]
        first, _ = worker.post(f"{gig.path}/queue/poll", {"count": 2})["tasks"]
        proof = worker.post(f"{gig.path}/proofs", {"task_identifier": first["id"]})["proof"]
        drafted = {"task_identifier": world.task(gig, "drafted"), "draft": True}
        made.proof_draft = worker.post(f"{gig.path}/proofs", drafted)["proof"]["id"]
        (delivery,) = gig.owner.get("/deliveries")["deliveries"]
        made.ids = {
            "delivery_id": delivery["id"],
            "endpoint_id": delivery["endpoint_id"],
            "gig_id": gig.id,
            "task_id": world.task(gig, "queued"),
            "proof_id": proof["id"],
            "mailbox_id": worker.mailbox["id"],  # type: ignore[attr-defined]
            "wallet_id": gig.owner.post("/wallets")["wallet"]["id"],
            "command_id": "CMD_01JZZZZZZZZZZZZZZZZZZZZZZZ",
            "token": gig.invite,
            "key_id": gig.owner.post("/auth/keys")["id"],
            "wallet": "0x" + "1" * 40,
            "verb": "begin",
            "key": made.file.key,
        }
        # The owner is a worker himself, to whom something is routed.
        planned = world.gig(distribution="incoming", price="0")
        world.worker(planned, gig.owner)
        world.task(planned, subject="Planned")
        (item,) = gig.owner.get("/v1/incoming")
        made.ids["number"] = str(item["id"])
        said = {"body": "A word for the owner."}
        told = worker.post(f"{gig.path}/tasks/{made.ids['task_id']}/comments", said)
        made.ids["comment_id"] = told["comment"]["id"]
        return made

    @property
    def owner(self) -> Person:
        return self.gig.owner

    def path(self, route: Route, **instead: str) -> str:
        """The route's path with ids that exist, or those given; the token that it may need."""
        path = route.rule
        unknown = set(re.findall("<([^>]+)>", path)) - set(self.ids)
        assert not unknown, f"{route.name}: say in Scene.ids what {unknown} is"
        # These take a task that is none yet.
        own = {"task_id": self.draft} if route.endpoint.startswith("drafts.") else {}
        # And these a proof that is not handed in yet.
        if route.endpoint in ("proofs.edit", "proofs.submit", "proofs.delete"):
            own = {"proof_id": self.proof_draft}
        for name in self.ids:
            path = path.replace(f"<{name}>", {**self.ids, **own, **instead}[name])
        query = {
            "inbound.submit": f"?token={self.gig.token}",
            "public.invite_info": f"?token={self.gig.invite}",
            "public.mailbox_info": f"?token={self.share_token}",
            "public.task": f"?token={self.share_token}&task={self.held}",
            "public.order": self.order_link,
            "uploads.put": f"?{self.file.put_path.partition('?')[2]}",
            "uploads.read_by_link": f"?token={self.share_token}&key={self.file.key}",
        }
        if route.endpoint == "uploads.fetch":
            return f"{path}?{self.file.fetch_query}"
        return path + query.get(route.endpoint, "")

    def body(self, route: Route) -> dict[str, Any] | None:
        """A body that the route takes."""
        if route.body is None:
            return None
        link = {"share_token": self.share_token}
        return {
            "gigs.create": {"title": "Another gig"},
            "install.provision": {"email": "new@example.com"},
            # An address of its own for each: what is sent to one is limited.
            "access.send_code": {"email": f"{new_token()}@example.com"},
            "access.verify_code": {"email": "new@example.com", "code": "000000"},
            "order_undoing.resolve": {"verdict": "pay", "reason": "Both were heard."},
            "proofs.hand_in": {"task_identifier": self.held},
            "proofs.edit": {"tags": ["new"]},
            "holding.report": {"violation": "Spam."},
            "reviews.review": {"action": "approve"},
            "reviews.bulk_review": {
                "reviews": [{"proof_id": self.ids["proof_id"], "action": "approve"}]
            },
            "reviews.change_tags": {"tags": ["new"]},
            "reviews.give_alias": {"alias": "mine"},
            "funds.deposit": {"wallet_alias_id": self.ids["wallet_id"], "amount": "1"},
            "wallets.verify": {"signature": "0x" + "0" * 130},
            "wallets.transfer": {"to_address": "0x" + "1" * 40, "amount": "1"},
            "deliveries.replay": {
                "endpoint_id": self.ids["endpoint_id"],
                "since": "2026-01-01T00:00:00Z",
            },
            "changes.priority": {"priority": 5},
            "changes.price": {"price": "2.50"},
            "changes.tags": {"tags": ["new"]},
            "changes.private_details": {"private_details": "the brief"},
            "changes.change_availability": {"availability": "open"},
            "changes.assign": {"assign_to": self.ids["mailbox_id"]},
            "changes.priorities": {"updates": [{"id": self.ids["task_id"], "priority": 6}]},
            "changes.prices": {"updates": [{"id": self.ids["task_id"], "price": "tbd"}]},
            "changes.tags_of_many": {"updates": [{"id": self.ids["task_id"], "tags": []}]},
            "tasks.give_alias": {"alias": "mine"},
            "desk_incoming.plan": {"plannedStart": "2026-10-19T14:00:00"},
            "desk_incoming.complete": {"response": "Done."},
            "desk_incoming.reassign": {"assigneeId": 9},
            "comments.post": {"body": "Hello.", "parent_id": self.ids["comment_id"]},
            "comments.set_policy": {"policy": "public"},
            "drafts.rewrite": {"payload": "rewritten"},
            "order_quotes.quote": {"amount": "1", "wallet_address": "0x" + "1" * 40},
            "public.submit_proof": {**link, "task_identifier": self.held},
            "public.decline": {**link, "task": self.ids["task_id"]},
            "public.report": {**link, "task": self.ids["task_id"], "violation": "Spam."},
            "uploads.presign": described(),
            "uploads.presign_by_link": {**link, **described()},
            "dev.advance": {"seconds": 0},
            "dev.faucet": {"address": "0x" + "1" * 40},
        }.get(route.endpoint, {})

    def caller_of(self, route: Route) -> Person:
        """Somebody who is allowed to call it."""
        mine = ("queues.poll", "proofs.hand_in", "mailboxes.join", "mailboxes.update")
        mine += ("holding.decline", "holding.report", "holding.heartbeat")
        mine += ("offers.accept", "offers.reject")
        mine += ("deliveries.rotate_of_mailbox", "mailboxes.inbound", "mailboxes.leave")
        mine += ("proofs.edit", "proofs.submit", "proofs.withdraw", "proofs.delete")
        mine += ("claim_links.claim", "share_links.regenerate")
        return self.worker if route.endpoint in mine else self.owner

    def headers(self, route: Route, person: Person | None = None) -> dict[str, str]:
        if route.endpoint in ("install.provision", "order_undoing.resolve"):
            return {"x-admin-key": ADMIN_KEY}
        key = {"x-api-key": (person or self.caller_of(route)).key}
        if route.rule.startswith("/v1/incoming/"):
            # Nothing is done there without these.
            key |= {"if-match": "*", "idempotency-key": new_token()}
        return key


def _shared_order(world: World) -> str:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    path = f"{place.path}/tasks/{task_id}/comments-policy"
    token = buyer.patch(path, {"policy": "public"})["public_token"]
    return f"?gig={place.gig.id}&task={task_id}&token={token}"


def everything() -> dict[str, str]:
    """A digest of every table: equal before and after what must change nothing."""
    with db.reading():
        tables = sorted(db.database.get_tables())
        rows = {name: db.rows(f'SELECT * FROM "{name}"') for name in tables}
    return {
        name: hashlib.sha256("\n".join(sorted(map(repr, found))).encode()).hexdigest()
        for name, found in rows.items()
    }


def all_hold(rows: Iterable[Any], check: Callable[[Any], Any]) -> None:
    """Run the check for each row of a table, and fail with all rows that it does not hold for."""
    failed = []
    for row in rows:
        try:
            check(row)
        except AssertionError as error:
            failed.append(f"{str(row)[:200]}\n    {str(error)[:600]}")
    assert not failed, f"{len(failed)} rows:\n" + "\n".join(failed)
