"""Wallets (Y-06). A private key is encrypted at rest, decrypted to sign, and never answered.

A hot wallet is proven from the start: its key was made here and was never anybody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import peewee

from engine import clock, install, pages
from engine.chain.client import checksum, new_key
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.ids import new_id
from engine.models.wallet import Wallet
from engine.operations import Caller

ZERO_ADDRESS = "0x" + "0" * 40
_KEEP = "SELECT id FROM wallet WHERE evm_address IN ({marks}) ORDER BY id FOR SHARE"


def clean_address(field: str, text: str) -> str:
    """An EIP-55 address of somebody's; a mixed-case one must have the right checksum.

    400 also for one that belongs to nobody, or to a contract of ours: what is sent there is lost.
    """
    try:
        address = checksum(text)
    except ValueError as error:
        raise invalid(field, str(error)) from error
    lost = {ZERO_ADDRESS: "this is the zero address, where money is lost"}
    treasury = install.current().treasury
    if treasury is not None:
        lost[treasury.usdc_address] = "this is the USDC contract, where money is lost"
        lost[treasury.address] = (
            "this is the Treasury, where money is lost; to fill a gig's pot, deposit into the gig"
        )
    if address in lost:
        raise invalid(field, lost[address])
    return address


def create(caller: Caller, label: str, is_hot: bool, evm_address: str | None) -> Wallet:
    """A hot wallet with a new key of ours, or an external one by its address."""
    if is_hot:
        if evm_address is not None:
            raise invalid("evm_address", "a hot wallet's address is made here; leave it out")
        return db.write(lambda: make_hot(caller.account_id, label))
    if evm_address is None:
        raise invalid("evm_address", "give the address of the external wallet")
    address = clean_address("evm_address", evm_address)

    def write() -> Wallet:
        require_unproven(address, caller.account_id)
        return Wallet.create(
            id=new_id("WALLET"),
            account_id=caller.account_id,
            label=label,
            evm_address=address,
            is_hot_wallet=False,
            encrypted_key=None,
            created_at=clock.now(),
        )

    return db.write(write)


def make_hot(account_id: str, label: str) -> Wallet:
    """Only inside `db.write`."""
    private_key, address = new_key()
    now = clock.now()
    return Wallet.create(
        id=new_id("WALLET"),
        account_id=account_id,
        label=label,
        evm_address=address,
        is_hot_wallet=True,
        encrypted_key=install.current().keyring.encrypt(private_key),
        created_at=now,
        verified_at=now,
    )


def require_unproven(address: str, account_id: str) -> None:
    """Refuse an address that another account has proven to be its own (M-01).

    One that nobody has proven may be named by any number of accounts.
    """
    proven = Wallet.select().where(
        Wallet.evm_address == address,
        Wallet.verified_at.is_null(False),
        Wallet.deleted_at.is_null(),
        Wallet.account_id != account_id,
    )
    with db.reading():
        taken = proven.exists()
    if taken:
        raise address_proven(address)


def address_proven(address: str) -> Refused:
    return Refused(
        "address_proven",
        f"Another account has proven that {address} is its own. Give an address of yours.",
    )


def keep(addresses: Iterable[str]) -> None:
    """Keep the wallets at some addresses undeleted until the transaction ends.

    For whoever makes a mailbox or a payout name them: a deletion waits, and then finds what was
    named. Locked after everything else. Only inside `db.write`; SQLite's one writer is alone.
    """
    if not db.is_postgres:
        return
    for some in peewee.chunked(sorted(set(addresses)), 500):
        marks = ", ".join("?" for _ in some)
        db.rows(_KEEP.format(marks=marks), some)


def is_gone(address: str) -> bool:
    """Is its key that of a hot wallet which was deleted, so that nobody reaches what is there?"""
    gone = Wallet.select().where(
        Wallet.evm_address == address, Wallet.is_hot_wallet, Wallet.deleted_at.is_null(False)
    )
    with db.reading():
        return bool(gone.exists())


def require_reachable(field: str, address: str) -> None:
    """Refuse the address of a wallet that was deleted here."""
    if is_gone(address):
        raise invalid(field, "this wallet was deleted, so what is sent there is lost; name another")


def name(field: str, address: str) -> None:
    """The same for what a mailbox is to name, which is then kept; only inside `db.write`."""
    keep([address])
    require_reachable(field, address)


def payout_address(address: str, account_id: str, label: str) -> str:
    """Where a mailbox that comes back to life is paid: where it was, or else to a new hot wallet.

    Else is when it was deleted in between. Only inside `db.write`.
    """
    keep([address])
    return make_hot(account_id, label).evm_address if is_gone(address) else address


def mine(caller: Caller, limit: int, after: pages.Position) -> list[Wallet]:
    """The caller's wallets, oldest first."""
    with db.reading():
        return pages.page(_live(caller), (Wallet.created_at, Wallet.id), limit, after)


def get(caller: Caller, wallet_id: str) -> Wallet:
    """A wallet of the caller's; 404 for anybody else's, and for a deleted one."""
    with db.reading():
        wallet: Wallet | None = _live(caller).where(Wallet.id == wallet_id).first()
    if wallet is None:
        raise not_found("wallet")
    return wallet


def hold(caller: Caller, wallet_id: str) -> Wallet:
    """The same, locked until the transaction ends, so that it is not deleted meanwhile.

    Whoever records a command that uses a wallet holds it first, and names it `wallet_id` in the
    command's arguments. Only inside `db.write`.
    """
    found = db.lock(_live(caller).where(Wallet.id == wallet_id))
    if not found:
        raise not_found("wallet")
    wallet: Wallet = found[0]
    return wallet


def _live(caller: Caller) -> Any:
    return Wallet.select().where(
        Wallet.account_id == caller.account_id, Wallet.deleted_at.is_null()
    )


def balances(wallet: Wallet) -> tuple[int, int]:
    """(wei, USDC base units) as the chain says now; ChainUnavailable when it does not answer."""
    treasury = install.treasury()
    return (
        treasury.chain.eth_balance_wei(wallet.evm_address),
        treasury.usdc_units(wallet.evm_address),
    )


def shortage(treasury: Treasury, address: str, units: int, gas: int) -> list[str]:
    """What the address lacks to send that: `usdc` (base units), `gas`, both or nothing."""
    max_fee_wei, _ = treasury.chain.fees()
    short = []
    if treasury.usdc_units(address) < units:
        short.append("usdc")
    if treasury.chain.eth_balance_wei(address) < gas * max_fee_wei:
        short.append("gas")
    return short


def require_balances(treasury: Treasury, address: str, units: int, gas: int) -> None:
    """402 with what is short: before something is sent, or of what was refused (`gas` 0 then)."""
    short = shortage(treasury, address, units, gas)
    if short:
        raise insufficient(address, *short)


def insufficient(address: str, *short: str) -> Refused:
    return Refused(
        "insufficient_funds",
        f"The wallet {address} is short of {' and '.join(short)}. Fund it and ask again; "
        "no money was moved.",
        short=list(short),
    )
