"""Answers that are too long, too slow, broken or odd (W-02, F18)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from jobs import post
from tests.deliveries.webhook_receiver import answer, closed_port


def pour(handler: Any, head: bytes, chunk: bytes, times: int, wait: threading.Event) -> None:
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
    for _ in range(times):
        handler.wfile.write(chunk)
        handler.wfile.flush()
        if len(chunk) == 1 and wait.wait(0.02):
            return


@pytest.mark.rule("W-02")
@pytest.mark.case("F18")
@pytest.mark.parametrize(
    ("head", "chunk", "times"),
    [
        pytest.param(b"content-length: 50000000\r\n", b"x" * 50_000, 1000, id="50 MB"),
        pytest.param(b"", b"x" * 50_000, 1_000_000, id="never ends"),
        pytest.param(b"", b"x", 1_000_000, id="drips for ever"),
        pytest.param(b"content-length: 500\r\n", b"x" * 100, 1, id="breaks off"),
        pytest.param(
            b"content-encoding: gzip\r\ncontent-length: 100\r\n", b"x" * 100, 1, id="not gzip"
        ),
    ],
)
def test_a_2xx_counts_whatever_body_follows(
    head: bytes,
    chunk: bytes,
    times: int,
    receiver: Any,
    world: Any,
    run: Any,
    outcomes: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(post, "BODY_SECONDS", 0.2)
    receiver.answers["/in"] = lambda handler: pour(handler, head, chunk, times, receiver.released)
    run()
    began = time.monotonic()
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    [outcome] = outcomes.wait(1)
    assert time.monotonic() - began < 5
    assert world.delivery(delivery).status == "delivered"
    assert outcome.error is None
    assert set(outcome.excerpt) == {"x"}
    assert len(outcome.excerpt) <= 512


def drip_headers(handler: Any, wait: threading.Event) -> None:
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not wait.wait(0.02):
        handler.wfile.write(b"a: b\r\n")
        handler.wfile.flush()


def never_more_than_continue(handler: Any, wait: threading.Event) -> None:
    handler.close_connection = True
    while not wait.wait(0.02):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        handler.wfile.flush()


@pytest.mark.rule("W-02")
@pytest.mark.parametrize("how", [drip_headers, never_more_than_continue, None])
def test_the_time_limit_cuts_off_whoever_gives_no_status(
    how: Callable[..., None] | None, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = (
        receiver.hang if how is None else lambda handler: how(handler, receiver.released)
    )
    run(timeout_seconds=0.4)
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    [outcome] = outcomes.wait(1)
    assert (outcome.status_code, outcome.error) == (None, "No answer came within 0.4 seconds.")
    assert 350 <= outcome.latency_ms < 3000
    assert world.delivery(delivery).status == "pending"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        (" 7 ", 7),
        ("9" * 5000, 86_400),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40),
        ("Thu, 01 Jan 1970 00:01:40 -0000", 40),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
    ],
)
@pytest.mark.rule("W-02")
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: int | None) -> None:
    assert post.retry_after_seconds(value, 60.0) == seconds


@pytest.mark.rule("W-06")
def test_an_answer_is_kept_without_what_a_database_or_terminal_chokes_on(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    body = b"a\x00b\x1b[31m\xff\r\n" + "é".encode() * 2000
    receiver.answers["/in"] = answer(500, body)
    run()
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    outcomes.wait(1)
    [attempt] = world.attempts(delivery)
    assert attempt.response_excerpt.startswith("ab[31m\ufffd\né")
    assert len(attempt.response_excerpt) == 512


def garbage(handler: Any) -> None:
    handler.close_connection = True
    handler.wfile.write(b"SECRET-BANNER not http\r\n\r\n")


def hang_up(handler: Any) -> None:
    handler.close_connection = True


@pytest.mark.rule("W-02")
@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (garbage, "The receiver's answer was not valid HTTP."),
        (hang_up, "The receiver closed the connection without an answer."),
    ],
)
def test_a_broken_answer_is_told_in_a_sentence_without_its_text(
    how: Any, sentence: str, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = how
    run()
    world.send(world.endpoint(receiver.url("/in")))
    [outcome] = outcomes.wait(1)
    assert (outcome.status_code, outcome.error, outcome.excerpt) == (None, sentence, "")


@pytest.mark.rule("W-02")
def test_a_closed_port_and_a_wrong_tls_are_told_in_sentences(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    run()
    world.send(world.endpoint(f"http://127.0.0.1:{closed_port()}/"))
    assert outcomes.wait(1)[0].error == "No connection could be made: Connection refused."
    world.send(world.endpoint(receiver.url().replace("http:", "https:")))
    assert outcomes.wait(2)[1].error == "No TLS connection could be made."
