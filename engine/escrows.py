"""Named deposits: money that the contract holds for one task (Y-07, O-02).

The terms, from which the id on chain follows, are a row before anything is signed, and every retry
uses that row, so that one task never has two deposits. Another id, the next attempt, is made only
when the last one went back for good, or came to nothing and can no longer be mined. What becomes
of an escrow only the chain says: see `engine/escrow_events.py`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from engine import clock, install
from engine.chain.treasury import Terms
from engine.db import db
from engine.errors import Refused
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.escrow import LIVE, Escrow
from engine.models.task import Task
from engine.moves import move, take

NOBODY = "0x" + "0" * 40
# Terms that nobody has signed by then are given up.
TERMS_MS = 60 * 60 * clock.SECOND
# States after which the task may have another deposit.
OVER = ("refunded", "reclaimed", "abandoned")

# What listeners are told: the state that the escrow has now, or `unopened` and `reopened` when a
# reorg took that back; `opened_late` of one that was given up, which is then given back.
Listener = Callable[[Escrow, str], None]
ListenerT = TypeVar("ListenerT", bound=Listener)
_listeners: list[Listener] = []


def listen(fn: ListenerT) -> ListenerT:
    """Register `fn(escrow, what)`, called in the transaction of each change."""
    _listeners.append(fn)
    return fn


def tell(escrow: Escrow, what: str) -> None:
    """Only inside `db.write`."""
    for fn in _listeners:
        fn(escrow, what)


@dataclass(frozen=True)
class Wanted:
    """A deposit that somebody wants to make. `units_of` says how much, at a fee rate in bps."""

    task_id: str
    gig_id: str
    depositor: str
    units_of: Callable[[int], int]
    wallet_id: str | None = None
    payee: str = NOBODY
    reclaimer: str = NOBODY


def plan(command: Command, wanted: Wanted, fee_bps: int) -> Escrow:
    """The task's deposit, its terms stored; only inside `db.write`.

    409 `deposit_under_way` while an earlier one of another amount may still be mined, and
    `deposit_settled` once one was paid out.
    """
    # Of two who plan for one task the second waits here, and then finds the first one's row.
    db.lock(Task.select(Task.number).where(Task.id == wanted.task_id))
    last = newest(wanted.task_id)
    if last is not None and last.status not in OVER:
        kept = _keep(command, last, wanted, fee_bps)
        if kept is not None:
            return kept
    attempt = 1 if last is None else last.attempt + 1
    terms = Terms(
        depositor=wanted.depositor,
        payee=wanted.payee,
        gig_id=wanted.gig_id,
        units=wanted.units_of(fee_bps),
        fee_bps=fee_bps,
        reclaimer=wanted.reclaimer,
        salt=salt(wanted.task_id, attempt),
    )
    now = clock.now()
    return Escrow.create(
        id=install.treasury().deposit_id(terms),
        gig_id=wanted.gig_id,
        task_id=wanted.task_id,
        attempt=attempt,
        status="planned",
        depositor=terms.depositor,
        payee=terms.payee,
        amount_units=terms.units,
        fee_bps=terms.fee_bps,
        reclaimer=terms.reclaimer,
        salt=terms.salt,
        expires_at=now + TERMS_MS,
        wallet_id=wanted.wallet_id,
        command_id=command.id,
        created_at=now,
    )


def _keep(command: Command, last: Escrow, wanted: Wanted, fee_bps: int) -> Escrow | None:
    """The deposit that is there, now this command's; None when it can be given up and was."""
    if last.status == "settled":
        raise Refused("deposit_settled", "The deposit of this task was paid out already.")
    same = (
        last.depositor == wanted.depositor
        and last.payee == wanted.payee
        and last.amount_units == wanted.units_of(last.fee_bps)
    )
    # Terms that something was signed for are used up when that has come to nothing.
    good = (
        same
        and last.fee_bps == fee_bps
        and clock.now() <= last.expires_at
        and last.chain_transaction_id is None
    )
    if last.status == "planned" and not good and not may_be_mined(last):
        abandon(last)
        return None
    if not same:
        raise Refused(
            "deposit_under_way",
            "A deposit on other terms is under way for this task. Wait until it has ended.",
        )
    Escrow.update(command_id=command.id).where(Escrow.id == last.id).execute()
    last.command_id = command.id
    return last


def salt(task_id: str, attempt: int) -> str:
    """32 bytes as 0x hex that nobody else can guess, and that come out the same again."""
    secret = install.current().settings.DEPOSIT_ID_SECRET or install.shared_secret("deposit-ids")
    told = f"{task_id}:{attempt}".encode()
    return "0x" + hmac.new(secret.encode(), told, hashlib.sha256).hexdigest()


def terms_of(escrow: Escrow) -> Terms:
    return Terms(
        depositor=escrow.depositor,
        payee=escrow.payee,
        gig_id=escrow.gig_id,
        units=escrow.amount_units,
        fee_bps=escrow.fee_bps,
        reclaimer=escrow.reclaimer,
        salt=escrow.salt,
    )


def may_be_mined(escrow: Escrow) -> bool:
    """May a deposit on these terms still appear on chain? Only inside `db.write` or a reading."""
    if escrow.wallet_id is None or escrow.authorization is not None:
        # Whoever has the depositor's signature may send it; it ends with the terms.
        return clock.now() <= escrow.expires_at
    sent = transaction_of(escrow)
    # Ours alone is the key, so without a transaction nothing is signed.
    return sent is not None and sent.status not in ("reverted", "replaced")


def may_arrive() -> bool:
    """May a deposit come at any moment that nothing of ours sends: do terms for others stand?"""
    elsewhere = Escrow.wallet_id.is_null() | Escrow.authorization.is_null(False)
    with db.reading():
        standing = Escrow.select().where(
            LIVE, Escrow.status == "planned", elsewhere, Escrow.expires_at >= clock.now()
        )
        return bool(standing.exists())


def transaction_of(escrow: Escrow) -> ChainTransaction | None:
    """The newest transaction of ours about it."""
    if escrow.chain_transaction_id is None:
        return None
    with db.reading():
        return ChainTransaction.get_by_id(escrow.chain_transaction_id)


def abandon(escrow: Escrow) -> None:
    """Give up terms that can no longer be mined. Should they open all the same, they go back."""
    move(escrow, "abandon", ended_at=clock.now())


def give_up_unsigned(deposit_id: str) -> bool:
    """Abandon terms for which we have signed nothing, so that nothing is signed any more."""
    ours, unsigned = Escrow.wallet_id.is_null(False), Escrow.chain_transaction_id.is_null()
    return take(Escrow, deposit_id, "abandon", ours, unsigned, ended_at=clock.now())


def newest(task_id: str) -> Escrow | None:
    with db.reading():
        query = Escrow.select().where(Escrow.task_id == task_id)
        found: Escrow | None = query.order_by(Escrow.attempt.desc()).first()
    return found


def get(deposit_id: str) -> Escrow:
    with db.reading():
        return Escrow.get(Escrow.id == deposit_id)
