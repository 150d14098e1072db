"""Deactivating an account: what it held is back with the others (Z-07)."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from engine import accounts, clock, departures, holds
from engine.departures import Departed
from engine.errors import Refused
from engine.rules import times
from tests.engine.holding import TIMEOUT, act, assign, reserve, task_of
from tests.process import MUSTER
from tests.world import Gig, Person, World, at_once


def _poll(gig: Gig, worker: Person, count: int = 20) -> list[str]:
    return [one["id"] for one in worker.post(f"{gig.path}/queue/poll", {"count": count})["tasks"]]


def _events(gig: Gig, kind: str) -> list[dict[str, Any]]:
    found = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    return [event for event in found if event["type"] == kind]


@pytest.mark.rule("Z-07")
@pytest.mark.case("F04")
def test_what_a_deactivated_account_holds_goes_back_to_its_place_in_the_queue(
    world: World,
) -> None:
    gig, second = world.gig(), world.gig()
    worker = world.worker(gig)
    other = world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    world.worker(second, worker)
    sent = [world.task(gig) for _ in range(4)]
    elsewhere = world.task(second)
    held = _poll(gig, worker, 3)
    assert held == sent[:3] and _poll(second, worker) == [elsewhere]
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": held[0]})["proof"]

    done = departures.deactivate(worker.email)

    assert done == Departed(worker.id, worker.email, keys=1, mailboxes=2, tasks=3)
    worker.call("GET", "/auth/me").refused(401, "bad_key")
    assert _poll(gig, other) == [*held[1:], sent[3]]
    told = _events(gig, "task.released")
    assert [event["subject"]["id"] for event in told] == held[1:]
    assert {event["data"]["mailbox_id"] for event in told} == {mailbox_id}
    assert len(_events(second, "task.released")) == 1
    rows = {row["id"]: row["status"] for row in gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]}
    assert rows[mailbox_id] == "inactive"
    assert rows[other.mailbox["id"]] == "active"  # type: ignore[attr-defined]
    # What he handed in is still his.
    body = {"action": "approve"}
    assert gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", body)["status"] == "approved"


@pytest.mark.rule("Z-07")
def test_deactivating_again_changes_nothing_and_an_unknown_account_is_refused(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    world.task(gig)
    _poll(gig, worker)
    departures.deactivate(worker.email.upper())
    before = gig.owner.get(f"{gig.path}/events")
    assert departures.deactivate(worker.email) == Departed(worker.id, worker.email, 0, 0, 0)
    assert gig.owner.get(f"{gig.path}/events") == before
    with pytest.raises(Refused, match="no such account"):
        departures.deactivate("nobody@example.com")


@pytest.mark.rule("Z-07")
def test_a_deactivated_account_gets_no_new_key(world: World) -> None:
    person = world.person()
    departures.deactivate(person.email)
    with pytest.raises(Refused) as refused:
        accounts.provision(person.email, new_key=True)
    assert refused.value.code == "account_inactive"


@pytest.mark.rule("Z-07")
@pytest.mark.case("F04")
def test_no_task_stays_with_an_account_that_is_deactivated_while_it_polls(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(3)]
    other = world.worker(gig)
    sent = {world.task(gig) for _ in range(60)}

    def play(number: int) -> None:
        if number < 3:
            departures.deactivate(workers[number].email)
            return
        for _ in range(5):
            answer = workers[number % 3].call("POST", f"{gig.path}/queue/poll", {"count": 2})
            assert answer.status in (200, 401, 403)

    at_once(9, play)

    back: list[str] = []
    while taken := _poll(gig, other):
        back += taken
    assert set(back) == sent and len(back) == len(sent)


@pytest.mark.rule("Z-07")
@pytest.mark.rule("T-06")
def test_what_waited_for_a_place_that_is_closed_waits_for_nobody_in_particular(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    later = times.iso_ms(clock.now() + 60 * clock.SECOND)
    held, waiting = world.task(gig), world.task(gig)
    not_yet, theirs = world.task(gig, not_before=later), world.task(gig)
    for task_id in (held, waiting, not_yet):
        reserve(gig, worker, task_id)
    reserve(gig, other, theirs)
    assert _poll(gig, worker, 1) == [held]

    assert departures.deactivate(worker.email).tasks == 1

    for task_id in (held, waiting, not_yet):
        seen = task_of(gig, task_id)
        assert (seen["availability"], seen["reserved_for"]) == ("reserved", None)
    assert _poll(gig, other) == [theirs]
    act(gig, other, waiting, "proof").ok()
    clock.advance(60)
    assert _poll(gig, other) == []


@pytest.mark.rule("M-02")
@pytest.mark.rule("A-01")
def test_an_owner_who_closes_a_place_has_what_he_assigned_there_again(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    assigned, polled = world.task(gig), world.task(gig)
    assign(gig, worker, assigned)
    assert _poll(gig, worker) == [polled]
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    gig.owner.patch(path, {"status": "inactive"})
    assert task_of(gig, assigned)["mailbox_id"] == "UNASSIGNED"
    act(gig, worker, polled, "proof").refused(403, "mailbox_inactive")
    act(gig, worker, polled, "heartbeat").refused(403, "mailbox_inactive")
    assert _poll(gig, other) == [polled]


@pytest.mark.rule("Z-07")
@pytest.mark.rule("Q-07")
def test_a_claim_that_runs_out_while_its_place_is_closed_ends_once(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    workers = [world.worker(gig) for _ in range(4)]
    other = world.worker(gig)
    sent = [world.task(gig) for _ in range(20)]
    for worker in workers:
        assert len(_poll(gig, worker, 5)) == 5
    clock.advance(TIMEOUT)

    def play(number: int) -> None:
        if number < len(workers):
            departures.deactivate(workers[number].email)
        else:
            holds.expire()

    at_once(len(workers) + 2, play)

    ended = _events(gig, "task.released") + _events(gig, "task.expired")
    assert sorted(event["subject"]["id"] for event in ended) == sorted(sent)
    assert _poll(gig, other) == sent


@pytest.mark.rule("Z-07")
def test_the_command_says_what_it_did(sqlite: Any) -> None:
    url = sqlite.fresh()
    world = World(url, "memory://")
    worker = world.worker(world.gig())
    world.stop()
    environment = {**os.environ, "MUSTER_DATABASE_URL": url, "MUSTER_STAGE": "dev"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [MUSTER, "accounts", "deactivate", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    plain = run(worker.email)
    assert plain.returncode == 0, plain.stderr
    assert "1 keys revoked, 1 mailboxes closed, 0 tasks given back" in plain.stdout
    assert json.loads(run(worker.email, "--json").stdout)["keys"] == 0
    unknown = run("x@example.com")
    assert unknown.returncode == 2 and "no such account" in unknown.stderr
    sqlite.drop(url)
