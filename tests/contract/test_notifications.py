"""What accounts are told of, the dot, and having seen it (T-09)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine import clock, endpoints, events, invites, notification_list, notifications, proofs
from engine.db import db
from engine.endpoints import Target
from engine.events import Subject
from engine.models.account import Account
from engine.models.delivery import Endpoint
from engine.models.notification import Notification
from tests.contract.scene import all_hold
from tests.contract.webhooks import URL
from tests.world import Person, World, approved_proof, at_once

ABOUT = Subject("test", "of the test")


def listed(person: Person) -> list[dict[str, Any]]:
    page = person.get("/notifications?limit=200")
    assert page["next_cursor"] is None
    found: list[dict[str, Any]] = page["notifications"]
    return found


def told(person: Person) -> list[tuple[str, str, str]]:
    """(kind, title, what it is about) of what is new, oldest first; it is seen then."""
    new = [one for one in listed(person) if not one["seen"]]
    person.post("/notifications/seen", {})
    return [(one["kind"], one["title"], one["subject"]["id"]) for one in reversed(new)]


def tell(*people: Person, title: str = "A title") -> None:
    db.write(lambda: notifications.tell([one.id for one in people], "test", title, ABOUT, None))


@pytest.mark.rule("T-09")
def test_each_is_told_what_others_did_and_nothing_of_his_own_doing(world: World) -> None:
    gig = world.gig(title="Birds", webhook_max_price="5", proof_webhook_url="http://127.0.0.1:9/")
    worker = world.worker(gig)
    owner, mailbox = gig.owner, worker.mailbox["id"]  # type: ignore[attr-defined]
    assert told(owner) == [("mailbox.joined", "Somebody joined: Birds", mailbox)]

    approved = approved_proof(world, gig, worker)
    assert told(owner) == [("proof.submitted", "A proof was handed in: Birds", approved)]
    assert told(worker) == [("proof.approved", "Your proof was approved: Birds", approved)]

    review = {"action": "reject", "rejection_tag": "low_quality", "feedback": "a private word"}
    owner.patch(f"{gig.path}/proofs/{approved}", review)
    assert told(worker) == [("proof.rejected", "Your proof was rejected: Birds", approved)]

    given = world.task(gig, assign_to=worker.email)
    assert told(worker) == [("task.assigned", "A task was given to you: Birds", given)]
    late = worker.post(f"{gig.path}/proofs", {"task_identifier": given})["proof"]["id"]
    told(owner)
    clock.advance(172_801)
    proofs.time_out()
    assert told(worker) == [("proof.approved", "Your proof was approved: Birds", late)]

    bad, dear = world.task(gig), world.task(gig, price="6")
    worker.post(f"{gig.path}/queue/{bad}/violation", {"violation": "a private word"})
    held_back = ("task.held_back", "A task waits for you as a draft: Birds", dear)
    reported = ("task.violation", "A worker reported a task: Birds", bad)
    assert told(owner) == [held_back, reported]

    with db.reading():
        target = Target(Endpoint.get(Endpoint.owner_id == gig.id).id, "http://127.0.0.1:9/", ())
    db.write(lambda: endpoints.disable(target, endpoints.FAILING))
    about = target.endpoint_id
    assert told(owner) == [("endpoint.disabled", "A webhook of yours was disabled: Birds", about)]
    assert told(worker) == told(owner) == []

    # Who is on both sides did it all himself.
    own = world.gig(owner=owner)
    approved_proof(world, own, world.worker(own, owner))
    assert told(owner) == []


@pytest.mark.rule("T-09")
def test_every_type_of_news_goes_to_the_sides_that_it_concerns(world: World) -> None:
    gig = world.gig(title="Birds")
    worker = world.worker(gig)
    told(gig.owner)
    owner, mailbox = gig.owner.id, worker.mailbox["id"]  # type: ignore[attr-defined]
    sides = {"owner": gig.owner, "worker": worker}

    def goes_to(row: tuple[str, str | None, str, str]) -> None:
        kind, mailbox_id, actor, to = row
        status = {"status": "pending_approval", "tx_hash": None}
        db.write(
            lambda: events.append(
                kind, ABOUT, actor=actor, gig_id=gig.id, mailbox_id=mailbox_id, data=status
            )
        )
        heard = {name: told(person) for name, person in sides.items()}
        assert {name for name, news in heard.items() if news} == set(to.split())
        assert all(
            news[0][0] == kind and news[0][1].endswith(": Birds") for news in heard.values() if news
        )

    all_hold(
        [
            ("proof.submitted", mailbox, worker.id, "owner"),
            ("proof.submitted", mailbox, owner, ""),
            ("proof.withdrawn", mailbox, worker.id, "owner"),
            ("mailbox.joined", mailbox, worker.id, "owner"),
            ("task.held_back", None, "webhook", "owner"),
            ("task.violation", mailbox, worker.id, "owner"),
            ("task.assigned", mailbox, owner, "worker"),
            ("task.assigned", mailbox, worker.id, ""),
            ("task.claimed", mailbox, worker.id, ""),
            ("task.submitted", None, "webhook", ""),
            ("rollup.created", mailbox, owner, ""),
            ("gig.changed", None, owner, ""),
        ],
        goes_to,
    )
    with db.reading():
        titles = {row.title for row in Notification.select()}
    assert "Somebody asks to join: Birds" in titles


@pytest.mark.rule("W-06")
def test_that_a_webhook_was_disabled_hears_whoever_registered_it(world: World) -> None:
    gig = world.gig(title="Birds", proof_webhook_url=URL)
    worker = world.worker(gig, webhook=URL)
    kind = "endpoint.disabled"
    for person, other in ((gig.owner, worker), (worker, gig.owner)):
        told(gig.owner), told(worker)
        (endpoint,) = person.get("/deliveries/endpoints")["endpoints"]
        subject = events.Subject("endpoint", endpoint["id"])
        db.write(lambda at=subject: events.append(kind, at, actor="deliveries", gig_id=gig.id))  # type: ignore[misc]
        assert [news[0] for news in told(person)] == [kind] and told(other) == []


@pytest.mark.rule("T-09")
def test_a_title_is_one_line_of_at_most_120_characters(world: World) -> None:
    names = ("x", "x" * 200, " a\n\tb  c ", "{gig}{0}%s", "\U0001f426" * 150)
    for name in names:
        for news in notifications.NEWS.values():
            title = notifications.title_of(news.title, name)
            assert len(title) <= 120 and title == " ".join(title.split())
            assert title.startswith(news.title.partition("{")[0])
    assert notifications.title_of("For {gig}", names[2]) == "For a b c"
    assert notifications.title_of("For {gig}", names[3]) == "For {gig}{0}%s"
    assert notifications.title_of("For {gig}", names[1]) == f"For {'x' * 115}…"


@pytest.mark.rule("T-09")
def test_the_summary_is_lit_until_all_is_seen_and_seeing_is_ones_own(world: World) -> None:
    one, other = world.person(), world.person()
    nothing = {"dot": False, "latest_at": None, "latest_title": None, "seen_at": None}
    assert one.get("/notifications/summary") == nothing
    for title in ("first", "second", "third"):
        tell(one, other, title=title)
        clock.advance(1)
    third, second, first = listed(one)
    assert [third["title"], second["title"], first["title"]] == ["third", "second", "first"]
    assert set(third) == {"id", "kind", "title", "at", "gig_id", "subject", "seen"}
    assert third["subject"] == {"kind": ABOUT.kind, "id": ABOUT.id}
    lit = {"dot": True, "latest_at": third["at"], "latest_title": "third", "seen_at": None}
    assert one.get("/notifications/summary") == lit

    summary = one.post("/notifications/seen", {"up_to": second["id"]})
    assert {**summary, "seen_at": None} == lit and summary["seen_at"] > third["at"]
    assert [row["seen"] for row in listed(one)] == [False, True, True]
    # What has been seen stays so.
    one.post("/notifications/seen", {"up_to": first["id"]})
    assert [row["seen"] for row in listed(one)] == [False, True, True]
    for _ in range(2):
        assert {**one.post("/notifications/seen"), "seen_at": None} == {**lit, "dot": False}
    assert all(row["seen"] for row in listed(one)) and len(listed(one)) == 3
    assert one.get("/notifications/summary")["seen_at"] is not None
    # The other's are untouched, and named by nobody else.
    assert other.get("/notifications/summary") == lit
    theirs = listed(other)
    assert not {row["id"] for row in theirs} & {first["id"], second["id"], third["id"]}
    for up_to in (theirs[0]["id"], "", "x", "NTF_", f"{third['id']}0", third["id"].lower()):
        one.call("POST", "/notifications/seen", {"up_to": up_to}).refused(404 if up_to else 400)
    # A first time with nothing to see counts too.
    assert world.person().post("/notifications/seen")["seen_at"] is not None


@contextmanager
def unfinished(tell_of: Any) -> Iterator[None]:
    """What is told is written, and is committed only afterwards."""
    begun, go_on = threading.Event(), threading.Event()

    def write() -> None:
        tell_of()
        begun.set()
        go_on.wait(20)

    thread = threading.Thread(target=lambda: db.write(write))
    thread.start()
    begun.wait(20)
    try:
        yield
    finally:
        go_on.set()
        thread.join()


@pytest.mark.rule("T-09")
def test_nothing_is_marked_that_could_not_be_seen_when_it_was_said(world: World) -> None:
    """On PostgreSQL what was told first may be there last; it must not pass for seen."""
    if not db.is_postgres:
        # One writer: there is never a second transaction under way.
        return
    person = world.person()
    with unfinished(lambda: notifications.tell([person.id], "test", "older", ABOUT, None)):
        tell(person, title="younger")
        shown = listed(person)
        for body in [{}, *({"up_to": row["id"]} for row in shown)]:
            person.post("/notifications/seen", body)
    assert [(row["title"], row["seen"]) for row in listed(person)] == [
        ("younger", False),
        ("older", False),
    ]


@pytest.mark.rule("T-09")
def test_eight_who_mark_while_others_tell_lose_none_and_mark_none_unlisted(world: World) -> None:
    person, done = world.person(), threading.Event()
    shown: set[str] = set()

    def run(number: int) -> None:
        if number < 8:
            while not done.is_set():
                rows = listed(person)
                shown.update(row["id"] for row in rows)
                if rows:
                    person.post("/notifications/seen", {"up_to": rows[0]["id"]})
        else:
            for turn in range(10):

                def write(turn: int = turn) -> None:
                    notifications.tell([person.id], "test", f"{number}-{turn}", ABOUT, None)
                    # So that transactions overlap, and end in another order than they began.
                    done.wait((number + turn) % 4 / 500)

                db.write(write)

    markers = threading.Thread(target=lambda: at_once(8, run))
    markers.start()
    at_once(4, lambda number: run(number + 8))
    done.set()
    markers.join()
    rows = listed(person)
    wanted = {f"{number}-{turn}" for number in range(8, 12) for turn in range(10)}
    assert len(rows) == 40 and {row["title"] for row in rows} == wanted
    assert {row["id"] for row in rows if row["seen"]} <= shown
    assert person.get("/notifications/summary")["dot"] == any(not row["seen"] for row in rows)
    assert person.post("/notifications/seen")["dot"] is False


@pytest.mark.rule("M-01")
def test_whoever_joins_a_gig_keeps_nobody_from_telling_him(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who join each other's gigs hold their own account and tell the other."""
    one, other = world.gig(), world.gig()
    if db.is_postgres:
        both, use = threading.Barrier(2, timeout=10), invites.use

        def wait(*args: Any) -> Any:
            both.wait()
            return use(*args)

        monkeypatch.setattr(invites, "use", wait)
    pairs = [(one, other.owner), (other, one.owner)]
    # A deadlock would be tried again, and there be nobody to wait for.
    at_once(2, lambda number: world.worker(*pairs[number]))
    for gig in (one, other):
        assert [kind for kind, _, _ in told(gig.owner)] == ["mailbox.joined"]


