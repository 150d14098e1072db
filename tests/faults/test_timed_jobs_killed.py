"""What the clock does in several processes, of which two are killed in the middle (F09)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import simplejson

from engine.chain.local import LocalChain
from engine.rules.money import UNITS_PER_DOLLAR
from tests.deliveries.webhook_receiver import Receiver
from tests.faults.flow import Miner
from tests.mail.server import Server
from tests.processes import Layout, Process, Stack, Starter
from tests.world import Person, eventually

PROOFS, MAILBOXES = 20, 5
PRICE, PRICE_UNITS = "2.50", 2_500_000
REVIEW_SECONDS = 3
# Past the lease of whoever was killed with something in hand, and to the next settlement.
LEASE_SECONDS = 120
SECONDS = 90
SETTLING = {"SETTLEMENT_CRON": "* * * * *"}
# On SQLite each process does all of it; on PostgreSQL they are told apart.
LAYOUTS = {
    "sqlite": Layout("sqlite", serve=4),
    "postgres": Layout("postgres", serve=1, worker=2, scheduler=2),
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def mail() -> Iterator[Server]:
    made = Server()
    made.start()
    yield made
    made.stop()


def _doomed(stack: Stack) -> list[Process]:
    if len(stack.serves) > 1:
        return stack.serves[:2]
    return [stack.workers[0], stack.schedulers[0]]


def _told(receiver: Receiver, event: str) -> dict[str, Any]:
    """What was sent of this event, by its id: once or more often, but always the same."""
    found: dict[str, Any] = {}
    for got in list(receiver.requests):
        body = simplejson.loads(got.body)
        if body["event"] == event:
            subject = body.get("proof_id") or body.get("rollup_id") or body["message_id"]
            assert found.setdefault(got.headers["webhook-id"], subject) == subject
    return found


def _wallet(worker: Person) -> str:
    return str(worker.mailbox["wallet_address"])  # type: ignore[attr-defined]


@pytest.mark.rule("R-05")
@pytest.mark.rule("U-02")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-08")
@pytest.mark.case("F09")
@pytest.mark.parametrize("name", LAYOUTS)
def test_two_killed_processes_cost_no_approval_payout_push_or_letter_and_repeat_none(
    start_stack: Starter, chain: LocalChain, receiver: Receiver, mail: Server, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain, SMTP_URL=mail.url, **SETTLING)
    gig = stack.gig(price=PRICE, review_timeout=REVIEW_SECONDS)
    workers = [stack.worker(gig, events_webhook_url=receiver.url()) for _ in range(PROOFS)]
    pushing = stack.gig(gig.owner, distribution="free_for_all")
    addresses = [f"pushed-{number}@example.com" for number in range(MAILBOXES)]
    for to in addresses:
        stack.worker(pushing, webhook=receiver.url(), email=to)
    with Miner(stack):
        wallet_id = stack.funded_wallet(gig.owner)
        gig.owner.post(f"{gig.path}/deposit", {"wallet_alias_id": wallet_id, "amount": "100"})
        for number, worker in enumerate(workers):
            body = {"task_identifier": stack.task(gig), "proofs": [str(number)]}
            worker.post(f"{gig.path}/proofs", body)
        stack.send(pushing, "to all of you").ok()
        stack.advance(REVIEW_SECONDS)
        eventually(lambda: stack.events(gig, "proof.approved"), SECONDS)
        # They stay dead: the others do all of it.
        stack.kill(*_doomed(stack))
        stack.advance(LEASE_SECONDS)
        eventually(lambda: len(stack.events(gig, "payout.paid")) >= PROOFS, SECONDS)
        eventually(lambda: len(_told(receiver, "payout.paid")) >= PROOFS, SECONDS)
        eventually(lambda: len(_told(receiver, "proof.approved")) >= PROOFS, SECONDS)
        eventually(lambda: len(_told(receiver, "task.pushed")) >= MAILBOXES, SECONDS)
        eventually(lambda: len(_letters(mail)) >= MAILBOXES, SECONDS)

        approved = stack.events(gig, "proof.approved")
        assert len({event["subject"]["id"] for event in approved}) == len(approved) == PROOFS
        assert all(event["data"]["auto"] for event in approved)
        paid = stack.events(gig, "payout.paid")
        assert len({event["subject"]["id"] for event in paid}) == len(paid) == PROOFS
        for event, times in (("proof.approved", PROOFS), ("payout.paid", PROOFS)):
            told = _told(receiver, event)
            assert len(told) == len(set(told.values())) == times, event
        assert len(_told(receiver, "task.pushed")) == MAILBOXES
        assert sorted(_letters(mail).values()) == addresses
        assert {stack.usdc_units(_wallet(worker)) for worker in workers} == {PRICE_UNITS}
        spent = PROOFS * PRICE_UNITS * 11 // 10
        left = gig.owner.get(gig.path)["gig"]
        assert left["available_funds"] * UNITS_PER_DOLLAR == 100 * UNITS_PER_DOLLAR - spent
        stack.audit()
    assert stack.complaints() == []


def _letters(mail: Server) -> dict[str, str]:
    """To whom each letter went, by its id: one that is sent twice by a death has the same."""
    return {str(one["Message-ID"]): str(one["To"]) for one in list(mail.inbox.letters)}
