"""What a share link shows, and how often it may be asked (R-07, H-12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine import clock
from engine.db import db
from engine.ids import new_share_token
from engine.models.task import Task
from tests.contract.links import SOLO, Link, place
from tests.contract.scene import all_hold, everything
from tests.contract.shares import Share, token_of
from tests.contract.test_public import limited
from tests.processes import start_stack
from tests.world import World, at_once

__all__ = ["start_stack"]

MINUTE = 60
OWN = {"distribution": "inbound_proof"}
BRIEF = "the real brief, with the password"


@pytest.mark.rule("R-07")
def test_a_link_tells_its_holder_where_it_leads_and_nothing_of_its_people(world: World) -> None:
    owner = world.person("the-owner")
    wallet = owner.post("/wallets", {"label": "hot"})["wallet"]["evm_address"]
    gig = world.gig(
        owner,
        title="Birds",
        terms="Be kind.",
        price="2.01",
        notes="the owner's notes",
        owner_wallet=wallet,
        tags=["secret-tag"],
    )
    owner.post(f"{gig.path}/invites", {"label": "For Bob"})
    secrets = {"email": "ana@example.org", "notes": "I am Ana.", "tags": ["tag-of-ana"]}
    worker = world.worker(gig, world.person("the-worker"), name="Ana", **secrets)
    answer = Share.of(worker).info()
    told = answer.ok()["mailbox"]
    assert str(told.pop("price")) == "2.01"
    assert told == {
        "id": place(worker),
        "name": "Ana",
        "status": "active",
        "gig_id": gig.id,
        "gig_title": "Birds",
        "gig_status": "active",
        "terms": "Be kind.",
        "distribution": "queue",
        "names_own_work": False,
    }
    address = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    for secret in (
        "the owner's notes",
        wallet,
        "secret-tag",
        "ana@",
        "I am Ana",
        "tag-of",
        address,
    ):
        assert secret not in answer.text
    gig.owner.patch(gig.path, {"status": "closed"})
    assert Share.of(worker).info().ok()["mailbox"]["gig_status"] == "closed"


SHOWN = {
    *("id", "gig_id", "subject", "payload", "content_type", "status", "availability", "tags"),
    *("price", "price_tbd", "forwarded_at", "expires_at"),
}


@pytest.mark.rule("R-07")
@pytest.mark.rule("T-08")
@pytest.mark.rule("T-09")
def test_a_link_shows_a_task_whole_but_for_what_is_private(world: World) -> None:
    gig = world.gig(task_timeout=600)
    worker = world.worker(gig)
    share, payload = Share.of(worker), "long " * 2000
    query = {"price": "7.25", "tags": "cat,film", "subject": "Film a cat"}
    task_id = world.task(gig, payload, external_id="the owner's id", **query)
    path = f"{gig.path}/tasks/{task_id}"
    gig.owner.patch(f"{path}/private-details", {"private_details": BRIEF})
    gig.owner.patch(f"{path}/alias", {"alias": "the owner's alias"})
    worker.patch(f"{path}/alias", {"alias": "the worker's alias"})

    def shown(status: str) -> dict[str, Any]:
        answer = share.task(task_id)
        told: dict[str, Any] = answer.ok()["task"]
        assert set(told) == SHOWN and told["status"] == status
        for secret in (BRIEF, "the owner's", "the worker's", place(worker)):
            assert secret not in answer.text
        return told

    waiting = shown("queued")
    assert waiting["payload"] == payload and waiting["expires_at"] is None
    assert (str(waiting["price"]), waiting["price_tbd"]) == ("7.25", False)
    assert (waiting["subject"], waiting["tags"]) == ("Film a cat", ["cat", "film"])
    worker.post(f"{gig.path}/queue/{task_id}/claim", {})
    # Its worker reads the brief by now; whoever has the link does not.
    assert worker.get(path)["task"]["private_details"] == BRIEF
    assert shown("claimed")["expires_at"] == worker.get(path)["task"]["expires_at"] is not None
    # What he was promised, not what it would pay another.
    gig.owner.patch(f"{path}/price", {"price": "1"})
    assert str(shown("claimed")["price"]) == "7.25"
    share.prove(task_id).ok()
    assert shown("submitted")["expires_at"] is None


def _waits(link: Link) -> None:
    pass


def _reserved_for_it(link: Link) -> None:
    link.reserve_for(link.worker)


def _reserved_for_nobody(link: Link) -> None:
    link.owner_sets("availability", {"availability": "reserved"})


def _reserved_for_another(link: Link) -> None:
    link.reserve_for(link.colleague)


def _view_only(link: Link) -> None:
    link.owner_sets("availability", {"availability": "view_only"})


def _its_own(link: Link) -> None:
    link.take(link.worker)


def _assigned(link: Link) -> None:
    link.assign_to(link.worker)


def _anothers(link: Link) -> None:
    link.take(link.colleague)


def _its_own_proven(link: Link) -> None:
    link.prove(link.worker)


def _its_own_rejected(link: Link) -> None:
    path = f"{link.gig.path}/proofs/{link.prove(link.worker)}"
    link.gig.owner.patch(path, {"action": "reject", "requeue": False})


def _anothers_proven(link: Link) -> None:
    link.prove(link.colleague)


def _of_ones_other_mailbox(link: Link) -> None:
    body = {"invite": link.gig.invite, "new": True}
    second = link.worker.post(f"{link.gig.path}/mailboxes", body)["mailbox"]["id"]
    link.open(link.worker, mailbox_id=second).ok()


def _unassigned(link: Link) -> None:
    _assigned(link)
    link.worker.post(f"{link.gig.path}/queue/{link.task_id}/decline")


def _draft(link: Link) -> None:
    link.task_id = link.world.task(link.gig, draft="true")


def _deleted(link: Link) -> None:
    link.gig.owner.call("DELETE", f"{link.gig.path}/tasks/{link.task_id}").ok()


def _of_another_gig(link: Link) -> None:
    gig = link.world.gig(link.gig.owner)
    link.world.worker(gig, link.world.person())
    link.task_id = link.world.task(gig)


def _unknown(link: Link) -> None:
    link.task_id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def _solo(link: Link) -> None:
    gig = link.gig = link.world.gig(**SOLO)
    link.worker, link.colleague = link.world.worker(gig), link.world.worker(gig)
    link.task_id = link.world.task(gig)


def _its_own_copy(link: Link) -> None:
    _solo(link)
    link.task_id = link.take(link.worker)


def _anothers_copy(link: Link) -> None:
    _solo(link)
    link.task_id = link.take(link.colleague)


def _discarded_copy(link: Link) -> None:
    _its_own_copy(link)
    link.worker.post(f"{link.gig.path}/queue/{link.task_id}/decline")


def _owner_of_the_gig(link: Link) -> None:
    """Who works in a gig of his own lends his place in it, and no more."""
    link.worker = link.world.worker(link.gig, link.gig.owner)
    _draft(link)


# (what has become of the task, whether the link shows it)
SEES: list[tuple[Callable[[Link], None], bool]] = [
    *((begin, True) for begin in (_waits, _reserved_for_it, _reserved_for_nobody, _view_only)),
    *((begin, True) for begin in (_its_own, _assigned, _its_own_proven, _its_own_rejected)),
    *((begin, True) for begin in (_solo, _its_own_copy)),
    *((begin, False) for begin in (_reserved_for_another, _anothers, _anothers_proven)),
    *((begin, False) for begin in (_of_ones_other_mailbox, _unassigned, _draft, _deleted)),
    *((begin, False) for begin in (_of_another_gig, _unknown, _anothers_copy, _discarded_copy)),
    (_owner_of_the_gig, False),
]


@pytest.mark.rule("R-07")
def test_a_link_shows_what_waits_and_what_is_its_mailboxs_and_no_other_task(world: World) -> None:
    base = Link.of(world)

    def holds(row: tuple[Callable[[Link], None], bool]) -> None:
        begin, sees = row
        link = Link(world, base.gig, base.worker, base.colleague, world.task(base.gig))
        begin(link)
        answer = Share.of(link.worker).task(link.task_id)
        assert answer.status == (200 if sees else 404), begin.__name__
        if not sees:
            answer.refused(404, "not_found")
            assert place(link.colleague) not in answer.text
        clock.advance(MINUTE)

    all_hold(SEES, holds)


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-07")
def test_where_workers_name_their_work_a_link_hands_in_under_a_name(world: World) -> None:
    link = Link(world, gig := world.gig(**OWN), world.worker(gig), world.worker(gig), "")
    mine, others = Share.of(link.worker), Share.of(link.colleague)
    assert mine.info().ok()["mailbox"]["names_own_work"] is True
    for share in (mine, others):
        told = share.prove("my work", proofs=["done"]).ok()
        assert told["status"] == "pending"
        share.prove("my work").refused(409, "already_proven")
    with db.reading():
        tasks = {task.named_by: task for task in Task.select()}
    seen = mine.task(tasks[place(link.worker)].id).ok()["task"]
    assert (seen["subject"], seen["payload"], seen["status"]) == ("my work", "", "submitted")
    other = tasks[place(link.colleague)].id
    mine.task(other).refused(404, "not_found")
    # Nor once nobody has it in hand.
    values = {Task.status: "queued", Task.mailbox_id: None}
    db.write(lambda: Task.update(values).where(Task.id == other).execute())
    mine.task(other).refused(404, "not_found")
    others.task(other).ok()


@pytest.mark.rule("H-05")
@pytest.mark.rule("R-07")
def test_what_is_no_token_is_refused_before_it_is_looked_up(world: World) -> None:
    link = Link.of(world)
    token, before = token_of(link.worker), everything()
    for query in ("", "?token=", f"?token={'x' * 101}", f"?token={token}&token={token}"):
        told = world.call("GET", f"/public/mailbox-info{query}").refused(400, "invalid")
        assert list(told["errors"]) == ["token"]
    for body in (
        {"task_identifier": link.task_id},
        {"share_token": None, "task_identifier": link.task_id},
        {"share_token": [token], "task_identifier": link.task_id},
        {"share_token": "x" * 101, "task_identifier": link.task_id},
    ):
        for headers in ({}, {"idempotency-key": "k"}):
            told = world.call("POST", "/public/submit-proof", body, headers=headers).refused(400)
            assert list(told["errors"]) == ["share_token"]
    good = {"share_token": token, "task_identifier": link.task_id}
    for more in ("mailbox_id", "draft", "asking_price", "token"):
        told = world.call("POST", "/public/submit-proof", {**good, more: "1"}).refused(400)
        assert list(told["errors"]) == [more]
    assert everything() == before
    # What could be one is looked up as it is, and counted.
    for wrong in (token.swapcase(), token[:-1], f"{token} ", link.gig.invite, link.gig.token, "é"):
        Share(world, wrong).info().refused(404, "not_found")


@pytest.mark.rule("H-12")
@pytest.mark.rule("R-07")
def test_a_links_token_opens_thirty_times_a_minute_whatever_it_is_used_for(world: World) -> None:
    link = Link.of(world)
    share, other = Share.of(link.worker), Share.of(link.colleague)
    asks = (share.info, lambda: share.task(link.task_id), lambda: share.decline(link.task_id))
    answers = at_once(31, lambda number: asks[number % 3]())
    assert sorted(answer.status for answer in answers) == [200] * 30 + [429]
    before = everything()
    for answer in (share.prove(link.task_id), share.prove(link.task_id, "k-1")):
        limited(answer, "token")
    assert {**everything(), "counter": before["counter"]} == before
    # A link that was passed around does not close the others, nor its worker's own key.
    other.info().ok()
    link.worker.get("/mailboxes/mine")
    for _ in range(26):
        other.info().ok()
    limited(other.info(), "address")
    clock.advance(MINUTE)
    share.prove(link.task_id, "k-1").ok()
    # Repeating it under its key is asking as well.
    answers = [share.prove(link.task_id, "k-1") for _ in range(30)]
    assert [one.status for one in answers] == [201] * 29 + [429]


@pytest.mark.rule("H-12")
@pytest.mark.rule("R-07")
def test_ten_unknown_tokens_in_any_route_shut_an_address_out_of_all(world: World) -> None:
    link = Link.of(world)
    good, guesses = Share.of(link.worker), [Share(world, new_share_token()) for _ in range(5)]
    for number, guess in enumerate(guesses):
        key = f"k-{number}" if number % 2 else None
        for answer in (guess.prove(link.task_id, key), guess.task(link.task_id)):
            answer.refused(404, "not_found")
    before = everything()
    answers = [*good.all(link.task_id), good.prove(link.task_id, "k-9"), guesses[0].info()]
    answers.append(world.call("GET", f"/public/invite-info?token={link.gig.invite}"))
    for answer in answers:
        limited(answer, "unknown tokens")
    page = world.app.test_client().get(f"/submit/{good.token}")
    assert page.status_code == 429
    assert {**everything(), "counter": before["counter"]} == before
    clock.advance(MINUTE)
    good.prove(link.task_id).ok()


@pytest.mark.rule("H-12")
@pytest.mark.rule("R-07")
def test_neither_the_counters_nor_the_log_hold_a_token(world: World) -> None:
    link = Link.of(world)
    share = Share.of(link.worker)
    with capture_logs() as lines:
        share.all(link.task_id)
        client = world.app.test_client()
        tail = share.token[6:]
        for path in (
            f"/submit/{share.token}",
            f"/submit/{share.token}?task={link.task_id}",
            # As somebody mistypes it, or another program decorates it.
            *(f"/submit/{share.token}{end}" for end in ("_", "__", ".", "%0A", "%0Ax", "_/x", "/")),
            f"/submit/share_{tail}",
            f"/submit/_{tail}",
            f"/submit/*{share.token}*",
            f"/api/submit/{share.token}_",
            f"/api/public/task/{share.token}_",
        ):
            client.get(path)
    assert len(lines) > 15
    assert not [line for line in lines if tail in str(line)]
    with db.reading():
        kept = [key for (key,) in db.rows("SELECT key FROM counter")]
    assert kept and not any(tail in key for key in kept)
