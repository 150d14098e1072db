"""One-time passwords: six digits by mail, ten minutes, five tries (H-14)."""

from __future__ import annotations

import hashlib
import hmac
import secrets

import structlog

from engine import accounts, clock, install, letters
from engine.db import db
from engine.errors import Refused
from engine.models.access import OneTimePassword
from engine.models.account import Account

DIGITS = 6
MINUTES = 10
TRIES = 5

log = structlog.get_logger()


def send(email: str) -> None:
    """Make a code and mail it; in a development install the log shows it as well.

    The answer never tells whether the address has an account.
    """
    address = accounts.clean_email(email)
    settings = install.current().settings
    if not settings.SMTP_URL and not settings.is_dev:
        raise Refused(
            "mail_not_configured", "This install sends no mail. Ask its operator for a key."
        )
    code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}d}"

    def write() -> None:
        until = clock.now() + MINUTES * 60 * clock.SECOND
        sets = {"hash": _hash(address, code), "tries": 0, "expires_at": until}
        OneTimePassword.insert(email=address, **sets).on_conflict(
            conflict_target=[OneTimePassword.email],
            update={getattr(OneTimePassword, name): value for name, value in sets.items()},
        ).execute()
        if letters.can_send():
            body = f"Your code is {code}. It is good for {MINUTES} minutes.\n"
            letters.record(letters.CODE, address, "Your Muster code", body, until, None)

    db.write(write)
    if settings.is_dev:
        log.warning("otp.code", email=address, code=code)


def verify(email: str, code: str) -> tuple[Account, str]:
    """A new key for the address, whose account is made if it has none; a code works once."""
    address = accounts.clean_email(email)

    def write() -> bool:
        now = clock.now()
        counted = (
            OneTimePassword.update(tries=OneTimePassword.tries + 1)
            .where(
                OneTimePassword.email == address,
                OneTimePassword.expires_at > now,
                OneTimePassword.tries < TRIES,
            )
            .execute()
        )
        if not counted:
            return False
        # Deleting is the winning move: of two with the right code one gets the key.
        return bool(
            OneTimePassword.delete()
            .where(
                OneTimePassword.email == address,
                OneTimePassword.hash == _hash(address, code),
            )
            .execute()
        )

    # In a transaction of its own, so that a wrong try counts whatever follows.
    if not db.write(write):
        raise Refused(
            "wrong_code", f"This code is wrong, used, or older than {MINUTES} minutes. Ask for one."
        )
    account, _, key = accounts.provision(address, new_key=True)
    return account, str(key)


def forget_old() -> None:
    """Drop codes that are over; rung by the scheduler."""
    db.write(
        lambda: OneTimePassword.delete().where(OneTimePassword.expires_at <= clock.now()).execute()
    )


def _hash(address: str, code: str) -> str:
    secret = install.shared_secret("otp").encode()
    return hmac.new(secret, f"{address}:{code}".encode(), hashlib.sha256).hexdigest()
