"""Paying for an order from a wallet whose key is elsewhere: terms to sign, and then sent (O-10).

The terms are a row before anybody signs them. Their signature is worth one deposit, whoever sends
it; that something was paid is only ever taken from the contract's own event, and never from a hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import (
    commands,
    escrow_relay,
    escrows,
    gigs,
    install,
    modes,
    order_pace,
    order_publishing,
    order_terms,
    wallets,
)
from engine.chain.errors import ChainUnavailable
from engine.chain.keys import signer_of_typed_data
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.ids import new_id
from engine.models.escrow import Escrow
from engine.models.task import Task
from engine.operations import Caller, permit
from engine.order_terms import Payer


@dataclass(frozen=True)
class Quote:
    """Planned terms, what their depositor signs, and the shop's price (10⁻⁶ USDC)."""

    escrow: Escrow
    typed_data: dict[str, Any]
    minimum_units: int


def quote(
    caller: Caller, gig_id: str, task_id: str, amount_units: int | None, address: str
) -> Quote:
    """Terms for the caller's own order, paid from any address; nothing is signed or sent.

    Asked again the same are answered, as long as they stand. Others take their place, unless these
    were published.
    """
    order_pace.require(caller, gig_id, task_id)
    with db.reading():
        gig = gigs.get(gig_id)
        permit("draft.publish", caller, gig)
        if Task.get_or_none(Task.id == task_id, Task.gig_id == gig.id) is None:
            raise not_found("draft")
    if not modes.takes_orders(gig):
        raise Refused(
            modes.no_orders(), "Nobody orders in this gig, so nobody pays for what is published."
        )
    address = wallets.clean_address("wallet_address", address)
    rate_bps = order_terms.fee_bps()

    def write() -> tuple[Escrow, int]:
        gig, task = order_publishing.hold_unsent(caller, gig_id, task_id)
        if gig.list_price_units == 0:
            raise order_publishing.free_order(task)
        units = order_terms.require_amount(gig, amount_units)
        minimum_units = int(gig.list_price_units or 0)
        command_id = new_id("CMD")
        arguments = {"task_id": task.id, "minimum_units": minimum_units}
        commands.record_done(command_id, order_terms.QUOTE, gig.id, arguments, {})
        command = commands.peek(command_id)
        payer = Payer(address, units)
        return order_terms.plan(command, gig, task, payer, rate_bps), minimum_units

    escrow, minimum_units = db.write(write)
    return Quote(escrow, _typed_data(escrow), minimum_units)


def _typed_data(escrow: Escrow) -> dict[str, Any]:
    try:
        return escrow_relay.typed_data(escrow)
    except ChainUnavailable as error:
        raise order_terms.unreadable() from error


@dataclass(frozen=True)
class Signed:
    """Whose signature this is under the newest terms of an order, if it has any to sign."""

    signature: str
    deposit_id: str | None = None
    signer: str | None = None
    # Nobody has signed, and the depositor is a contract (ERC-1271).
    of_contract: bool = False

    def require(self, escrow: Escrow | None, amount_units: int | None) -> Escrow:
        """The terms that were signed, unless it was others, by somebody else, or too long ago.

        400 for a wrong signature or amount and `contract_wallet`, 409 `no_quote`, `quote_expired`.
        """
        if escrow is None or escrow.status not in ("planned", "abandoned") or escrow.wallet_id:
            raise Refused(
                "no_quote",
                "There are no terms of this order to sign. Ask for them with "
                "POST …/publish/quote, and sign those.",
            )
        if escrow.status == "abandoned" or not escrows.may_be_mined(escrow):
            raise Refused(
                "quote_expired",
                "These terms have run out. Nothing was sent; ask for another quote and sign that.",
            )
        if escrow.id == self.deposit_id and self.of_contract:
            raise invalid(
                "authorization",
                f"{escrow.depositor} is a contract, and only the signature of a key can be sent. "
                "Have it deposit on the quote's terms itself (depositFor), and publish without an "
                "amount then",
                "contract_wallet",
            )
        if escrow.id != self.deposit_id or self.signer != escrow.depositor:
            raise invalid(
                "authorization",
                f"this is not the signature of {escrow.depositor} under the newest quote of this "
                "order: sign its typed_data, unchanged",
            )
        if amount_units not in (None, escrow.amount_units):
            raise invalid("amount", "another amount was signed; leave it out, or ask for a quote")
        return escrow


def _newest(caller: Caller, task_id: str) -> Escrow | None:
    """The newest terms of the caller's own order: for nobody else the chain is asked anything."""
    with db.reading():
        task = Task.get_or_none(Task.id == task_id, Task.client_id == caller.account_id)
    return None if task is None else escrows.newest(task_id)


def read(caller: Caller, task_id: str, signature: str) -> Signed:
    """Look whose signature it is, outside of any transaction."""
    last = _newest(caller, task_id)
    if last is None or last.status != "planned" or last.wallet_id is not None:
        return Signed(signature)
    try:
        signer = signer_of_typed_data(_typed_data(last), signature)
    except ValueError:
        # Told once it is known that he may ask.
        signer = None
    return Signed(signature, last.id, signer, signer != last.depositor and _is_contract(last))


def _is_contract(escrow: Escrow) -> bool:
    try:
        return bool(install.treasury().chain.code(escrow.depositor))
    except ChainUnavailable as error:
        raise order_terms.unreadable() from error


def sent_already(caller: Caller, task_id: str) -> str | None:
    """The id of the deposit that was quoted for the caller's order, if its payer has sent it.

    It may have yet to be booked. Asks the chain, so outside of any transaction.
    """
    last = _newest(caller, task_id)
    if last is None or not order_terms.is_mere_quote(last):
        return None
    return last.id if order_terms.state_on_chain(last) == "open" else None
