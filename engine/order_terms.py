"""The terms of an order's deposit: what is paid, to whom, at which rate (Y-01, O-10, O-11)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import escrow_gigs, escrows, gigs, install, order_handing, wallets
from engine.chain.deposit_terms import residue_below
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused, invalid
from engine.escrows import Wanted
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.rules import money, order_money

QUOTE = "order.quote"


@dataclass(frozen=True)
class Payer:
    """Who deposits how much (10⁻⁶ USDC); `wallet_id` of a hot wallet, None for another address."""

    address: str
    amount_units: int
    wallet_id: str | None = None


def require_amount(gig: Gig, amount_units: int | None) -> int:
    """What is deposited: whole cents, and the shop's price at least; 400 for anything else."""
    least_units = gig.list_price_units or 0
    price = f"${money.to_dollars(least_units):.2f}"
    if amount_units is None:
        raise invalid("amount", f"say how much you deposit: {price} or more", "amount_required")
    if amount_units != money.floor_to_cent(amount_units):
        raise invalid("amount", "give whole cents", "fractional_cents")
    if amount_units < least_units:
        raise invalid("amount", f"this shop asks for {price} at least", "below_list_price")
    return amount_units


def require_treasury(gig: Gig) -> None:
    """409 `contract_mismatch` where the shop was opened on another contract than this install's."""
    if install.treasury().address != gig.treasury_address:
        raise Refused(
            "contract_mismatch",
            "This shop belongs to another Treasury contract than this server uses, so no deposit "
            "would reach it. Its operator has to see to that; nothing was sent.",
        )


def fee_bps() -> int:
    """The contract's rate now; 503 `fee_rate_unreadable`."""
    try:
        return install.treasury().fee_bps()
    except ChainUnavailable as error:
        raise Refused(
            "fee_rate_unreadable",
            "The platform's fee cannot be read from the chain just now. Nothing was sent; try "
            "again shortly.",
        ) from error


def require_settleable(amount_units: int, rate_bps: int) -> None:
    """409 `residue_too_large` for what the contract would never pay out."""
    split = order_money.split(amount_units, rate_bps)
    if split.net_units <= 0 or not 0 <= split.residue_units < residue_below(rate_bps):
        raise Refused(
            "residue_too_large",
            f"At the fee of {rate_bps} basis points this amount could not be settled. Choose "
            "another one; nothing was sent.",
            fee_bps=rate_bps,
        )


def state_on_chain(escrow: Escrow) -> str:
    """What the contract knows of the deposit now; 503 `chain_unreadable`."""
    try:
        return install.treasury().deposit_on_chain(escrow.id).state
    except ChainUnavailable as error:
        raise unreadable() from error


def unreadable() -> Refused:
    return Refused(
        "chain_unreadable",
        "The chain does not answer just now. Nothing was sent; try again shortly.",
    )


def hold(gig_id: str, task_id: str, *, alone: bool = False) -> tuple[Gig, Task, bool]:
    """A shop, an order of it, and whether its vendor could be handed that; each held, in order.

    `alone`: no settlement of the shop is decided on meanwhile.
    """
    if alone:
        gig = gigs.locked(gig_id)
    else:
        gigs.share(gig_id)
        gig = gigs.get(gig_id)
    active = order_handing.hold_vendor(gig)
    (task,) = db.lock(Task.select().where(Task.id == task_id))
    return gig, task, active


def plan(command: Command, gig: Gig, task: Task, payer: Payer, rate_bps: int) -> Escrow:
    """The order's deposit, its terms stored, after `hold`; only inside `db.write`.

    409 `deposit_unreconciled` while one on other terms may come or is going back, and
    `state_mismatch` where there is one that nothing should be paid on top of.
    """
    require_settleable(payer.amount_units, rate_bps)
    last = escrows.newest(task.id)
    if last is not None and last.status in ("open", "refunding"):
        raise unreconciled()
    if last is not None and last.status == "settled":
        raise Refused(
            "state_mismatch",
            "The deposit of this order was paid out, yet the order is not sent. Nothing was "
            "deposited; its operator has to look at it.",
        )
    address = payee(gig)
    wanted = Wanted(
        task_id=task.id,
        gig_id=gig.id,
        depositor=payer.address,
        units_of=lambda _: payer.amount_units,
        wallet_id=payer.wallet_id,
        payee=address,
        reclaimer=escrow_gigs.reclaimer_of(str(task.client_id)) or escrows.NOBODY,
    )
    if last is not None and is_idle(last) and not _same(last, wanted, rate_bps):
        # We are not sending it; should its depositor do so all the same, it goes back by itself.
        escrows.abandon(last)
    try:
        planned = escrows.plan(command, wanted, rate_bps)
    except Refused as refusal:
        if refusal.code != "deposit_under_way":
            raise
        raise unreconciled() from refusal
    wallets.keep([address])
    return planned


def is_mere_quote(escrow: Escrow) -> bool:
    """Were these terms only offered, and never published?"""
    return escrow.status == "planned" and escrow.wallet_id is None and escrow.authorization is None


def is_idle(escrow: Escrow) -> bool:
    """Is nothing of ours on its way for terms that an outside wallet was to sign?"""
    if escrow.status != "planned" or escrow.wallet_id is not None:
        return False
    sent = escrows.transaction_of(escrow)
    return sent is None or sent.status in ("reverted", "replaced")


def _same(escrow: Escrow, wanted: Wanted, rate_bps: int) -> bool:
    return (
        escrow.depositor == wanted.depositor
        and escrow.payee == wanted.payee
        and escrow.wallet_id == wanted.wallet_id
        and escrow.amount_units == wanted.units_of(rate_bps)
        and escrow.fee_bps == rate_bps
    )


def unreconciled() -> Refused:
    return Refused(
        "deposit_unreconciled",
        "An earlier deposit for this order, on other terms, may still be mined or is on its way "
        "back. Nothing was sent twice; see GET /api/orders, and publish again once it has ended.",
    )


def payee(gig: Gig) -> str:
    """Where this shop's vendor is paid: fixed in the terms when they are made (O-11)."""
    address: str = Mailbox.get(Mailbox.id == gig.owner_mailbox_id).wallet_address
    return address
