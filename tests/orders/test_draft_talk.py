"""Who sees a draft order, and talks on it before it is paid for."""

from __future__ import annotations

import pytest

from tests.orders.test_talk import policy, say, talk_path
from tests.shop import shop
from tests.world import World

# Who → does he list, read, and talk on a draft order: its buyer, the vendor, another buyer of the
# shop, and whoever has the link that its buyer has made.
DRAFTS: list[tuple[str, bool, bool, bool]] = [
    ("buyer", True, True, True),
    ("vendor", True, True, True),
    ("other", False, False, False),
    ("link", False, True, False),
]


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-12")
@pytest.mark.parametrize(
    ("who", "lists", "reads", "writes"), DRAFTS, ids=[row[0] for row in DRAFTS]
)
def test_who_sees_a_draft_order_and_who_may_write_on_it(
    world: World, who: str, lists: bool, reads: bool, writes: bool
) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    # Each has one of his own, so that nobody is refused for being a mere member.
    task_id, own = place.draft(buyer), place.draft(other)
    say(place, place.vendor, task_id, "an offer")
    made = policy(place, buyer, task_id, "public").ok()["public_token"]
    people = {"buyer": buyer, "vendor": place.vendor, "other": other, "link": world}
    reader = people[who]
    link = f"/public/order?gig={place.gig.id}&task={task_id}&token={made}"
    path = link if who == "link" else f"{place.path}/tasks/{task_id}"
    found = reader.call("GET", f"{place.path}/drafts")
    if who == "link":
        found.refused(401)
    else:
        listed = [one["id"] for one in found.ok()["drafts"]]
        assert (task_id in listed) == lists and (own in listed) == (who in ("vendor", "other"))
    read = reader.call("GET", path)
    assert (read.status == 200 and "one haiku" in read.text) == reads
    assert read.status == (200 if reads else 404)
    talk = reader.call("GET", path if who == "link" else talk_path(place, task_id))
    assert ("an offer" in talk.text) == reads
    if who == "link":
        assert talk.json["can_post"] is False
    written = reader.call("POST", talk_path(place, task_id), {"body": "mine"})
    assert written.status == (201 if writes else 401 if who == "link" else 404)
    said = place.vendor.get(talk_path(place, task_id))["comments"]
    assert ("mine" in [one["body"] for one in said]) == writes
