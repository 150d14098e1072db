"""What a cancelled gig's pot gives back to those who filled it (G-08).

Each funder's share is what is free in proportion to what he put in and did not get back, in whole
base units, what rounding leaves to whoever funded first. A share is set aside in the books when it
is made, and paid when the chain says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine import clock, commands, events, gig_keys, install, ledger, signers
from engine.chain import sender
from engine.chain.errors import CallReverted
from engine.chain.treasury import key_of
from engine.chain.treasury_events import PotRefunded
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.escrow import PotRefund
from engine.models.ledger import LedgerEntry, LedgerTransaction
from engine.moves import move, take
from engine.observers import on_event, on_failure
from engine.rules import money


def shares(free_units: int, funded: Mapping[str, int]) -> dict[str, int]:
    """What each funder gets back of what is free; never more than he put in.

    `funded` is in the order in which they funded first.
    """
    total = sum(funded.values())
    most = min(free_units, total)
    if most <= 0:
        return {}
    parts = {funder: most * units // total for funder, units in funded.items()}
    left = most - sum(parts.values())
    for funder, units in funded.items():
        more = min(left, units - parts[funder])
        parts[funder] += more
        left -= more
    return {funder: units for funder, units in parts.items() if units}


def funders(gig_id: str) -> list[str]:
    """Everybody who ever filled the pot, in the order of their first deposits."""
    with db.reading():
        booked = (
            LedgerTransaction.select()
            .join(LedgerEntry, on=(LedgerEntry.transaction_id == LedgerTransaction.id))
            .where(
                LedgerTransaction.kind == "PotDeposited",
                LedgerEntry.account == "pot",
                LedgerEntry.gig_key == gig_keys.key(gig_id),
            )
            .order_by(LedgerTransaction.block_number, LedgerTransaction.booked_at)
        )
        found = [(row.block_number, row.tx_hash, row.data) for row in booked]
    return list(dict.fromkeys(name for one in found for name in _funders_of(gig_id, *one)))


def _funders_of(gig_id: str, block: int, tx_hash: str, data: dict[str, str] | None) -> list[str]:
    if data is not None:
        return [data["funder"]]
    # Booked by an older version, which did not keep the event: the chain has it.
    key = gig_keys.key(gig_id)
    return [
        event.funder
        for event in install.treasury().events(block, block)
        if event.tx_hash == tx_hash and getattr(event, "gig_key", None) == key
        if hasattr(event, "funder")
    ]


def standing_units(gig_id: str, block: int) -> dict[str, int]:
    """What each funder may still get back as of a block, in the order of first deposits."""
    treasury = install.treasury()
    return {one: treasury.funded_units(gig_id, one, block) for one in funders(gig_id)}


def less_promised(gig_id: str, funded: Mapping[str, int]) -> dict[str, int]:
    """The same without what is on its way back already; only inside `db.write`."""
    left = dict(funded)
    for refund in PotRefund.select().where(PotRefund.gig_id == gig_id, PotRefund.status != "paid"):
        left[refund.funder] = max(0, left.get(refund.funder, 0) - refund.amount_units)
    return left


def make(command: Command, gig_id: str, funder: str, units: int) -> PotRefund:
    """Set a share aside; only inside `db.write`, under the gig's lock."""
    refund_id = new_id("REFUND")
    refund = PotRefund.create(
        id=refund_id,
        gig_id=gig_id,
        command_id=command.id,
        status="pending",
        funder=funder,
        amount_units=units,
        refund_key="0x" + key_of(refund_id).hex(),
        created_at=clock.now(),
    )
    ledger.reserve(refund.id, gig_id, units)
    _tell(refund, "pot_refund.created", command.account_id or "scheduler")
    return refund


def adopt(command: Command, gig_id: str) -> None:
    """Take over what the chain refused before, and what a command that gave up has left behind.

    Only inside `db.write`.
    """
    ended = Command.select(Command.id).where(
        Command.gig_id == gig_id,
        Command.kind == command.kind,
        Command.status.in_(commands.FINISHED),
    )
    left = (PotRefund.status == "failed") | (
        (PotRefund.status == "pending") & PotRefund.command_id.in_(ended)
    )
    for refund in db.lock(PotRefund.select().where(PotRefund.gig_id == gig_id, left)):
        mine = {"command_id": command.id, "failure": None}
        if refund.status == "failed":
            move(refund, "retry", chain_transaction_id=None, **mine)
        else:
            PotRefund.update(**mine).where(PotRefund.id == refund.id).execute()