@pytest.mark.rule("T-09")
def test_what_nobody_is_told_of_costs_nothing_and_much_at_once_one_insert(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    mailbox: str = worker.mailbox["id"]  # type: ignore[attr-defined]
    statements: list[str] = []
    plain, model = db.rows, db.database.execute

    def sql_rows(sql: str, params: Any = ()) -> Any:
        statements.append(sql.split("(")[0].strip())
        return plain(sql, params)

    def query(asked: Any, **options: Any) -> Any:
        statements.append("a model's query")
        return model(asked, **options)

    def append(kind: str) -> list[str]:
        subjects = [Subject("task", f"TASK_{number}") for number in range(5)]
        sides: Any = {"actor": gig.owner.id, "gig_id": gig.id, "mailbox_id": mailbox}

        def write() -> list[str]:
            clock.now()
            events.position()
            statements.clear()
            events.append(kind, *subjects, **sides)
            return list(statements)

        with monkeypatch.context() as patch:
            patch.setattr(db, "rows", sql_rows)
            patch.setattr(db.database, "execute", query)
            return db.write(write)

    assert append("task.claimed") == ['INSERT INTO "event"']
    inserts = [sql for sql in append("task.assigned") if sql.startswith("INSERT")]
    assert inserts == ['INSERT INTO "event"', 'INSERT INTO "notification"']
    assert len(listed(worker)) == 5


@pytest.mark.rule("T-09")
def test_what_was_seen_90_days_ago_is_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notification_list, "CHUNK", 2)
    person, other = world.person(), world.person()
    for number in range(5):
        tell(person, other, title=f"old {number}")
    person.post("/notifications/seen")
    assert all(row["seen"] for row in listed(person)), "in chunks, all the same"
    tell(person, title="new")
    clock.advance(89 * clock.DAY_SECONDS)
    person.post("/notifications/seen")
    notification_list.forget_old()
    assert len(listed(person)) == 6
    clock.advance(clock.DAY_SECONDS + 1)
    notification_list.forget_old()
    assert [row["title"] for row in listed(person)] == ["new"]
    assert len(listed(other)) == 5, "nobody has seen these"
    with db.reading():
        assert Account.get(Account.id == person.id).notifications_seen_at is not None


@pytest.mark.rule("T-09")
def test_what_nobody_has_looked_at_for_a_year_is_forgotten_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notification_list, "CHUNK", 2)
    person = world.person()
    for number in range(5):
        tell(person, title=f"old {number}")
    clock.advance(364 * clock.DAY_SECONDS)
    tell(person, title="new")
    notification_list.forget_old()
    assert len(listed(person)) == 6
    clock.advance(clock.DAY_SECONDS + 1)
    notification_list.forget_old()
    assert [row["title"] for row in listed(person)] == ["new"]
    assert person.get("/notifications/summary")["dot"] is True
