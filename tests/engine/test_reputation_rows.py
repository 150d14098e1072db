"""Rows of reputation follow from events, in their transaction, and stay as they are (R-09)."""

from __future__ import annotations

from typing import Any

import peewee
import pytest

from engine import commands, events, reconcile, reputation, settlement
from engine.db import db
from engine.events import Subject
from engine.models.event import Event
from engine.models.mailbox import Mailbox
from engine.models.reputation import ReputationEvent
from engine.models.rollup import Rollup
from tests.engine.books import DOLLAR, Books
from tests.world import World, approved_proof

NEW_WALLET = "0x" + "1" * 40
PAID, TAKEN_BACK = "payout.paid", "payout.taken_back"


def told(wallet: str) -> list[tuple[str, int | None]]:
    """(type, units) of a wallet, oldest first."""
    return [(row.type, row.units) for row in reversed(reputation.listed(wallet, 100, None))]


@pytest.mark.rule("R-09")
@pytest.mark.rule("Y-03")
def test_a_reorg_is_told_by_a_row_of_its_own_and_the_payout_again_by_another(
    books: Books,
) -> None:
    gig = books.world.gig(price="2.50", review_timeout=-1)
    books.send(books.account(), books.treasury.deposit(gig.id, 20 * DOLLAR))
    worker: Any = books.world.worker(gig)
    approved_proof(books.world, gig, worker)
    wallet = worker.mailbox["wallet_address"]
    books.read()
    before = books.snapshot()
    rollup_id = books.settle(gig)
    assert told(wallet) == [("proof.approved", None)], "it is not paid yet"
    # What is paid from now on goes elsewhere; this payout is the old wallet's all the same.
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"
    worker.patch(path, {"wallet_address": NEW_WALLET})
    books.read()
    books.reorg(before, 5)
    reconcile.run()
    for _ in range(3):
        books.read()

    rows = list(reversed(reputation.listed(wallet, 100, None)))
    assert [row.type for row in rows] == ["proof.approved", PAID, TAKEN_BACK, PAID]
    assert [row.units for row in rows[1:]] == [2_500_000] * 3
    assert {row.rollup_id for row in rows[1:]} == {rollup_id}
    assert {row.tx_hash for row in rows[1:]} == {books.rollup(rollup_id).tx_hash}
    assert told(NEW_WALLET) == []
    with db.reading():
        logged = {row.id: row.type for row in Event.select()}
    assert all(logged[row.id] == row.type for row in rows), "a row has the id of its event"
    titles = [row["title"] for row in worker.get("/notifications")["notifications"]]
    assert [title.partition(":")[0] for title in titles[:3]] == [
        "You were paid",
        "The chain took a payout back, it is owed again",
        "You were paid",
    ]


@pytest.mark.rule("R-09")
def test_only_verdicts_and_payouts_are_kept_each_for_the_wallet_of_that_moment(
    world: World,
) -> None:
    gig = world.gig()
    worker: Any = world.worker(gig)
    mailbox_id, old = worker.mailbox["id"], worker.mailbox["wallet_address"]

    def append(kind: str, *proofs: str, **data: Any) -> None:
        subjects = [Subject("proof", proof) for proof in proofs]
        sides: Any = {"actor": gig.owner.id, "gig_id": gig.id, "mailbox_id": mailbox_id}
        db.write(lambda: events.append(kind, *subjects, **sides, data=data))

    for kind in ("proof.submitted", "proof.withdrawn", "proof.priced", "rollup.created"):
        append(kind, "P")
    append("proof.approved", "A", "B", rejection_tag=None, revised=False, auto=True)
    db.write(lambda: Mailbox.update(wallet_address=NEW_WALLET).execute())
    append("proof.reported", "A")
    append("proof.rejected", "B", rejection_tag="incomplete", revised=True)
    with pytest.raises(ZeroDivisionError):
        db.write(lambda: [append("proof.approved", "B", revised=True), 1 / 0])

    def rows(wallet: str) -> list[tuple[Any, ...]]:
        found = reversed(reputation.listed(wallet, 100, None))
        return [(one.type, one.proof_id, one.rejection_tag, one.revised) for one in found]

    assert rows(old) == [
        ("proof.approved", "A", None, False),
        ("proof.approved", "B", None, False),
    ]
    assert rows(NEW_WALLET) == [
        ("proof.reported", "A", None, False),
        ("proof.rejected", "B", "incomplete", True),
    ]


@pytest.mark.rule("R-09")
def test_rejected_work_that_a_settlement_closes_is_no_payout(books: Books) -> None:
    gig = books.world.gig()
    worker: Any = books.world.worker(gig)
    proof = approved_proof(books.world, gig, worker)
    verdict = {"action": "reject", "rejection_tag": "not_selected", "requeue": False}
    gig.owner.patch(f"{gig.path}/proofs/{proof}", verdict)

    command = db.write(lambda: settlement.record(gig.id))
    commands.run(command.id)
    with db.reading():
        assert [row.status for row in Rollup.select()] == ["settled"]
    assert [kind for kind, _ in told(worker.mailbox["wallet_address"])] == [
        "proof.approved",
        "proof.rejected",
    ]


@pytest.mark.rule("R-09")
def test_what_is_kept_cannot_be_changed_or_deleted(world: World) -> None:
    gig = world.gig()
    worker: Any = world.worker(gig)
    approved_proof(world, gig, worker)
    wallet = worker.mailbox["wallet_address"]
    (row,) = reputation.listed(wallet, 9, None)
    statements = [
        "UPDATE reputation_event SET wallet = 'x'",
        "DELETE FROM reputation_event",
        f"DELETE FROM reputation_event WHERE id = '{row.id}'",
    ]
    if db.is_postgres:
        statements.append("TRUNCATE reputation_event")
    else:
        columns = ", ".join(f'"{name}"' for name in ReputationEvent._meta.columns)
        statements.append(
            f"REPLACE INTO reputation_event ({columns}) SELECT {columns} FROM reputation_event"
        )
    for statement in statements:
        with pytest.raises(peewee.DatabaseError, match="only ever added"):
            db.write(lambda sql=statement: db.rows(sql))
    (still,) = reputation.listed(wallet, 9, None)
    assert still.__data__ == row.__data__
