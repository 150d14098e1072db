"""Tasks that are funded one by one when they are sent (Y-07).

A task begins `unfunded`, with the command that puts its deposit in. Once the chain says that the
deposit is open, the task is funded and handed to its gig's mode in that very transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine import (
    arrivals,
    clock,
    commands,
    entries,
    escrow_funding,
    escrow_gigs,
    escrow_refunds,
    escrows,
    events,
    gigs,
    install,
    spending,
)
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused, invalid
from engine.escrows import Wanted
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.rollup import UNPAID, Rollup
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.moves import take
from engine.rules import money, times

KIND = "task.fund"
LOOK_AGAIN_SECONDS = 1.0


def price_units(gig: Gig, price_units: int | None, price_tbd: bool) -> int:
    """What a task in a `task_escrow` gig pays: its own price or else the gig's, and no other later.

    400 where there is none, since nobody could tell how much to deposit.
    """
    units = None if price_tbd else price_units if price_units is not None else gig.price_units
    if not units:
        raise invalid("price", "this gig funds each task when it is sent: name its price")
    _require_payable(int(units))
    return int(units)


def _require_payable(units: int) -> None:
    """A price that was named before there was a limit may be more than can be deposited."""
    if units > money.MAX_UNITS:
        raise invalid("price", money.TOO_LARGE)


def begin(gig: Gig, task: Task, wallet_id: str | None = None) -> Command:
    """Record that a task is to be funded, from the gig's paying wallet; only inside `db.write`."""
    wallet_id = wallet_id or _paying_wallet(gig).id
    # Held, so that it is not deleted before the command that needs it can be seen.
    db.lock(Wallet.select(Wallet.id).where(Wallet.id == wallet_id))
    command = commands.record(
        KIND,
        {"task_id": task.id, "wallet_id": wallet_id},
        account_id=gig.owner_id,
        gig_id=gig.id,
    )
    Task.update(command_id=command.id).where(Task.id == task.id).execute()
    return command


def _paying_wallet(gig: Gig) -> Wallet:
    wallet = escrow_gigs.wallet_of(gig.owner_id, gig.owner_wallet)
    if wallet is None:
        raise Refused(
            "no_owner_wallet",
            "The hot wallet that pays for this gig's tasks is gone. Its owner sets owner_wallet.",
        )
    return wallet


def has_failed(task: Task) -> bool:
    """Did the last command that was to fund this locked task come to nothing?

    409 `task_cancelled` for one that nobody can fund any more.
    """
    if task.command_id is None or task.status == "cancelled":
        raise Refused(
            "task_cancelled",
            "The task under this external_id was cancelled before it was funded. "
            "Send it under a new one.",
            message_id=task.id,
        )
    return task.status == "unfunded" and commands.peek(task.command_id).status == "failed"


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step towards a funded task."""
    task_id = command.arguments["task_id"]
    with db.reading():
        task = Task.get(Task.id == task_id)
    if task.status == "cancelled":
        raise Refused("task_cancelled", "This task was cancelled before it was funded.")
    if not lacks_deposit(task):
        return commands.Done(arrivals.answer_of(task_id) or {})
    try:
        deposit_id = _planned(command, task) or _plan(command, task)
        escrow_funding.advance(deposit_id)
    except Refused as refusal:
        reason = refusal
        if refusal.code != "database_unavailable" and db.write(
            lambda: _give_up(command, task_id, reason)
        ):
            refusal.details |= {"draft_kept": True, "message_id": task_id}
        raise
    return commands.Wait(LOOK_AGAIN_SECONDS)


def lacks_deposit(task: Task) -> bool:
    """Is it still to be funded, or to be funded again?

    Again, when a reorg took its deposit back and the chain then refused it. Not when the deposit
    went back to its owner: then nobody can be paid for the task (O-05).
    """
    if task.status == "cancelled":
        return False
    if task.status == "unfunded" or task.escrowed_at is not None:
        return bool(task.status == "unfunded")
    last = escrows.newest(task.id)
    return last is not None and last.status in ("planned", "abandoned")


def _planned(command: Command, task: Task) -> str | None:
    """The deposit that an earlier step of this command has planned, if it still stands."""
    last = escrows.newest(task.id)
    mine = last is not None and last.command_id == command.id and last.status not in escrows.OVER
    return last.id if last is not None and mine else None


def _plan(command: Command, task: Task) -> str:
    try:
        fee_bps = install.treasury().fee_bps()
    except ChainUnavailable as error:
        raise escrow_funding.unavailable() from error
    gig = gigs.get(task.gig_id)
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
    price = task.price_units or 0
    _require_payable(price)
    wanted = Wanted(
        task_id=task.id,
        gig_id=gig.id,
        depositor=wallet.evm_address,
        units_of=lambda bps: price + money.fee_on_top(price, bps),
        wallet_id=wallet.id,
        reclaimer=escrow_gigs.reclaimer_of(gig.owner_id) or escrows.NOBODY,
    )

    def write() -> str:
        if not _is_mine(command, task.id):
            raise Refused("in_progress", "Another request funds this task by now.")
        planned = escrows.plan(command, wanted, fee_bps)
        told = {"escrow_units": planned.amount_units, "escrow_fee_bps": planned.fee_bps}
        Task.update(deposit_id=planned.id, **told).where(Task.id == task.id).execute()
        if task.deposit_id not in (None, planned.id):
            _pay_from(planned, str(task.deposit_id))
        return str(planned.id)

    return db.write(write)


def _pay_from(planned: Escrow, given_up_id: str) -> None:
    """What the deposit before was to pay, this one pays, at its own rate."""
    for rollup in Rollup.select().where(Rollup.deposit_id == given_up_id, UNPAID):
        fee_units = money.fee_on_top(rollup.gross_units, planned.fee_bps)
        told = {"deposit_id": planned.id, "fee_bps": planned.fee_bps, "fee_units": fee_units}
        Rollup.update(**told).where(Rollup.id == rollup.id).execute()


def _is_mine(command: Command, task_id: str) -> bool:
    (task,) = db.lock(Task.select().where(Task.id == task_id))
    return bool(task.command_id == command.id and lacks_deposit(task))


def _give_up(command: Command, task_id: str, refusal: Refused) -> bool:
    """Nothing was deposited. What was a draft is one again, which the answer says; a task that can
    be sent again by its external id waits for that."""
    if not _is_mine(command, task_id):
        return False
    task = Task.get(Task.id == task_id)
    was_draft = task.draft_saved_at is not None
    if task.status == "unfunded":
        spending.take_back(gigs.get(task.gig_id), task)
    if task.status == "unfunded" and (was_draft or task.external_id is None):
        take(Task, task.id, "unpublish" if was_draft else "cancel")
        last = escrows.newest(task.id)
        if last is not None and last.status == "planned" and not escrows.may_be_mined(last):
            escrows.abandon(last)
    events.append(
        "task.not_funded",
        events.Subject("task", task.id),
        actor="chain",
        gig_id=task.gig_id,
        data={"reason": refusal.code, "error": refusal.message},
    )
    return was_draft and task.status == "unfunded"


@escrows.listen
def _changed(escrow: Escrow, what: str) -> None:
    """What the chain says of a task's deposit, in the transaction that books it."""
    # The gig first, as whoever settles or cancels it does; then whom the task is to be given to.
    gig = gigs.locked(escrow.gig_id)
    if not gig.task_escrow:
        return
    arrivals.hold_assignee(escrow.task_id)
    numbers = db.rows("SELECT number FROM task WHERE id = ?", (escrow.task_id,))
    entries.hold(*(number for (number,) in numbers))
    found = db.lock(Task.select().where(Task.deposit_id == escrow.id, Task.id == escrow.task_id))
    if not found:
        return
    (task,) = found
    if what in ("open", "reopened"):
        _fund(gig, escrow, task)
    elif what in ("unopened", "refunded", "reclaimed"):
        Task.update(escrowed_at=None).where(Task.id == task.id).execute()
        if what != "unopened":
            _lose(task)


