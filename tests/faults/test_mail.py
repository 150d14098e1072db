"""Mail over a real SMTP server, which may be away, slow or unwilling (H-14)."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from typing import Any

import pytest

from engine import clock, commands
from engine.db import db
from engine.models.command import Command
from jobs import mail
from tests.mail.server import Server
from tests.world import World, eventually

EMAIL = "ana@example.com"
OTHER = "test.other"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def mailing(backend: tuple[str, str], server: Server) -> Iterator[World]:
    world = World(*backend, SMTP_URL=server.url, STAGE="production")
    world.start()
    yield world
    world.stop()


def ask(world: World, email: str = EMAIL) -> None:
    assert world.call("POST", "/auth/send-otp", {"email": email}).ok() == {"success": True}


def letters(world: World, server: Server, count: int = 1) -> list[Message]:
    """So many letters, once they are there; what waits is looked for as the sweep would."""

    def arrived() -> bool:
        world.runtime.actors.ring("sweep")
        return len(server.inbox.letters) >= count

    eventually(arrived, what=f"{count} letters")
    return server.inbox.letters


def states(kind: str) -> list[tuple[str, Any]]:
    with db.reading():
        return [(one.status, one.result) for one in Command.select().where(Command.kind == kind)]


def sooner() -> None:
    """As if the pauses of all that waits were over."""
    db.write(
        lambda: (
            Command.update(run_after=clock.now(), lease_until=None)
            .where(Command.status == "waiting")
            .execute()
        )
    )


@pytest.mark.rule("H-14")
def test_a_code_comes_by_mail_and_opens_the_account(mailing: World, server: Server) -> None:
    server.start()
    ask(mailing)
    (letter,) = letters(mailing, server)
    assert server.inbox.recipients == [[EMAIL]]
    assert (letter["To"], letter["From"]) == (EMAIL, "muster@localhost")
    assert letter["Subject"] == "Your Muster code" and letter["Message-ID"]
    (code,) = re.findall(r"\b\d{6}\b", str(letter.get_payload()))
    made = mailing.call("POST", "/auth/verify-otp", {"email": EMAIL, "code": code}).ok()
    assert made["email"] == EMAIL
    with db.reading():
        kept = repr([one.__data__ for one in Command.select()])
    assert code not in kept, "a code is a secret while it lives"


@pytest.mark.rule("H-14")
def test_a_mail_server_that_was_away_gets_each_letter_once_it_is_back(
    mailing: World, server: Server
) -> None:
    ask(mailing)
    eventually(lambda: states("mail.send") == [("waiting", None)], what="it is tried")
    server.start()
    server.inbox.replies = ["451 come back later", "450 not now"]

    def came() -> list[Message]:
        sooner()
        mailing.runtime.actors.ring("boot")
        return server.inbox.letters

    eventually(came, what="the letter")
    eventually(lambda: states("mail.send") == [("done", {"sent": True})])
    assert server.inbox.replies == [] and len(server.inbox.letters) == 1


@pytest.mark.rule("H-14")
def test_an_address_that_the_server_does_not_know_is_given_up(
    mailing: World, server: Server
) -> None:
    server.start()
    server.inbox.replies = ["550 no such mailbox"]
    ask(mailing)
    eventually(lambda: states("mail.send") == [("done", {"sent": False})])
    assert server.inbox.letters == []


@pytest.mark.rule("H-14")
def test_a_letter_is_not_sent_once_its_code_is_over(mailing: World, server: Server) -> None:
    ask(mailing)
    eventually(lambda: states("mail.send") == [("waiting", None)])
    server.start()
    clock.advance(601)
    mailing.runtime.actors.ring("boot")
    eventually(lambda: states("mail.send") == [("done", {"sent": False})])
    assert server.inbox.letters == []


@pytest.mark.rule("H-14")
@pytest.mark.rule("H-08")
def test_a_mail_server_that_hangs_holds_up_no_other_command(
    mailing: World, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 4)
    connected = threading.Event()
    with closing(socket.create_server(("127.0.0.1", server.port))) as silent:

        def take() -> None:
            with silent.accept()[0] as held:
                connected.set()
                # Until the other side gives up.
                held.recv(1)

        threading.Thread(target=take, daemon=True).start()
        # More letters than there are threads.
        for number in range(8):
            ask(mailing, f"ana-{number}@example.com")
        assert connected.wait(5)

        @commands.handler(OTHER)
        def step(_: Command) -> commands.Outcome:
            return commands.Done({})

        for _ in range(5):
            db.write(lambda: commands.record(OTHER, {}, account_id=None, gig_id=None))
        eventually(lambda: states(OTHER) == [("done", {})] * 5, 3, "the others are done")
        del commands._handlers[OTHER]
        assert {status for status, _ in states("mail.send")} <= {"pending", "waiting", "running"}
