"""What is pushed or assigned to a worker is mailed to him (U-02)."""

from __future__ import annotations

from collections.abc import Iterator
from email import policy
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from typing import Any

import pytest

from engine import clock, commands, letters
from engine.db import db
from engine.models.command import Command
from engine.models.mailbox import Mailbox
from jobs import mail
from tests.mail.server import Server
from tests.world import Gig, Person, World, eventually

PUSHED = {"distribution": "round_robin"}
HOURS = 3600


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def mailing(backend: tuple[str, str], server: Server) -> Iterator[World]:
    world = World(*backend, SMTP_URL=server.url, PUBLIC_URL="https://muster.example.com")
    world.start()
    yield world
    world.stop()


def arrived(world: World, server: Server, count: int = 1) -> list[Message]:
    """So many letters, and no more, once all that is recorded is done; pauses are over at once."""

    def done() -> bool:
        sooner(world)
        return not unfinished()

    eventually(done, what="every letter is done")
    assert len(server.inbox.letters) == count
    return server.inbox.letters


def sooner(world: World) -> None:
    def write() -> list[str]:
        due = Command.update(run_after=clock.now(), lease_until=None)
        due.where(Command.status == "waiting").execute()
        return [one.id for one in Command.select().where(Command.status == "waiting")]

    for command_id in db.write(write):
        world.runtime.actors.run_command(command_id)


def recorded() -> list[Command]:
    with db.reading():
        return list(Command.select().where(Command.kind == letters.NOTICE).order_by(Command.id))


def unfinished() -> list[str]:
    return [one.status for one in recorded() if one.status not in commands.FINISHED]


def outcomes() -> list[Any]:
    return [one.result["sent"] for one in recorded()]


def text(letter: Message) -> str:
    read = BytesParser(policy=policy.default).parsebytes(letter.as_bytes())
    return str(read.get_body().get_content())  # type: ignore[attr-defined]


def readdress(worker: Person, email: str) -> None:
    mine = Mailbox.id == worker.mailbox["id"]  # type: ignore[attr-defined]
    db.write(lambda: Mailbox.update(email=email).where(mine).execute())


@pytest.mark.rule("U-02")
def test_a_pushed_task_is_mailed_to_the_mailboxs_address(mailing: World, server: Server) -> None:
    server.start()
    gig = mailing.gig(title="Birds", accept_timeout=600, **PUSHED)
    mailing.worker(gig, email="Ana@Example.com")
    task_id = mailing.task(gig, "the payload", subject="Which bird?")
    path = f"{gig.path}/tasks/{task_id}/private-details"
    gig.owner.patch(path, {"private_details": "the brief"})
    (letter,) = arrived(mailing, server)
    assert server.inbox.recipients == [["ana@example.com"]]
    assert (letter["To"], letter["From"]) == ("ana@example.com", "muster@localhost")
    assert letter["Subject"] == "New task: Which bird?"
    assert (letter["Auto-Submitted"], letter.get_content_type()) == ("auto-generated", "text/plain")
    until = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["accept_by"]
    assert text(letter) == (
        "You were given a task in the gig “Birds”.\n\nWhich bird?\n\n"
        f"https://muster.example.com/task/{gig.id}/{task_id}\n\n"
        f"Accept it there before {until}, or it goes to somebody else.\n"
    )


@pytest.mark.rule("U-02")
def test_what_its_owner_assigns_is_mailed_and_what_a_worker_takes_is_not(
    mailing: World, server: Server
) -> None:
    server.start()
    gig = mailing.gig()
    worker = mailing.worker(gig)
    mailing.task(gig)
    worker.post(f"{gig.path}/queue/poll", {"count": 1})
    mailing.task(gig, assign_to=worker.mailbox["id"])
    later = mailing.task(gig)
    gig.owner.post(f"{gig.path}/tasks/{later}/assign", {"assign_to": worker.mailbox["id"]})
    found = arrived(mailing, server, 2)
    assert {letter["To"] for letter in found} == {worker.email}
    assert len({letter["Message-ID"] for letter in found}) == 2


@pytest.mark.rule("U-02")
def test_without_a_mail_server_no_letter_is_written_down(world: World) -> None:
    gig = world.gig(**PUSHED)
    world.worker(gig)
    world.task(gig)
    assert recorded() == []


@pytest.mark.rule("U-02")
def test_nobody_sees_another_recipient_and_one_bad_address_stops_no_other(
    mailing: World, server: Server
) -> None:
    server.start()
    gig = mailing.gig(distribution="free_for_all")
    workers = [mailing.worker(gig, email=f"worker-{n}@example.com") for n in range(5)]
    server.inbox.refused = {"worker-2@example.com"}
    # What the API refuses; of such no letter can be made.
    readdress(workers[4], "a, b@example.com\r\nBcc: c@example.com")
    mailing.send(gig).ok()
    found = arrived(mailing, server, 3)
    wanted = [f"worker-{n}@example.com" for n in (0, 1, 3)]
    assert sorted(letter["To"] for letter in found) == wanted
    assert sorted(server.inbox.recipients) == [[one] for one in wanted]
    assert all(letter["Bcc"] is letter["Cc"] is None for letter in found)
    assert sorted(outcomes()) == [False, False, True, True, True]


