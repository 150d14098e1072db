"""What this process runs on: settings, keyring, chain. Made once, by whoever starts it."""

from __future__ import annotations

from engine.chain.client import Chain
from engine.chain.fee_rate import FeeRate
from engine.chain.pulse import Pulse
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused, SettingsError
from engine.ids import new_token
from engine.keyring import Keyring
from engine.models.meta import Meta
from engine.settings import Settings


class Install:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.keyring = Keyring(settings.MASTER_KEYS)
        self.chain: Chain | None = None
        self.pulse: Pulse | None = None
        self.treasury: Treasury | None = None
        self.fee_rate: FeeRate | None = None
        if settings.CHAIN_RPC_URL:
            self.chain = Chain(settings.CHAIN_RPC_URL, settings.CHAIN_TIMEOUT_SECONDS)
            self.pulse = Pulse(self.chain)
            if not settings.TREASURY_ADDRESS or not settings.USDC_ADDRESS:
                raise SettingsError(
                    "MUSTER_CHAIN_RPC_URL needs MUSTER_TREASURY_ADDRESS and MUSTER_USDC_ADDRESS "
                    "beside it."
                )
            self.treasury = Treasury(self.chain, settings.TREASURY_ADDRESS, settings.USDC_ADDRESS)
            self.fee_rate = FeeRate(self.treasury)


_install: Install | None = None


def configure(settings: Settings) -> Install:
    """Connect this process's database and make its parts; replaces an earlier configuration."""
    global _install
    if not settings.DATABASE_URL:
        raise SettingsError(
            "MUSTER_DATABASE_URL is not set. Set it, or name a muster up's folder by --data-dir."
        )
    made = Install(settings)
    db.connect(settings.DATABASE_URL, settings.DATABASE_POOL)
    _install = made
    return made


def close() -> None:
    """Finish the writes that are queued and let the database go."""
    global _install
    db.close()
    _install = None


def current() -> Install:
    if _install is None:
        raise RuntimeError("engine.install.configure() was not called")
    return _install


def shared_secret(name: str) -> str:
    """A random secret that every process of this install shares; made at its first use."""
    with db.reading():
        known = Meta.read(f"secret:{name}")
    return known or db.write(lambda: Meta.put_once(f"secret:{name}", new_token(48)))


def treasury() -> Treasury:
    """The Treasury, or a refusal that says that this install has none."""
    found = current().treasury
    if found is None:
        raise Refused(
            "chain_not_configured",
            "This install is connected to no chain, so it cannot move money.",
        )
    return found
