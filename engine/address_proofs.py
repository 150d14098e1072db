"""Proving that an address is one's own: its key signs a text that was made for it (M-01, Y-06).

The text has the shape of EIP-4361, which wallets know how to show, and names this install, the
account and the address, so that a signature is good for nothing else. A proven address is one
account's alone; the unique index `wallet_proven` decides between two who prove it at once.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import peewee

from engine import clock, install, wallets
from engine.chain.keys import signer_of
from engine.db import db
from engine.errors import Refused, invalid
from engine.ids import new_token
from engine.models.wallet import Wallet, WalletChallenge
from engine.operations import Caller
from engine.rules import times

MINUTES = 10
# The field is required; where this install has no chain it names Ethereum's.
CHAIN_ID = 1


def challenge(caller: Caller, wallet_id: str) -> tuple[str, int]:
    """(the text to sign, when it expires); it replaces the wallet's earlier one."""
    wallet = wallets.get(caller, wallet_id)
    _require_unverified(wallet)
    chain = install.current().chain
    chain_id = CHAIN_ID if chain is None else chain.chain_id()

    def write() -> tuple[str, int]:
        wallets.hold(caller, wallet.id)
        now = clock.now()
        expires_at = now + MINUTES * 60 * clock.SECOND
        message = _message(wallet, chain_id, now, expires_at)
        WalletChallenge.insert(
            wallet_id=wallet.id, message=message, expires_at=expires_at
        ).on_conflict(
            conflict_target=[WalletChallenge.wallet_id],
            update={WalletChallenge.message: message, WalletChallenge.expires_at: expires_at},
        ).execute()
        return message, expires_at

    return db.write(write)


def _message(wallet: Wallet, chain_id: int, now: int, expires_at: int) -> str:
    url = install.current().settings.PUBLIC_URL.rstrip("/")
    parts = urlsplit(url)
    # A domain without a scheme means https.
    domain = parts.netloc if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"
    return "\n".join(
        [
            f"{domain} wants you to sign in with your Ethereum account:",
            wallet.evm_address,
            "",
            f"Prove that this address belongs to the account {wallet.account_id}. "
            "This moves no money and costs nothing.",
            "",
            f"URI: {url}",
            "Version: 1",
            f"Chain ID: {chain_id}",
            f"Nonce: {new_token()}",
            f"Issued At: {times.iso_ms(now)}",
            f"Expiration Time: {times.iso_ms(expires_at)}",
            f"Request ID: {wallet.id}",
        ]
    )


def verify(caller: Caller, wallet_id: str, signature: str) -> Wallet:
    """The wallet, proven by its key's signature of the newest challenge, which is then used up."""
    with db.reading():
        wallet = wallets.get(caller, wallet_id)
        _require_unverified(wallet)
        asked = _open(wallet.id)
    # Outside of the transaction: the libraries take a while to load.
    try:
        signer = signer_of(asked.message, signature)
    except ValueError as error:
        raise invalid("signature", str(error)) from error

    def write() -> Wallet:
        wallets.hold(caller, wallet.id)
        if _open(wallet.id).message != asked.message:
            raise _no_challenge()
        if signer != wallet.evm_address:
            raise Refused(
                "wrong_signature",
                f"This is not the signature of {wallet.evm_address} under the newest challenge. "
                "Sign its message, unchanged, by personal_sign.",
            )
        WalletChallenge.delete().where(WalletChallenge.wallet_id == wallet.id).execute()
        Wallet.update(verified_at=clock.now()).where(Wallet.id == wallet.id).execute()
        return Wallet.get(Wallet.id == wallet.id)

    try:
        return db.write(write)
    except peewee.IntegrityError:
        # Its account may have named the address twice.
        wallets.require_unproven(wallet.evm_address, caller.account_id)
        raise _already() from None


def _open(wallet_id: str) -> WalletChallenge:
    asked = WalletChallenge.get_or_none(WalletChallenge.wallet_id == wallet_id)
    if asked is None or asked.expires_at <= clock.now():
        raise _no_challenge()
    return asked


def _no_challenge() -> Refused:
    return Refused(
        "no_challenge",
        f"This wallet has no open challenge: it was used, replaced or is older than {MINUTES} "
        "minutes. Ask for another.",
    )


def _require_unverified(wallet: Wallet) -> None:
    if wallet.verified_at is not None:
        raise _already()


def _already() -> Refused:
    return Refused("already_verified", "Your account has proven this address already.")
