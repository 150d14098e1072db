"""Nobody stands on a page without a next step: those who came by a link that is not for them."""

from __future__ import annotations

import pytest

from tests.contract.test_link_pages import Page
from tests.shop import shop
from tests.world import World
from web import fund_views


@pytest.mark.rule("G-05")
def test_the_owner_of_a_gig_is_not_sent_to_himself_for_an_invite(world: World) -> None:
    gig = world.gig(title="Cats", terms="Be kind.")
    page = Page(world, f"/join/{gig.id}", gig.owner)
    assert page.status == 200 and page.notice.startswith("This gig is yours.")
    for told in ("Cats", "Be kind.", "<code>invite_url</code>"):
        assert told in page.main
    assert page.tags.of("form") == []
    # His own invite lets him in like anybody.
    page = Page(world, f"/join/{gig.id}?invite={gig.invite}", gig.owner)
    assert page.notice.startswith("This gig is yours.")
    assert page.posts()["path"] == f"/api{gig.path}/mailboxes"
    gig.owner.patch(gig.path, {"status": "closed"})
    page = Page(world, f"/join/{gig.id}?invite={gig.invite}", gig.owner)
    assert page.tags.of("form") == [] and "This gig is closed." in page.main


@pytest.mark.rule("O-01")
def test_a_vendor_delivers_what_was_sent_and_reads_what_was_not(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer, "one haiku")
    path = f"/task/{place.gig.id}/{task_id}"
    page = Page(world, path, place.vendor)
    assert "one haiku" in page.main and "has not sent it" in page.notice
    assert page.tags.links() == []
    place.publish(buyer, task_id).ok()
    page = Page(world, path, place.vendor)
    (link,) = page.tags.links()
    assert link.startswith("/submit/") and page.notice == "This order is in your shop."


@pytest.mark.rule("O-01")
def test_an_order_has_an_address_for_life_which_shows_its_words_and_not_their_envelope(
    world: World,
) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    task_id = place.draft(buyer, '{"order": "One haiku about escrow.", "pages": 2}')
    path = f"/gigs/{place.gig.id}/order/{task_id}"
    assert Page(world, path, other).status == 404
    for send in (False, True):
        if send:
            place.publish(buyer, task_id).ok()
        for who in (buyer, place.vendor):
            page = Page(world, path, who)
            assert page.status == 200
            assert "One haiku about escrow." in page.main and "pages: 2" in page.main
            assert "{" not in page.main
    assert f'href="/fund/{place.gig.id}/{task_id}"' in Page(world, path, buyer).main


@pytest.mark.rule("O-10")
@pytest.mark.parametrize(
    ("wei", "shown"),
    [
        (0, "0"),
        (1, "less than 0.000001"),
        (10**12, "0.000001"),
        (9_999_134_883_968_929_048, "9.999134"),
        (10**19, "10"),
    ],
)
def test_ether_is_shown_as_people_read_it_and_never_more_than_there_is(
    wei: int, shown: str
) -> None:
    assert fund_views.gas(wei) == shown
