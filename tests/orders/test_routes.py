"""Who may do what in a shop, route by route: what changes hands there, and what does not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from engine import clock, proofs
from tests.shop import Shop, shop
from tests.world import Person, World

CALLERS = ("nobody", "stranger", "member", "vendor", "buyer")
SHOP = {"title": "Mine", "distribution": "inbound_order", "list_price": 0}
TASK, PROOF = "/gigs/{gig}/tasks", "/gigs/{gig}/proofs"
POLICY = {"policy": "public"}
# Method, path and body, and the status for each of these callers in turn.
ROUTES: list[tuple[str, str, Any, str]] = [
    ("POST", "/gigs", SHOP, "401 201 201 201 201"),
    ("GET", "/gigs", None, "410 410 410 410 410"),
    # By invite: nobody is told that it exists.
    ("GET", "/gigs/{gig}", None, "404 403 200 200 200"),
    ("PATCH", "/gigs/{gig}", {"list_price": 0}, "401 403 403 200 403"),
    # The token opens the door, and the key says who comes in.
    ("POST", "{door}", {"order": "a haiku"}, "401 403 200 409 200"),
    ("GET", "/gigs/{gig}/drafts", None, "401 403 200 200 200"),
    ("PATCH", TASK + "/{draft}/comments-policy", POLICY, "401 403 404 403 200"),
    ("GET", "/public/order?{link}", None, "200 200 200 200 200"),
    ("PATCH", TASK + "/{draft}/payload", {"payload": "two"}, "401 403 404 403 200"),
    ("PATCH", TASK + "/{draft}/private-details", {"private_details": "x"}, "401 403 404 403 200"),
    ("POST", TASK + "/{draft}/publish", None, "401 403 404 403 200"),
    ("GET", "/orders", None, "401 200 200 200 200"),
    ("GET", PROOF, None, "401 403 200 200 200"),
    ("GET", PROOF + "/{proof}", None, "401 403 404 200 200"),
    ("PATCH", PROOF + "/{proof}", {"action": "approve"}, "401 403 404 403 200"),
    ("POST", PROOF + "/{proof}/report", {"reason": "Not it."}, "401 403 404 409 409"),
    ("POST", PROOF + "/{timed}/report", {"reason": "Not it."}, "401 403 404 200 200"),
    # There is nothing to settle here; who may not is told that first.
    ("POST", "/gigs/{gig}/rollups", None, "401 403 403 409 409"),
    ("POST", TASK + "/{sent}/withdraw", None, "401 403 403 200 200"),
    ("GET", "/gigs/{gig}/deposits", None, "401 403 403 200 403"),
]


@dataclass
class Scene:
    """A shop in which a buyer has ordered; what a path names is made when it is asked for."""

    place: Shop
    buyer: Person

    def path(self, template: str) -> str:
        if "{timed}" in template:
            # One for each who asks: it is disputed once.
            return template.format(gig=self.place.gig.id, timed=self.timed())
        names = ("draft", "sent", "proof", "link", "door")
        made = {name: getattr(self, name) for name in names if f"{{{name}}}" in template}
        return template.format(gig=self.place.gig.id, **made)

    @property
    def door(self) -> str:
        return f"/inbound/webhook/{self.place.gig.id}?token={self.place.gig.token}&draft=true"

    @cached_property
    def draft(self) -> str:
        return self.place.draft(self.buyer)

    @cached_property
    def sent(self) -> str:
        return self.place.order(self.buyer)

    @cached_property
    def proof(self) -> str:
        return self.place.deliver(self.place.order(self.buyer))

    @cached_property
    def link(self) -> str:
        policy = f"{self.place.path}/tasks/{self.draft}/comments-policy"
        token = self.buyer.patch(policy, POLICY)["public_token"]
        return f"gig={self.place.gig.id}&task={self.draft}&token={token}"

    def timed(self) -> str:
        proof_id = self.place.deliver(self.place.order(self.buyer))
        clock.advance(3600)
        assert proofs.time_out() == 1
        return proof_id


@pytest.mark.rule("O-03")
@pytest.mark.rule("O-08")
@pytest.mark.parametrize(("method", "template", "body", "statuses"), ROUTES)
def test_a_route_is_open_to_whom_it_belongs(
    world: World, method: str, template: str, body: Any, statuses: str
) -> None:
    place = shop(world, review_timeout=3600)
    scene = Scene(place, place.buyer())
    place.order(scene.buyer)
    people: tuple[World | Person, ...] = (
        world,
        world.person(),
        place.buyer(),
        place.vendor,
        scene.buyer,
    )
    told = [one.call(method, scene.path(template), body).status for one in people]
    assert " ".join(map(str, told)) == statuses, ", ".join(CALLERS)