def _fund(gig: Gig, escrow: Escrow, task: Task) -> None:
    now = clock.now()
    if task.status in ("cancelled", "draft"):
        escrow_refunds.request(escrow, "chain")
        return
    Task.update(escrowed_at=now).where(Task.id == task.id).execute()
    if not take(Task, task.id, "fund"):
        # It was handed out before a reorg took the deposit back for a while.
        return
    answer = arrivals.hand_out(
        gig,
        Task.get(Task.id == task.id),
        escrow_funded=True,
        escrow_amount=money.to_dollars(escrow.amount_units),
        escrow_fee_bps=escrow.fee_bps,
        escrowed_at=times.iso_ms(now),
        deposit_id=escrow.id,
    )
    if answer["status"] == "dropped":
        close([task], "chain")


def _lose(task: Task) -> None:
    """Its money is gone, so nobody can be paid for it: it is not handed out, its holder is told."""
    if task.status in ("queued", "unassigned"):
        close([task], "chain")
    elif task.mailbox_id is not None:
        events.append(
            "task.escrow_left",
            events.Subject("task", task.id),
            actor="chain",
            gig_id=task.gig_id,
            mailbox_id=task.mailbox_id,
            data={"deposit_id": task.deposit_id, "mailbox_id": task.mailbox_id},
        )


def close(tasks: Iterable[Task], actor: str) -> list[str]:
    """Cancel tasks that nobody holds, and give their deposits back; only inside `db.write`.

    Answers the ids of those that were cancelled: queued, unfunded, or rejected for good.
    """
    closed = []
    for task in tasks:
        entries.withdraw(task)
        if not take(Task, task.id, "cancel"):
            continue
        closed.append(task.id)
        if task.deposit_id is not None and not escrows.give_up_unsigned(task.deposit_id):
            escrow_refunds.request(escrows.get(task.deposit_id), actor)
    if closed:
        events.append(
            "task.cancelled",
            *(events.Subject("task", task_id) for task_id in closed),
            actor=actor,
            gig_id=task.gig_id,
        )
    return closed


def release_rejected(task_ids: Iterable[str], actor: str) -> list[str]:
    """Tasks whose rejection has become final: their deposits go back; only inside `db.write`."""
    rejected = Task.select().where(
        Task.id.in_(list(task_ids)), Task.status == "rejected", Task.deposit_id.is_null(False)
    )
    return close(db.lock(rejected.order_by(Task.number)), actor)
