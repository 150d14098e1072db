"""Wallets (Y-06). A private key is encrypted at rest, decrypted to sign, and never answered."""

from __future__ import annotations

from engine import clock, install, pages
from engine.chain.client import checksum, new_key
from engine.db import db
from engine.errors import invalid, not_found
from engine.ids import new_id
from engine.models.wallet import Wallet
from engine.operations import Caller


def clean_address(field: str, text: str) -> str:
    """An EIP-55 address; a mixed-case one must have the right checksum."""
    try:
        return checksum(text)
    except ValueError as error:
        raise invalid(field, str(error)) from error


def create(caller: Caller, label: str, is_hot: bool, evm_address: str | None) -> Wallet:
    """A hot wallet with a new key of ours, or an external one by its address."""
    if is_hot:
        if evm_address is not None:
            raise invalid("evm_address", "a hot wallet's address is made here; leave it out")
        return db.write(lambda: make_hot(caller.account_id, label))
    if evm_address is None:
        raise invalid("evm_address", "give the address of the external wallet")
    address = clean_address("evm_address", evm_address)
    return db.write(
        lambda: Wallet.create(
            id=new_id("WALLET"),
            account_id=caller.account_id,
            label=label,
            evm_address=address,
            is_hot_wallet=False,
            encrypted_key=None,
            created_at=clock.now(),
        )
    )


def make_hot(account_id: str, label: str) -> Wallet:
    """Only inside `db.write`."""
    private_key, address = new_key()
    return Wallet.create(
        id=new_id("WALLET"),
        account_id=account_id,
        label=label,
        evm_address=address,
        is_hot_wallet=True,
        encrypted_key=install.current().keyring.encrypt(private_key),
        created_at=clock.now(),
    )


def mine(caller: Caller, limit: int, after: pages.Position) -> list[Wallet]:
    """The caller's wallets, oldest first."""
    with db.reading():
        query = Wallet.select().where(Wallet.account_id == caller.account_id)
        return pages.page(query, (Wallet.created_at, Wallet.id), limit, after)


def get(caller: Caller, wallet_id: str) -> Wallet:
    with db.reading():
        wallet = Wallet.get_or_none(Wallet.id == wallet_id, Wallet.account_id == caller.account_id)
    if wallet is None:
        raise not_found("wallet")
    return wallet


def balances(wallet: Wallet) -> tuple[int, int]:
    """(wei, USDC base units) as the chain says now; ChainUnavailable when it does not answer."""
    treasury = install.treasury()
    return (
        treasury.chain.eth_balance_wei(wallet.evm_address),
        treasury.usdc_units(wallet.evm_address),
    )
