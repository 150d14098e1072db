"""Encryption of what must be read back: private keys of hot wallets, and other secrets (Y-06).

Fernet (AES-128-CBC and HMAC-SHA256) under the master keys: the first encrypts, all decrypt, so a
key is replaced by putting the new one first. `engine/key_rotation.py` then renews what is kept.
"""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from engine.errors import Refused, SettingsError


class Keyring:
    def __init__(self, master_keys: str) -> None:
        """`master_keys`: Fernet keys with commas between; empty means that nothing can be kept."""
        try:
            self._keys = [Fernet(key.strip()) for key in master_keys.split(",") if key.strip()]
        except ValueError as error:
            raise SettingsError(
                "MUSTER_MASTER_KEYS: each key is 32 bytes in URL-safe base64, as Fernet makes them."
            ) from error
        self._fernet = MultiFernet(self._keys) if self._keys else None

    @property
    def has_key(self) -> bool:
        return self._fernet is not None

    def encrypt(self, text: str) -> str:
        return self._ready().encrypt(text.encode()).decode()

    def decrypt(self, token: str) -> str:
        try:
            return self._ready().decrypt(token.encode()).decode()
        except InvalidToken as error:
            raise Refused(
                "master_key_missing",
                "None of the master keys opens this. Put the old key back into MUSTER_MASTER_KEYS.",
            ) from error

    def renew(self, token: str) -> str | None:
        """The same under the first key; None when it is so already."""
        fernet = self._ready()
        try:
            self._keys[0].decrypt(token.encode())
        except InvalidToken:
            self.decrypt(token)
            return fernet.rotate(token.encode()).decode()
        return None

    def _ready(self) -> MultiFernet:
        if self._fernet is None:
            raise Refused(
                "no_master_key", "This install has no master key. Set MUSTER_MASTER_KEYS."
            )
        return self._fernet


def new_master_key() -> str:
    return Fernet.generate_key().decode()
