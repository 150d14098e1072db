"""Which private key does what, and whose an address is.

Three kinds of keys are on an install: the settler's, which pays out; the refunder's, which gives
deposits back; and those of hot wallets, kept encrypted. The contract's owner and guardian are not
here: what changes the rules or stops the payouts is not done by a server.
"""

from __future__ import annotations

from functools import lru_cache

import structlog

from engine import install
from engine.chain.keys import Key, address_of
from engine.db import db
from engine.errors import Refused
from engine.models.wallet import Wallet

SETTLER = "settler"
REFUNDER = "refunder"
FAUCET = "faucet"

log = structlog.get_logger()


def settler() -> Key:
    """Pays out. Refused when this install has no such key."""
    private_key = install.current().settings.OPERATOR_KEY
    if not private_key:
        raise Refused("no_operator_key", "This install cannot pay out. Set MUSTER_OPERATOR_KEY.")
    return _key(private_key)


def refunder() -> Key:
    """Refunds; it is the settler where no key of its own is set. Refused when there is neither."""
    private_key = install.current().settings.REFUNDER_KEY
    return _key(private_key) if private_key else settler()


def roles() -> dict[str, str]:
    """The operator's addresses and what each does; a key with two roles has the first."""
    settings = install.current().settings
    found: dict[str, str] = {}
    for role, private_key in (
        (SETTLER, settings.OPERATOR_KEY),
        (REFUNDER, settings.REFUNDER_KEY),
        (FAUCET, settings.FAUCET_KEY),
    ):
        if private_key:
            found.setdefault(_key(private_key).address, role)
    return found


def key_of(address: str) -> Key | None:
    """The key that signs for an address; None, and a line in the log, when there is none to use.

    It may have been taken from the install, or no master key opens it: a person has to see to it.
    """
    settings = install.current().settings
    for private_key in (settings.OPERATOR_KEY, settings.REFUNDER_KEY, settings.FAUCET_KEY):
        if private_key and _key(private_key).address == address:
            return _key(private_key)
    with db.reading():
        wallet = (
            Wallet.select()
            .where(Wallet.evm_address == address, Wallet.encrypted_key.is_null(False))
            .first()
        )
    if wallet is None:
        log.warning("signer.key_missing", signer=address)
        return None
    try:
        return Key(address, install.current().keyring.decrypt(wallet.encrypted_key))
    except Refused as refusal:
        log.warning("signer.key_closed", signer=address, error=refusal.message)
        return None


@lru_cache(maxsize=8)
def _key(private_key: str) -> Key:
    return Key(address_of(private_key), private_key)
