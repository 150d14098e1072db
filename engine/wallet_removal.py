"""Deleting a wallet (Y-06): only once nothing is in it, nor is to be paid to it or to come back.

It is a command, since the chain is asked. Whoever makes something name the wallet locks its row, as
this does (`wallets.keep`), so of two at once the second sees what the first did. The row stays,
with its key, for what may still arrive; from then on nobody is shown it, and nothing can be sent
from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine import clock, commands, install, wallets
from engine.cancellation import IN_HAND
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.chain import UNDERWAY, ChainTransaction
from engine.models.command import UNFINISHED, Command
from engine.models.escrow import LIVE, Escrow, PotRefund
from engine.models.mailbox import Mailbox
from engine.models.proof import UNDECIDED, UNSETTLED, Proof
from engine.models.rollup import UNPAID, Rollup
from engine.models.task import Task
from engine.models.wallet import Wallet, WalletChallenge
from engine.operations import Caller
from engine.settlement import unavailable

KIND = "wallet.delete"
# 0.0001 ether: what is left over of gas, and worth less than the trouble of moving it.
DUST_WEI = 10**14
DEPOSIT = "deposit:"

# What may keep a wallet, as an answer names it, and in words.
WHY = {
    "usdc": "it holds USDC",
    "eth": "it holds more than 0.0001 ETH",
    "pot": "a pot that it filled may be given back to it",
    "claimable": "the Treasury keeps USDC for it",
    "escrow": "a named deposit of its is open, or is to be paid to it",
    "refund": "a refund to it is under way",
    "mailbox": "a mailbox of yours is paid to it (change its wallet_address, or leave its gig)",
    "owed": "work is to be paid to it, or may yet be",
    "under_way": "something that it sends is under way",
}


def request(caller: Caller, wallet_id: str) -> Command:
    """Record the deletion; it runs once this is committed."""

    def write() -> Command:
        wallet = wallets.hold(caller, wallet_id)
        install.treasury()
        arguments = {"wallet_id": wallet.id}
        return commands.record(KIND, arguments, account_id=caller.account_id, gig_id=None)

    return db.write(write)


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """Ask the chain, then decide under the wallet's lock."""
    if command.result is not None:
        return commands.Done(command.result)
    treasury = install.treasury()
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
        # First of all, so that what comes to an end while the chain is asked is not overlooked.
        before = set(_kept_by_rows(wallet))
    try:
        by_chain = set(_kept_by_chain(treasury, wallet))
    except ChainUnavailable as error:
        raise unavailable() from error

    def write() -> dict[str, bool]:
        if db.lock(Wallet.select().where(Wallet.id == wallet.id))[0].deleted_at is not None:
            raise not_found("wallet")
        kept = before | by_chain | set(_kept_by_rows(wallet))
        if kept:
            raise _in_use(kept)
        result = {"success": True}
        WalletChallenge.delete().where(WalletChallenge.wallet_id == wallet.id).execute()
        Wallet.update(deleted_at=clock.now()).where(Wallet.id == wallet.id).execute()
        # With the effect, so that a step that is taken again does not find it done by another.
        Command.update(result=result).where(Command.id == command.id).execute()
        return result

    return commands.Done(db.write(write))


def _in_use(kept: set[str]) -> Refused:
    names = [name for name in WHY if name in kept]
    told = ", and ".join(WHY[name] for name in names)
    return Refused("wallet_in_use", f"This wallet cannot be deleted yet: {told}.", in_use_for=names)


def _kept_by_rows(wallet: Wallet) -> Iterator[str]:
    """What our own rows say that still needs the wallet."""
    address = wallet.evm_address
    commands_of = Command.select().where(
        UNFINISHED, Command.account_id == wallet.account_id, Command.kind != KIND
    )
    sent = ChainTransaction.select().where(UNDERWAY, ChainTransaction.signer == address)
    if any(one.arguments.get("wallet_id") == wallet.id for one in commands_of) or sent.exists():
        yield "under_way"
    # An order's deposit pays the wallet that its terms name, whatever its mailbox names by now.
    named = (Escrow.depositor == address) | (Escrow.payee == address)
    if Escrow.select().where(LIVE, named).exists():
        yield "escrow"
    unpaid = PotRefund.status.in_(["pending", "sent", "failed"])
    if PotRefund.select().where(unpaid, PotRefund.funder == address).exists():
        yield "refund"
    mine = Mailbox.select(Mailbox.id).where(Mailbox.account_id == wallet.account_id)
    paid_here = mine.where(Mailbox.wallet_address == address)
    if paid_here.where(Mailbox.status.in_(("active", "pending_approval"))).exists():
        yield "mailbox"
    if _is_owed(address, mine, paid_here):
        yield "owed"


def _is_owed(address: str, mine: Any, paid_here: Any) -> bool:
    """May anything still be paid to it? Counts what a cancelled gig keeps aside, and rollups.

    In the order in which work becomes money, so that what goes on meanwhile is met further on; and
    all verdicts in one statement, since they are changed back and forth.
    """
    return any(
        query.exists()
        for query in (
            Task.select().where(Task.status.in_(IN_HAND), Task.mailbox_id.in_(paid_here)),
            Proof.select().where(UNDECIDED | UNSETTLED, Proof.mailbox_id.in_(paid_here)),
            Rollup.select().where(
                UNPAID, Rollup.wallet_address == address, Rollup.mailbox_id.in_(mine)
            ),
        )
    )


def _kept_by_chain(treasury: Treasury, wallet: Wallet) -> Iterator[str]:
    """What the chain says that is the wallet's."""
    wei, units = wallets.balances(wallet)
    if units > 0:
        yield "usdc"
    if wei > DUST_WEI:
        yield "eth"
    if treasury.claimable_units(wallet.evm_address) > 0:
        yield "claimable"
    for gig_id in _filled_by(wallet):
        # As much of what it put in as the pot still has.
        pot = treasury.pot_units(gig_id)
        if pot > 0 and treasury.funded_units(gig_id, wallet.evm_address) > 0:
            yield "pot"
            return


def _filled_by(wallet: Wallet) -> list[str]:
    """The gigs into whose pots it has put something."""
    with db.reading():
        sent = ChainTransaction.select(ChainTransaction.intent).where(
            ChainTransaction.signer == wallet.evm_address,
            ChainTransaction.intent.startswith(DEPOSIT),
        )
        given = [row.intent.removeprefix(DEPOSIT).partition(":")[0] for row in sent]
        gigs = Command.select(Command.gig_id).where(
            Command.id.in_(given), Command.gig_id.is_null(False)
        )
        return sorted({str(row.gig_id) for row in gigs})
