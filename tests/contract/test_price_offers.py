"""Asking for another price with a proof: where that may be said, and what is locked (R-02)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.scene import all_hold, everything
from tests.contract.test_proof_drafts import act, draft
from tests.world import Answer, Gig, Person, World


def hand_in(world: World, gig: Gig, worker: Person, **more: Any) -> Answer:
    query = more.pop("query", {})
    body = {"task_identifier": world.task(gig, **query), **more}
    return worker.call("POST", f"{gig.path}/proofs", body)


@pytest.mark.rule("R-02")
@pytest.mark.rule("G-01")
def test_a_gig_says_whether_prices_are_offered(world: World) -> None:
    owner = world.person()
    made = owner.post("/gigs", {"title": "A gig"})["gig"]
    assert made["allow_price_offers"] is False
    path = f"/gigs/{made['id']}"
    for value in (True, False):
        assert (
            owner.patch(path, {"allow_price_offers": value})["gig"]["allow_price_offers"] is value
        )
        assert owner.get(path)["gig"]["allow_price_offers"] is value
        assert (
            owner.post("/gigs", {"title": "A gig", "allow_price_offers": value})["gig"][
                "allow_price_offers"
            ]
            is value
        )
    before = everything()
    for wrong in (None, "true", 1, [], {}):
        for method, where, body in (("POST", "/gigs", {"title": "A gig"}), ("PATCH", path, {})):
            told = owner.call(method, where, {**body, "allow_price_offers": wrong}).refused(400)
            assert list(told["errors"]) == ["allow_price_offers"]
    assert everything() == before


@pytest.mark.rule("R-02")
@pytest.mark.rule("Y-07")
def test_where_each_task_is_funded_before_no_price_is_offered(world: World) -> None:
    owner = world.person()
    both = {"allow_price_offers": True, "task_escrow": True}
    plain, offering = world.gig(owner), world.gig(owner, allow_price_offers=True)
    before = everything()
    for method, path, body, named in (
        ("POST", "/gigs", {"title": "A gig", **both}, "allow_price_offers"),
        ("PATCH", plain.path, both, "allow_price_offers"),
        ("PATCH", offering.path, {"task_escrow": True}, "task_escrow"),
    ):
        told = owner.call(method, path, body).refused(400)
        assert list(told["errors"]) == [named]
    assert everything() == before


@pytest.mark.rule("R-02")
def test_another_price_is_asked_for_only_where_the_gig_takes_offers(world: World) -> None:
    closed, opened = world.gig(), world.gig(allow_price_offers=True)
    workers = {gig.id: world.worker(gig) for gig in (closed, opened)}

    def refused(gig: Gig, price: Any) -> None:
        worker = workers[gig.id]
        kept = draft(gig, worker, world.task(gig))
        task_id = world.task(gig)
        before = everything()
        body = {"task_identifier": task_id, "asking_price": price}
        for more in ({}, {"draft": True}):
            told = worker.call("POST", f"{gig.path}/proofs", {**body, **more}).refused(400)
            assert list(told["errors"]) == ["asking_price"]
        told = act(gig, worker, kept["id"], "draft", {"asking_price": price}).refused(400)
        assert list(told["errors"]) == ["asking_price"]
        assert everything() == before

    all_hold([(closed, 1), (closed, "0")], lambda row: refused(*row))
    wrong = (-1, "x", "1e-7", "0.0000001", True, [], 10**30, "1,5", "NaN")
    all_hold([(opened, price) for price in wrong], lambda row: refused(*row))
    assert hand_in(world, closed, workers[closed.id], asking_price=None).ok()


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_the_price_is_locked_whatever_is_asked_for(world: World) -> None:
    gig = world.gig(allow_price_offers=True, price="2.50")
    worker = world.worker(gig)
    rows = [
        ({}, "2.5", "gig"),
        ({"price": "7.000001"}, "7.000001", "task"),
        ({"price": "0"}, "0", "task"),
        ({"price": "tbd"}, None, "review"),
    ]

    def locked(row: tuple[dict[str, str], str | None, str]) -> None:
        query, price, source = row
        for asked in ("2.01", 0, "1000000000", None):
            proof = hand_in(world, gig, worker, query=query, asking_price=asked).ok()["proof"]
            assert proof["price_pending"] is (price is None)
            assert (None if price is None else str(proof["locked_price"])) == price
            assert proof["price_source"] == source
            path = f"{gig.path}/proofs/{proof['id']}"
            for person in (worker, gig.owner):
                read = person.get(path)["proof"]["asking_price"]
                assert read is None if asked is None else str(read) == str(asked)

    all_hold(rows, locked)


@pytest.mark.rule("R-02")
@pytest.mark.rule("R-03")
def test_what_a_draft_asks_for_may_change_until_it_is_handed_in(world: World) -> None:
    gig = world.gig(allow_price_offers=True)
    worker = world.worker(gig)
    proof = draft(gig, worker, world.task(gig), asking_price="9")
    for asked in ("3.5", None, "4"):
        shown = act(gig, worker, proof["id"], "draft", {"asking_price": asked}).ok()["proof"]
        assert asked == (None if asked is None else str(shown["asking_price"]))
        assert act(gig, worker, proof["id"], "draft", {"tags": []}).ok()["proof"] == shown
    gig.owner.patch(gig.path, {"allow_price_offers": False})
    before = everything()
    told = act(gig, worker, proof["id"], "submit").refused(400)
    assert list(told["errors"]) == ["asking_price"] and everything() == before
    act(gig, worker, proof["id"], "draft", {"asking_price": None}).ok()
    done = act(gig, worker, proof["id"], "submit").ok()["proof"]
    assert (str(done["locked_price"]), done["asking_price"]) == ("2.5", None)
