"""Whose a share link is, and how it ends (R-07)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine import clock, handing_in, share_links
from engine.db import db
from engine.errors import Refused
from engine.handing_in import HandIn
from engine.models.access import StoredAnswer
from engine.models.delivery import Delivery
from engine.models.event import Event
from engine.models.mailbox import Mailbox
from tests.contract.links import Link, place
from tests.contract.scene import everything
from tests.contract.shares import Share, events_of, proofs_of, regenerate, token_of
from tests.contract.webhooks import URL
from tests.world import Answer, World, at_once


@pytest.mark.rule("R-07")
def test_a_mailboxs_token_is_shown_to_its_worker_in_his_list_and_nowhere_else(
    world: World,
) -> None:
    gig = world.gig(join_webhook_url=URL, proof_webhook_url=URL)
    person = world.person()
    joined = person.call("POST", f"{gig.path}/mailboxes", {"invite": gig.invite})
    person.mailbox = joined.json["mailbox"]  # type: ignore[attr-defined]
    colleague = world.worker(gig)
    token = token_of(person)
    assert token.startswith("SHARE_") and len(token) == 38
    assert token != token_of(colleague)
    body = {"name": "Ana"}
    changed = person.call("PATCH", f"{gig.path}/mailboxes/{place(person)}", body)
    Share(world, token).prove(world.task(gig), proofs=["done"]).ok()
    new = regenerate(gig, person).ok()["share_token"]
    with db.reading():
        told = [str(one.data) for one in Event.select()]
        told += [one.body for one in Delivery.select()]
    told += [joined.text, changed.text]
    reads = ["", "/mailboxes", "/dashboard", "/events", "/queue", "/proofs"]
    reads += [f"/export.jsonl?what={what}" for what in ("tasks", "proofs", "payouts")]
    for who in (gig.owner, colleague):
        told += [who.call("GET", f"{gig.path}{read}").text for read in reads]
        told += [who.call("GET", path).text for path in ("/mailboxes/mine", "/deliveries")]
    told.append(person.call("GET", f"/mailboxes/{place(person)}/inbound").text)
    told.append(person.call("GET", f"{gig.path}/events").text)
    assert sum(place(person) in text for text in told) > 5
    assert not [text for text in told if token in text or new in text]


@pytest.mark.rule("R-07")
def test_a_new_token_shuts_out_the_old_one_at_once(world: World) -> None:
    link = Link.of(world)
    gig, worker = link.gig, link.worker
    old = Share.of(worker)
    old.info().ok()
    new = Share(world, regenerate(gig, worker).ok()["share_token"])
    assert new.token.startswith("SHARE_") and new.token != old.token
    assert Share.of(worker) == new
    before = everything()
    for answer in old.all(link.task_id):
        assert "replaced" in answer.refused(404, "not_found")["error"]
    assert {**everything(), "counter": before["counter"]} == before
    new.info().ok()
    new.prove(link.task_id).ok()
    (told,) = events_of("mailbox.share_token_regenerated")
    assert (told.actor, told.mailbox_id, told.data) == (worker.id, place(worker), {})
    # A mailbox that had none gets one.
    db.write(lambda: Mailbox.update(share_token=None).where(Mailbox.id == place(worker)).execute())
    assert token_of(worker) is None
    Share(world, regenerate(gig, worker).ok()["share_token"]).info().ok()


@pytest.mark.rule("R-07")
def test_only_ones_own_mailbox_gets_a_new_token(world: World) -> None:
    link = Link.of(world)
    before = token_of(link.worker)
    path = f"{link.gig.path}/mailboxes/{place(link.worker)}/regenerate-token"
    for who, reason in (
        (link.gig.owner, "not_permitted"),
        (link.colleague, "not_permitted"),
        (world.person(), "not_joined"),
    ):
        who.call("POST", path).refused(403, reason)
    world.call("POST", path).refused(401)
    assert token_of(link.worker) == before
    # Whoever has left can still take his link back.
    link.worker.call("DELETE", f"{link.gig.path}/mailboxes/{place(link.worker)}").ok()
    assert regenerate(link.gig, link.worker).ok()["share_token"] != before


@pytest.mark.rule("R-07")
@pytest.mark.rule("H-07")
def test_a_token_asked_for_again_under_its_key_is_the_same_and_kept_sealed(world: World) -> None:
    link = Link.of(world)
    answers = at_once(6, lambda _: regenerate(link.gig, link.worker, **{"idempotency-key": "k-1"}))
    tokens = {one.json["share_token"] for one in answers if one.status == 200}
    assert tokens == {token_of(link.worker)}
    assert {one.status for one in answers} <= {200, 409}
    with db.reading():
        kept = "".join(str(one.__data__) for one in StoredAnswer.select())
    assert "encrypted_answer" in kept and not any(token in kept for token in tokens)
    answers = at_once(6, lambda _: regenerate(link.gig, link.worker))
    opened = [Share(world, one.ok()["share_token"]).info().status for one in answers]
    assert Counter(opened) == {200: 1, 404: 5}


# ------------------------------------------------------------ a new token, and who acts meanwhile


def given(task_id: str) -> HandIn:
    return HandIn(task_id=task_id, mailbox_id=None, evidence=[], tags=[], private_note="")


@pytest.mark.rule("R-07")
def test_nothing_takes_effect_by_a_token_that_was_replaced_after_it_was_looked_up(
    world: World,
) -> None:
    link = Link.of(world)
    found = share_links.find(token_of(link.worker))
    assert found is not None
    regenerate(link.gig, link.worker).ok()
    before = everything()

    def refused(act: Callable[[], Any]) -> None:
        with pytest.raises(Refused) as told:
            act()
        assert told.value.code == "not_found"

    refused(lambda: share_links.hand_in(found, given(link.task_id)))
    refused(lambda: share_links.decline(found, link.task_id))
    refused(lambda: share_links.report(found, link.task_id, "Spam."))
    assert everything() == before


@pytest.mark.rule("R-07")
def test_a_new_token_is_answered_once_what_came_by_the_old_one_is_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Link.of(world)
    share, plain = Share.of(link.worker), handing_in.submit
    acting, go_on, order = threading.Event(), threading.Event(), []

    def slow(*args: Any) -> Any:
        acting.set()
        assert go_on.wait(20)
        return plain(*args)

    monkeypatch.setattr(share_links.handing_in, "submit", slow)

    def prove() -> None:
        order.append(("proven", share.prove(link.task_id).status))

    def renew() -> None:
        order.append(("renewed", regenerate(link.gig, link.worker).status))

    threads = [threading.Thread(target=prove), threading.Thread(target=renew)]
    threads[0].start()
    assert acting.wait(20)
    threads[1].start()
    threads[1].join(0.3)
    assert order == [], "the new token is out while the old one still acts"
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert sorted(order) == [("proven", 201), ("renewed", 200)]
    share.info().refused(404)


@pytest.mark.rule("R-07")
def test_handing_in_and_renewing_the_link_at_once_ends_in_one_or_the_other(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for _ in range(6):
        task_id, share = world.task(gig), Share.of(worker)

        def act(number: int, share: Share = share, task_id: str = task_id) -> Answer:
            return regenerate(gig, worker) if number == 0 else share.prove(task_id)

        renewed, *proven = at_once(4, act)
        renewed.ok()
        told = Counter(one.status for one in proven)
        assert set(told) <= {201, 404, 409} and told[201] == len(proofs_of(task_id)) <= 1
        share.prove(task_id).refused(404)
        clock.advance(61)
