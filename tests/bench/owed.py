"""Workers who are owed money, made in bulk."""

from __future__ import annotations

import secrets
from typing import Any

import peewee

from engine import clock
from engine.chain.client import checksum
from engine.db import db
from engine.ids import new_id
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from tests.world import Gig

PROOFS_EACH = 2
PRICE_UNITS = 500_000
UNITS_EACH = PROOFS_EACH * PRICE_UNITS


def new_address() -> str:
    return checksum("0x" + secrets.token_hex(20))


def approved_proofs(gig: Gig, workers: int, proofs_each: int = PROOFS_EACH) -> None:
    """So many new mailboxes with approved proofs, each with a new address."""

    def write() -> None:
        now = clock.now()
        # One account may have many mailboxes in a gig; the next numbers are free.
        highest = Mailbox.select(peewee.fn.MAX(Mailbox.ordinal)).where(Mailbox.gig_id == gig.id)
        first = (highest.scalar() or 0) + 1
        mailboxes = [_mailbox(gig, first + number, now) for number in range(workers)]
        tasks = [_task(gig, mailbox, now) for mailbox in mailboxes for _ in range(proofs_each)]
        proofs = [_proof(task, now) for task in tasks]
        _insert(Mailbox, mailboxes)
        _insert(Task, tasks)
        _insert(Proof, proofs)

    db.write(write)


def unpaid(gig_id: str) -> int:
    with db.reading():
        query = Rollup.select().where(Rollup.gig_id == gig_id, Rollup.status != "paid")
        return int(query.count())


def _insert(table: Any, rows: list[dict[str, Any]]) -> None:
    for first in range(0, len(rows), 200):
        table.insert_many(rows[first : first + 200]).execute()


def _mailbox(gig: Gig, ordinal: int, now: int) -> dict[str, Any]:
    return {
        "id": new_id("MBX"),
        "gig_id": gig.id,
        "account_id": gig.owner.id,
        "status": "active",
        "name": "a worker",
        "email": "worker@example.com",
        "wallet_address": new_address(),
        "webhook_secret": "whsec_" + "A" * 43 + "=",
        "notes": "",
        "tags": [],
        "ordinal": ordinal,
        "joined_at": now,
    }


def _task(gig: Gig, mailbox: dict[str, Any], now: int) -> dict[str, Any]:
    return {
        "id": new_id("TASK"),
        "gig_id": gig.id,
        "status": "approved",
        "subject": "",
        "payload": "{}",
        "content_type": "application/json",
        "tags": [],
        "price_tbd": False,
        "priority": 1000,
        "mailbox_id": mailbox["id"],
        "claimed_at": now,
        "held_price_units": PRICE_UNITS,
        "created_at": now,
    }


def _proof(task: dict[str, Any], now: int) -> dict[str, Any]:
    return {
        "id": new_id("PROOF"),
        "gig_id": task["gig_id"],
        "mailbox_id": task["mailbox_id"],
        "task_id": task["id"],
        "status": "approved",
        "evidence": [],
        "tags": [],
        "private_note": "",
        "locked_price_units": PRICE_UNITS,
        "price_source": "gig",
        "feedback": "",
        "returned": False,
        "submitted_at": now,
        "reviewed_at": now,
    }
