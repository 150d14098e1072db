"""Tasks that come by mail (T-01, O-03)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.rules import mime
from tests.shop import shop
from tests.world import Answer, Gig, World

DOMAIN = "tasks.example.com"
URL = "/inbound/email"


@pytest.fixture
def mailed(backend: tuple[str, str]) -> Iterator[World]:
    made = World(*backend, INBOUND_EMAIL_DOMAIN=DOMAIN)
    yield made
    made.stop()


def address(gig: Gig) -> str:
    found: str = gig.owner.get(gig.path)["gig"]["inbound_email"]
    return found


def letter(**headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"From": "ana@example.com", "Subject": "A bird", **headers}.items():
        made[name.replace("_", "-")] = value
    made.set_content("Which one is it?\nIt sings.\n")
    return made


def post(world: World, raw: bytes | EmailMessage, to: str | None = None, **more: Any) -> Answer:
    query = "" if to is None else f"?to={quote(to)}"
    body = raw if isinstance(raw, bytes) else raw.as_bytes()
    kind = {"content-type": "message/rfc822"}
    return world.call("POST", URL + query, raw=body, headers=kind, **more)


def task_of(gig: Gig, answer: Answer) -> Any:
    return gig.owner.get(f"{gig.path}/tasks/{answer.ok()['message_id']}")["task"]


@pytest.mark.rule("T-01")
def test_a_letter_becomes_a_task(mailed: World) -> None:
    gig = mailed.gig()
    to = address(gig)
    local, _, domain = to.rpartition("@")
    assert len(local) <= 64 and domain == DOMAIN and to == to.lower()
    made = letter(Subject="Ein Vogel – ö", To=to)
    made.add_alternative("<p>Which one is it?</p>", subtype="html")
    made.add_attachment(b"\0\1", maintype="image", subtype="png", filename="bird.png")
    task = task_of(gig, post(mailed, made, to))
    assert task["subject"] == "Ein Vogel – ö"
    assert task["payload"] == "Which one is it?\nIt sings.\n"
    assert (task["content_type"], task["status"]) == ("text/plain", "queued")
    assert task["external_id"] is None
    # Without plain text it is the HTML.
    made = letter()
    made.set_content("<b>Which?</b>\n", subtype="html", charset="iso-8859-1")
    task = task_of(gig, post(mailed, made, to.upper()))
    assert (task["payload"], task["content_type"]) == ("<b>Which?</b>\n", "text/html")


@pytest.mark.rule("T-01")
def test_the_recipient_is_the_envelopes_or_else_in_the_headers(mailed: World) -> None:
    gig, other = mailed.gig(), mailed.gig()
    for name in ("Delivered-To", "X-Original-To", "To", "Cc"):
        made = letter(**{name: f'"Who, ever <x>" <{address(gig)}>, somebody@{DOMAIN}'})
        assert task_of(gig, post(mailed, made))["subject"] == "A bird"
    for to in (f"<{address(gig)}>", f'"Who, ever" <{address(gig).upper()}>', f" {address(gig)} "):
        assert task_of(gig, post(mailed, letter(), to))["subject"] == "A bird"
    # What the envelope says comes first, and alone.
    assert task_of(other, post(mailed, letter(To=address(gig)), address(other)))
    post(mailed, letter(To=address(gig)), "nobody@example.com").refused(404, "not_found")
    post(mailed, letter(To="nobody@example.com")).refused(404, "not_found")
    post(mailed, b"").refused(404, "not_found")
    at = address(gig).replace(DOMAIN, "example.com")
    post(mailed, letter(), at).refused(404, "not_found")


@pytest.mark.rule("T-04")
def test_a_letter_that_is_delivered_twice_makes_one_task(mailed: World) -> None:
    gig = mailed.gig()
    first = post(mailed, letter(Message_ID="<one@example.com>"), address(gig)).ok()
    again = letter(Message_ID="<one@example.com>", Received="from elsewhere")
    assert post(mailed, again, address(gig)).ok() == first
    task = gig.owner.get(f"{gig.path}/tasks/{first['message_id']}")["task"]
    assert task["external_id"] == "mail:one@example.com"
    other = letter(Message_ID="<one@example.com>", Received="from elsewhere")
    other.set_content("Something else.")
    # An error would be sent back to whoever wrote it.
    answer = post(mailed, other, address(gig)).ok()
    assert answer == {"status": "ignored", "reason": "external_id_mismatch"}
    assert len(gig.owner.get(f"{gig.path}/queue")["tasks"]) == 1
    # A webhook's own ids are others.
    mailed.send(gig, external_id="one@example.com").ok()
    longest = "a" * 250
    assert (
        task_of(gig, post(mailed, letter(Message_ID=f"<{longest}>"), address(gig)))["external_id"]
        == f"mail:{longest}"
    )


@pytest.mark.rule("G-04")
def test_only_the_gigs_own_token_opens_it_and_a_new_one_closes_it(mailed: World) -> None:
    gig = mailed.gig()
    old = address(gig)
    wrong = re.sub(r"\.\w{24}@", ".aaaaaaaaaaaaaaaaaaaaaaaa@", old)
    post(mailed, letter(), wrong).refused(403, "wrong_token")
    post(mailed, letter(), old.replace(old[:26], "0" * 26)).refused(404, "not_found")
    gig.owner.post(f"{gig.path}/rotate-token")
    assert address(gig) != old
    post(mailed, letter(), old).refused(403, "wrong_token")
    # Whoever works in the gig is not shown it.
    assert "inbound_email" not in mailed.worker(gig).get(gig.path)["gig"]


@pytest.mark.rule("T-01")
def test_what_no_person_sent_is_ignored(mailed: World) -> None:
    gig = mailed.gig()
    for headers, reason in (
        ({"Auto-Submitted": "auto-replied"}, "auto_submitted"),
        ({"Auto-Submitted": "auto-generated; x=y"}, "auto_submitted"),
        ({"Return-Path": "<>"}, "bounce"),
        ({"Return-Path": "<MAILER-DAEMON>"}, "bounce"),
    ):
        answer = post(mailed, letter(**headers), address(gig)).ok()
        assert answer == {"status": "ignored", "reason": reason}
    report = b"Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\n\r\nNo such user.\r\n--x--"
    assert post(mailed, report, address(gig)).ok()["reason"] == "bounce"
    for headers in ({"Auto-Submitted": "No"}, {"Return-Path": "<ana@example.com>"}):
        assert post(mailed, letter(**headers), address(gig)).ok()["status"] == "queued"


@pytest.mark.rule("O-03")
@pytest.mark.rule("U-03")
def test_modes_that_take_no_tasks_of_an_owner_ignore_mail(mailed: World) -> None:
    place = shop(mailed)
    for owner, path, name in (
        (place.gig.owner, place.path, "inbound_order"),
        (*(lambda gig: (gig.owner, gig.path))(mailed.gig(distribution="inbound_proof")),
         "inbound_proof"),
    ):  # fmt: skip
        view = owner.get(path)["gig"]
        assert "inbound_email" not in view
        token, gig_id = view["webhook"].rpartition("=")[2], view["id"]
        to = f"{gig_id.removeprefix('GIG_')}.{token}@{DOMAIN}"
        assert post(mailed, letter(), to).ok() == {"status": "ignored", "reason": name}


@pytest.mark.rule("G-04")
@pytest.mark.rule("G-08")
def test_everything_else_is_as_at_the_webhook(mailed: World) -> None:
    gig = mailed.gig(webhook_max_price="1")
    answer = post(mailed, letter(), address(gig)).ok()
    assert (answer["status"], answer["reason"]) == ("draft", "over_max_price")
    gig.owner.patch(gig.path, {"status": "closed"})
    post(mailed, letter(), address(gig)).refused(409, "gig_closed")
    pushing = mailed.gig(distribution="round_robin")
    worker = mailed.worker(pushing)
    answer = post(mailed, letter(), address(pushing)).ok()
    assert (answer["status"], answer["mailbox_id"]) == ("forwarded", worker.mailbox["id"])


@pytest.mark.rule("T-01")
def test_a_letter_that_is_too_large_is_413(mailed: World) -> None:
    gig = mailed.gig()
    told = post(mailed, b"\r\n" + b"a" * 2_000_001, address(gig)).refused(413)
    assert (told["received_chars"], told["max_chars"]) == (2_000_001, 2_000_000)
    post(mailed, b"\r\n" + b"a" * 9_000_001, address(gig)).refused(413)


@pytest.mark.rule("T-01")
def test_an_install_without_a_domain_takes_no_mail(world: World) -> None:
    gig = world.gig()
    assert "inbound_email" not in gig.owner.get(gig.path)["gig"]
    post(world, letter(), f"x@{DOMAIN}").refused(503, "mail_not_configured")


PIECES = [
    b"\r\n", b"\r\n\r\n", b"--x\r\n", b"--x--\r\n", b"\0", b"\xff", b"<>", b"=?utf-8?b?abc?=",
    b"=?zlib?q?=FF?=", b"+2AA-", b"Subject: ", b"To: ", b"Message-ID: <", b"Auto-Submitted: ",
    b"Content-Type: multipart/mixed; boundary=x\r\n", b"Content-Type: message/rfc822\r\n",
    b"Content-Type: text/plain; charset=utf-7\r\n", b"Content-Type: message/delivery-status\r\n",
    b"Content-Type: text/html; charset*=utf-8''%FF\r\n", b"Content-Type: text/html;charset=idna",
    b"Content-Transfer-Encoding: base64\r\n", b"Content-Transfer-Encoding: x-uuencode\r\n",
    b"Content-Disposition: attachment; filename*0*=x''\r\n", b"begin 644 x\n",
]  # fmt: skip
NESTED = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n)
                  for n in range(2000))  # fmt: skip


@pytest.mark.rule("H-05")
@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=25).map(b"".join))
@example(NESTED)
def test_whatever_the_bytes_are_something_is_read_of_them(raw: bytes) -> None:
    read = mime.read(raw)
    kept = "".join((read.subject, read.body, read.message_id, *mime.recipients(raw)))
    assert "\0" not in kept and kept.encode().decode() == kept


@pytest.mark.rule("H-05")
def test_a_broken_letter_is_a_task_all_the_same(mailed: World) -> None:
    gig = mailed.gig()
    for raw, payload in (
        (b"Content-Type: text/plain; charset=nonsense\r\n\r\nhall\xc3\xb6\0", "hall\u00f6\ufffd"),
        (b"Content-Type: text/plain; charset=utf-8\r\n\r\nhall\xf6", "hall\ufffd"),
        (b"Content-Transfer-Encoding: base64\r\n\r\n!!!", "!!!"),
        (b"no header at all", ""),
        (b"Subject: =?utf-8?b?!!!?=\r\n\r\nx", "x"),
        (NESTED, ""),
    ):
        assert task_of(gig, post(mailed, raw, address(gig)))["payload"].startswith(payload)