@pytest.mark.rule("U-02")
def test_no_title_and_no_subject_writes_a_header(mailing: World, server: Server) -> None:
    server.start()
    evil = "Hi\r\nBcc: victim@example.com\r\n\r\nA body, <of> \u2028 its own \x7f\u202e"
    gig = mailing.gig(title=evil, **PUSHED)
    mailing.worker(gig)
    mailing.task(gig, subject=evil + "ö" * 300)
    (letter,) = arrived(mailing, server)
    assert letter["Bcc"] is None and len(server.inbox.recipients[0]) == 1
    subject = str(make_header(decode_header(letter["Subject"])))
    assert subject.startswith("New task: Hi Bcc: victim@example.com A body, <of> its own ö")
    assert len(subject) <= 150
    assert "“Hi Bcc: victim@example.com A body, <of> its own”" in text(letter)


@pytest.mark.rule("U-02")
@pytest.mark.parametrize("utf8", [True, False])
def test_an_address_beyond_ascii_is_mailed_where_the_server_can(
    mailing: World, server: Server, utf8: bool
) -> None:
    server.start(utf8=utf8)
    gig = mailing.gig(distribution="free_for_all")
    mailing.worker(gig, email="ana@straße.example")
    mailing.worker(gig, email="jürgen@example.com")
    mailing.send(gig).ok()
    arrived(mailing, server, 2 if utf8 else 1)
    assert (["jürgen@example.com"] in server.inbox.recipients) is utf8
    # Its domain is one that every server knows, and not another one that looks like it.
    assert ["ana@xn--strae-oqa.example"] in server.inbox.recipients
    assert sorted(outcomes()) == [utf8, True]


@pytest.mark.rule("U-02")
def test_a_letter_is_the_same_one_on_every_try_and_is_given_up_after_hours(
    mailing: World, server: Server
) -> None:
    server.start()
    server.inbox.answers = ["451 later", "452 later"]
    gig = mailing.gig(**PUSHED)
    mailing.worker(gig)
    mailing.task(gig)
    (letter,) = arrived(mailing, server)
    assert server.inbox.seen == [letter["Message-ID"]] * 2
    server.stop()
    mailing.task(gig)
    eventually(lambda: recorded()[-1].status == "waiting", what="it is tried in vain")
    clock.advance(6 * HOURS)
    sooner(mailing)
    eventually(lambda: not unfinished())
    assert outcomes() == [True, False]


@pytest.mark.rule("U-02")
def test_an_offer_that_is_over_is_not_mailed(mailing: World, server: Server) -> None:
    gig = mailing.gig(accept_timeout=60, **PUSHED)
    mailing.worker(gig)
    mailing.task(gig)
    eventually(lambda: recorded()[-1].status == "waiting", what="it is tried in vain")
    clock.advance(60)
    server.start()
    arrived(mailing, server, 0)


@pytest.mark.rule("U-02")
def test_a_server_that_is_away_is_tried_ever_later(world: World) -> None:
    command = Command(created_at=clock.now())
    pauses = []
    for age in (0, 60, 600, 6 * HOURS):
        command.created_at = clock.now() - age * clock.SECOND
        pauses.append(round(mail._pause_seconds(command)))
    assert pauses == [15, 30, 300, 1800]


@pytest.mark.rule("U-02")
@pytest.mark.rule("H-14")
def test_codes_pass_by_letters_that_stand_in_line(mailing: World, server: Server) -> None:
    server.start()
    gig = mailing.gig(**PUSHED)
    mailing.worker(gig)
    with mail._lanes[letters.NOTICE]:
        # As while a server hangs over one of them.
        for _ in range(6):
            mailing.task(gig)
        eventually(lambda: {one.status for one in recorded()} == {"waiting"})
        mailing.call("POST", "/auth/send-otp", {"email": "ana@example.com"}).ok()
        eventually(lambda: len(server.inbox.letters) == 1, what="the code")
        assert "code" in server.inbox.letters[0]["Subject"]
    # Each that is done wakes the next, long before its pause is over.
    mailing.task(gig)
    eventually(lambda: not unfinished(), what="the others follow")
    assert len(server.inbox.letters) == 8


@pytest.mark.rule("U-02")
def test_a_server_that_answers_ever_so_slowly_is_cut_off(
    mailing: World, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "LONGEST_SECONDS", 0.2)
    server.start()
    server.inbox.seconds = 5
    gig: Gig = mailing.gig(**PUSHED)
    mailing.worker(gig)
    mailing.task(gig)
    eventually(lambda: recorded()[0].status == "waiting", 4, "it is cut off")
