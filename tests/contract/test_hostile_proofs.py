"""What a worker, an owner or a stranger may try to put into a proof and what is said about one.

It is kept and given back as it was sent, in every answer, export, event and webhook, or it is
refused by the name of its field and nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import simplejson
from standardwebhooks.webhooks import Webhook

from engine import clock
from jobs import actors
from tests.contract.hostile import BROKEN, FIELDS, NO_TEXTS, TEXTS, WAYS, Given, Stage, stage
from tests.contract.scene import all_hold, everything
from tests.contract.test_exports import RUNS, as_csv, as_lines
from tests.deliveries.webhook_receiver import Receiver
from tests.world import Person, World, eventually

__all__ = ["stage"]


def _cases() -> Iterator[tuple[Given, str, str]]:
    """(field, the JSON that is sent for it, what the refusal names)"""
    for one in FIELDS:
        inner = f"{one.name}.0" if one.many else one.name
        for broken in BROKEN:
            yield one, broken, inner
        for wrong in NO_TEXTS:
            yield one, wrong, inner
        yield one, simplejson.dumps("\N{GRINNING FACE}" * (one.most + 1)), inner
        yield one, "[" * 100_000 + "]" * 100_000, "body"
        yield one, r'"\x41"', "body"
        yield one, '"\t"', "body"
        if one.many:
            yield one, ",".join(['"x"'] * (one.many + 1)), one.name
            yield one, '"ok", ""', f"{one.name}.1"
    # Megabytes, which every field is read by the same code for.
    evidence, tags, note = FIELDS[:3]
    yield evidence, ",".join(['"x"'] * 100_000), "proofs"
    yield tags, ",".join(['"x"'] * 100_000), "tags"
    yield tags, simplejson.dumps("x" * 1_000_000), "tags.0"
    yield note, simplejson.dumps("x" * 1_000_000), "private_note"


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-04")
@pytest.mark.rule("H-11")
def test_what_cannot_be_kept_is_refused_by_its_name_and_nothing_has_changed(stage: Stage) -> None:
    before = everything()

    def refused(row: tuple[Given, str, str]) -> None:
        one, value, named = row
        assert list(one.send(stage, value).refused(400)["errors"]) == [named]

    all_hold(_cases(), refused)
    assert everything() == before


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-02")
@pytest.mark.rule("R-04")
def test_what_is_no_name_of_anything_is_refused(stage: Stage) -> None:
    before = everything()
    hand_in = f"{stage.gig.path}/proofs"

    def refused(row: tuple[Person, str, str, str, Any, int]) -> None:
        person, method, path, name, value, status = row
        rest = {"action": "reject"} if method == "PATCH" else {"task_identifier": stage.ids["held"]}
        told = person.call(method, path, {**rest, name: value}).refused(status)
        assert status != 400 or list(told["errors"]) == [name]

    rows: list[tuple[Person, str, str, str, Any, int]] = []
    for text in TEXTS:
        known = 400 if len(text) > 100 else 404
        rows.append((stage.worker, "POST", hand_in, "task_identifier", text, known))
        rows.append((stage.gig.owner, "PATCH", stage.ids["proof"], "rejection_tag", text, 400))
        rows.append((stage.gig.owner, "PATCH", stage.ids["proof"], "action", text, 400))
        rows.append((stage.worker, "POST", hand_in, "asking_price", text, 400))
    all_hold(rows, refused)
    assert everything() == before


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-03")
@pytest.mark.rule("R-06")
@pytest.mark.rule("R-07")
@pytest.mark.rule("T-07")
@pytest.mark.rule("T-09")
def test_what_is_handed_in_is_read_as_it_was_sent_wherever_it_is_read(stage: Stage) -> None:
    gig, worker = stage.gig, stage.worker
    sent = {}
    for number, text in enumerate(TEXTS):
        body = {"proofs": [text, text], "tags": [text], "private_note": text}
        way = WAYS[number % len(WAYS)]
        proof_id = way(stage, stage.world.task(gig), body)
        made = worker.get(f"{gig.path}/proofs/{proof_id}")["proof"]
        assert {name: made[name] for name in body} == body
        sent[proof_id] = text
        for path in (
            f"{gig.path}/proofs/{proof_id}",
            f"{gig.path}/tasks/{made['task_identifier']}",
        ):
            worker.patch(f"{path}/alias", {"alias": text})
            (read,) = worker.get(path).values()
            assert read["alias"] == text
        comments = f"{gig.path}/tasks/{made['task_identifier']}/comments"
        assert worker.post(comments, {"body": text})["comment"]["body"] == text
        assert gig.owner.get(comments)["comments"][0]["body"] == text
    for person in (worker, gig.owner):
        listed = person.get(f"{gig.path}/proofs?limit=100")["proofs"]
        read = [person.get(f"{gig.path}/proofs/{proof_id}")["proof"] for proof_id in sent]
        for proof in (*(one for one in listed if one["id"] in sent), *read):
            text = sent[proof["id"]]
            assert (proof["proofs"], proof["tags"]) == ([text, text], [text])
            assert proof["private_note"] == (text if person is worker else None)
    lines = {row["id"]: row for row in as_lines(gig, "proofs")}
    cells = {row["id"]: row for row in as_csv(gig, "proofs")}
    for proof_id, text in sent.items():
        assert (lines[proof_id]["proofs"], lines[proof_id]["tags"]) == ([text, text], [text])
        guard = "'" if text in RUNS else ""
        assert cells[proof_id]["proofs"] == f"{guard}{text},{text}"
        assert cells[proof_id]["tags"] == f"{guard}{text}"


@pytest.mark.rule("R-04")
@pytest.mark.rule("W-03")
@pytest.mark.rule("T-07")
def test_what_is_said_of_it_is_the_same_in_answers_events_exports_and_webhooks(
    world: World,
) -> None:
    world.start()
    receiver = Receiver()
    try:
        gig = world.gig(review_timeout=-1)
        worker = world.worker(gig, events_webhook_url=receiver.url("/events"))
        said = {}
        for text in TEXTS:
            path = f"{gig.path}/proofs"
            proof = worker.post(path, {"task_identifier": world.task(gig)})["proof"]
            verdict = {"action": "reject", "requeue": False, "feedback": text}
            gig.owner.patch(f"{path}/{proof['id']}", verdict)
            assert worker.get(f"{path}/{proof['id']}")["proof"]["feedback"] == text
            said[proof["id"]] = text
        got = eventually(lambda: _all_of(receiver, len(said)), 30)
    finally:
        receiver.close()
    for person in (worker, gig.owner):
        events = person.get(f"{gig.path}/events?limit=200")["events"]
        told = [one["data"] for one in events if one["type"] == "proof.rejected"]
        assert {one["proof_id"]: one["feedback"] for one in told} == said
    for headers, body in got:
        Webhook(worker.secret).verify(body, headers)  # type: ignore[attr-defined]
    heard = [simplejson.loads(body) for _, body in got]
    assert {one["proof_id"]: one["feedback"] for one in heard} == said
    assert {row["id"]: row["feedback"] for row in as_lines(gig, "proofs")} == said
    assert {row["id"]: row["feedback"] for row in as_csv(gig, "proofs")} == _guarded(said)


@pytest.mark.rule("R-05")
@pytest.mark.rule("T-07")
def test_why_a_proof_is_disputed_is_read_as_it_was_said(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    path, said = f"{gig.path}/proofs", {}
    for text in TEXTS:
        proof = worker.post(path, {"task_identifier": world.task(gig)})["proof"]
        said[proof["id"]] = text
    clock.advance(60)
    actors.review()
    for proof_id, text in said.items():
        gig.owner.post(f"{path}/{proof_id}/report", {"reason": text})
    for person in (gig.owner, worker):
        read = person.get(f"{path}?limit=100")["proofs"]
        assert {one["id"]: one["report_reason"] for one in read} == said
    assert {row["id"]: row["report_reason"] for row in as_lines(gig, "proofs")} == said
    assert {row["id"]: row["report_reason"] for row in as_csv(gig, "proofs")} == _guarded(said)


def _guarded(said: dict[str, str]) -> dict[str, str]:
    """As the cells of a spreadsheet."""
    return {i: f"'{text}" if text in RUNS else text for i, text in said.items()}


def _all_of(receiver: Receiver, count: int) -> list[tuple[dict[str, str], bytes]]:
    got = receiver.to("/events")
    return [(one.headers, one.body) for one in got] if len(got) >= count else []


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-06")
def test_the_most_that_a_proof_may_hold_is_kept_whole(stage: Stage) -> None:
    """Eight million characters; of four bytes each where the body's own limit leaves room."""
    wide = "\N{GRINNING FACE}"
    evidence = [f"{number}{wide}".ljust(8000, "x") for number in range(1000)]
    body = {
        "task_identifier": stage.ids["held"],
        "proofs": evidence,
        "tags": [f"{number}".rjust(256, wide) for number in range(25)],
        "private_note": wide * 8000,
    }
    made = stage.worker.post(f"{stage.gig.path}/proofs", body)["proof"]
    read = stage.worker.get(f"{stage.gig.path}/proofs/{made['id']}")["proof"]
    assert {name: read[name] for name in body} == body