def of_command(command_id: str) -> list[PotRefund]:
    with db.reading():
        query = PotRefund.select().where(PotRefund.command_id == command_id)
        return list(query.order_by(PotRefund.created_at, PotRefund.id))


def by_ids(refund_ids: list[str]) -> list[PotRefund]:
    with db.reading():
        query = PotRefund.select().where(PotRefund.id.in_(refund_ids))
        return list(query.order_by(PotRefund.created_at, PotRefund.id))


def send(refunds: Sequence[PotRefund]) -> None:
    """Send those that are pending; what the chain refuses has failed, and stays owed (Y-04)."""
    treasury = install.treasury()
    for refund in refunds:
        if refund.status != "pending":
            continue
        try:
            _send(refund)
        except CallReverted as error:
            # Paid by a transaction that we lost sight of: the chain's event will say so.
            if not treasury.refund_spent(refund.id):
                _refused(refund, error.reason)


def _send(refund: PotRefund) -> None:
    treasury = install.treasury()
    call = treasury.refund_pot(refund.id, refund.gig_id, refund.funder, refund.amount_units)

    def stored(row: ChainTransaction) -> None:
        # Fails, and takes the signed bytes with it, if another process was quicker.
        if not take(PotRefund, refund.id, "send", chain_transaction_id=row.id):
            raise Refused("quicker", "Another process has sent this refund.")

    try:
        # A try has an intent of its own; that it is paid once is the contract's to keep.
        sender.send(treasury.chain, signers.refunder(), f"potrefund:{new_id('TRY')}", call, stored)
    except Refused as refusal:
        if refusal.code != "quicker":
            raise


def _refused(refund: PotRefund, reason: str) -> None:
    db.write(lambda: _fail(refund, reason, "pending"))


def _fail(refund: PotRefund, reason: str, before: str) -> None:
    if take(PotRefund, refund.id, "fail", PotRefund.status == before, failure=reason):
        _tell(refund, "pot_refund.failed", "chain", failure=reason)


@on_event(PotRefunded)
def paid(event: PotRefunded, taken_back: bool) -> set[str]:
    """The chain says, finally, that a share went back, or that a reorg took that back."""
    refund = PotRefund.get_or_none(PotRefund.refund_key == event.refund_key)
    if refund is None:
        return set()
    if taken_back:
        if take(PotRefund, refund.id, "unpay", paid_at=None, tx_hash=None):
            ledger.reserve(refund.id, refund.gig_id, refund.amount_units)
            _tell(refund, "pot_refund.taken_back", "chain")
    elif take(
        PotRefund, refund.id, "pay", paid_at=clock.now(), tx_hash=event.tx_hash, failure=None
    ):
        # The books take it from the pot, so what was set aside for it goes back there.
        ledger.release(refund.id)
        _tell(refund, "pot_refund.paid", "chain", tx_hash=event.tx_hash)
    return {refund.command_id}


@on_failure
def not_done(transaction: ChainTransaction) -> set[str]:
    waiting = set()
    sent = PotRefund.select().where(
        PotRefund.chain_transaction_id == transaction.id, PotRefund.status == "sent"
    )
    for refund in list(sent):
        if transaction.status == "reverted":
            _fail(refund, transaction.failure or "The contract refused it.", "sent")
        else:
            take(PotRefund, refund.id, "resend", chain_transaction_id=None)
        waiting.add(refund.command_id)
    return waiting


def _tell(refund: PotRefund, kind: str, actor: str, **more: object) -> None:
    events.append(
        kind,
        events.Subject("gig", refund.gig_id),
        actor=actor,
        gig_id=refund.gig_id,
        data={
            "funder": refund.funder,
            "amount": money.to_dollars(refund.amount_units),
            **more,
        },
    )
