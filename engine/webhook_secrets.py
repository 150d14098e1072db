"""Webhook secrets: sealed at rest, and replaced with a time of grace (W-03).

A gig and a mailbox have one each, for all of their URLs. What it replaced stays beside it, with the
time until which it still signs. An order's is its buyer's own choice: any text, or none at all.
"""

from __future__ import annotations

from typing import Any

from engine import clock, install
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.rules.signing import SECRET_PREFIX, new_secret

Owner = Gig | Mailbox
# How a secret of somebody's own choice is kept, which may look like anything.
SEALED, PLAIN = "sealed:", "plain:"
# Whoever rotates in quick succession still keeps his receivers; the headers stay short.
MOST_OLD = 4


def new() -> str:
    """A new secret as a column keeps it."""
    return seal(new_secret())


def seal(secret: str) -> str:
    """Encrypted under the master key; plain where the install has none, since nothing is paid with
    it."""
    keyring = install.current().keyring
    return keyring.encrypt(secret) if keyring.has_key else secret


def unseal(kept: str) -> str:
    return kept if kept.startswith(SECRET_PREFIX) else install.current().keyring.decrypt(kept)


def renew(kept: str) -> str | None:
    """The same under the first master key, also where it was plain; None when it is so already."""
    if kept.startswith(SECRET_PREFIX):
        return seal(kept)
    return install.current().keyring.renew(kept)


def seal_any(secret: str) -> str:
    """A secret that somebody chose, as a column keeps it: encrypted where there is a master key."""
    keyring = install.current().keyring
    return SEALED + keyring.encrypt(secret) if keyring.has_key else PLAIN + secret


def unseal_any(kept: str) -> str:
    if kept.startswith(PLAIN):
        return kept.removeprefix(PLAIN)
    return install.current().keyring.decrypt(kept.removeprefix(SEALED))


def renew_any(kept: str) -> str | None:
    """The same under the first master key, also where it was plain; None when it is so already."""
    if kept.startswith(PLAIN):
        return seal_any(unseal_any(kept))
    token = install.current().keyring.renew(kept.removeprefix(SEALED))
    return None if token is None else SEALED + token


def of(owner: Owner) -> str:
    """The present secret (`whsec_…`), for its owner's eyes."""
    return unseal(owner.webhook_secret)


def signing(owner: Owner | Task, now: int) -> tuple[str, ...] | None:
    """Every secret that signs at `now`, the newest first; None of an order that has none."""
    if isinstance(owner, Task):
        kept = owner.order_webhook_secret
        return None if kept is None else (unseal_any(kept),)
    old = [kept for kept, until in owner.old_webhook_secrets or [] if now < until]
    return tuple(unseal(kept) for kept in (owner.webhook_secret, *old))


def replacing(owner: Owner, now: int, grace_seconds: int) -> dict[str, Any]:
    """The columns that give `owner` a new secret.

    The old ones sign for `grace_seconds` more, and none of them longer than it was promised before:
    no grace means that from now on only the new one does.
    """
    until = now + grace_seconds * clock.SECOND
    older = [[kept, min(end, until)] for kept, end in owner.old_webhook_secrets or []]
    old = [[owner.webhook_secret, until], *older]
    return {
        "webhook_secret": new(),
        "old_webhook_secrets": [pair for pair in old if now < pair[1]][:MOST_OLD],
    }
