"""Giving named deposits back to who put them in: by our refunder, or kept as claimable (Y-07)."""

from __future__ import annotations

from engine import clock, commands, escrows, events, gigs, install, signers
from engine.chain import sender
from engine.chain.errors import CallReverted
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.proof import LIVE, Proof
from engine.models.rollup import UNPAID, Rollup
from engine.models.task import Task
from engine.moves import take
from engine.rules import money

KIND = "escrow.refund"
LOOK_AGAIN_SECONDS = 1.0
# Nothing else tells us when what the chain refused has changed.
TRY_AGAIN_SECONDS = 60.0
# In these states of its task a deposit is somebody's pay, or may become it.
IN_HAND = ("claimed", "submitted", "approved")


def request(escrow: Escrow, actor: str, command: Command | None = None) -> Command | None:
    """Record that an open deposit goes back to its depositor; only inside `db.write`.

    By a command of its own, which is answered, or by the steps of the given one (`advance`). None,
    and nothing happens, when it is not open, or its task is in hand or owed for.
    """
    # Settlements of the gig take this lock, so that none begins to pay what goes back.
    gigs.locked(escrow.gig_id)
    if is_owed(escrow) or not take(Escrow, escrow.id, "refund_asked", failure=None):
        return None
    if command is None:
        command = commands.record(
            KIND, {"deposit_id": escrow.id}, account_id=None, gig_id=escrow.gig_id
        )
    Escrow.update(command_id=command.id).where(Escrow.id == escrow.id).execute()
    _tell("escrow.refund_requested", escrow, actor)
    return command


def is_owed(escrow: Escrow) -> bool:
    """Is somebody at work on its task, or is work on it approved and not paid?"""
    task = Task.get(Task.id == escrow.task_id)
    if task.deposit_id != escrow.id:
        # It pays for nothing: an abandoned id that opened after all.
        return False
    alive = Proof.select().where(Proof.task_id == task.id, LIVE)
    carried = Rollup.select().where(Rollup.deposit_id == escrow.id, UNPAID)
    return task.status in IN_HAND or bool(alive.exists()) or bool(carried.exists())


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step: send the refund, and be done when the chain has said what became of the deposit."""
    escrow = escrows.get(command.arguments["deposit_id"])
    if escrow.status != "refunding":
        return commands.Done(
            {
                "deposit_id": escrow.id,
                "status": escrow.status,
                "amount": money.to_dollars(escrow.amount_units),
                "tx_hash": escrow.tx_hash,
            }
        )
    return commands.Wait(advance(escrow))


def advance(escrow: Escrow) -> float:
    """Send the refund of a deposit that goes back, unless it is sent; answers after how many
    seconds to look again."""
    sent = escrows.transaction_of(escrow)
    # The opening has succeeded; a refund that has, too, is waiting to be final.
    if sent is not None and sent.status == "sent":
        return LOOK_AGAIN_SECONDS
    return _send(escrow)


def _send(escrow: Escrow) -> float:
    """Send the refund; answers after how many seconds to look again."""
    treasury = install.treasury()
    if treasury.deposit_on_chain(escrow.id).state != "open":
        # It has ended; the chain's event will say how.
        return LOOK_AGAIN_SECONDS
    call = treasury.refund(escrow.id)
    try:
        sender.send(
            treasury.chain,
            signers.refunder(),
            # A try has an intent of its own; the contract gives back once.
            f"refund:{new_id('TRY')}",
            call,
            lambda row: _store(escrow, row),
        )
    except CallReverted as error:
        _note(escrow, error.reason)
        return TRY_AGAIN_SECONDS
    except Refused as refusal:
        if refusal.code != "quicker":
            _note(escrow, refusal.message)
            return TRY_AGAIN_SECONDS
    return LOOK_AGAIN_SECONDS


def _store(escrow: Escrow, row: ChainTransaction) -> None:
    """Note the signed refund; takes the signature with it if another process was quicker."""
    before = Escrow.chain_transaction_id == escrow.chain_transaction_id
    if escrow.chain_transaction_id is None:
        before = Escrow.chain_transaction_id.is_null()
    noted = Escrow.update(chain_transaction_id=row.id, failure=None).where(
        Escrow.id == escrow.id, Escrow.status == "refunding", before
    )
    if not noted.execute():
        raise Refused("quicker", "Another process has sent this refund.")


def _note(escrow: Escrow, reason: str) -> None:
    """Keep why it does not go back yet; told once for each reason."""

    def write() -> None:
        changed = Escrow.update(failure=reason).where(
            Escrow.id == escrow.id, Escrow.failure.is_null() | (Escrow.failure != reason)
        )
        if changed.execute():
            _tell("escrow.refund_failed", escrow, "chain", reason=reason)

    db.write(write)


def _tell(kind: str, escrow: Escrow, actor: str, **more: object) -> None:
    events.append(
        kind,
        events.Subject("task", escrow.task_id),
        actor=actor,
        gig_id=escrow.gig_id,
        data={
            "deposit_id": escrow.id,
            "amount": money.to_dollars(escrow.amount_units),
            **more,
        },
    )


def give_up_stale(limit: int = 200) -> int:
    """Abandon terms that ran out unsigned; rung by the scheduler. Answers how many."""
    with db.reading():
        stale = Escrow.select(Escrow.id).where(
            Escrow.status == "planned", Escrow.expires_at < clock.now()
        )
        found = [row.id for row in stale.order_by(Escrow.created_at).limit(limit)]

    def write(deposit_id: str) -> int:
        (escrow,) = db.lock(Escrow.select().where(Escrow.id == deposit_id))
        if escrow.status != "planned" or escrows.may_be_mined(escrow):
            return 0
        escrows.abandon(escrow)
        escrows.tell(escrow, "abandoned")
        return 1

    return sum(db.write(lambda one=deposit_id: write(one)) for deposit_id in found)  # type: ignore[misc]
