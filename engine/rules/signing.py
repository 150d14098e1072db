"""How a webhook is signed (W-03): per Standard Webhooks, and as hosted-service receivers expect.

Both signatures are over the raw bytes that are sent. Of the `standardwebhooks` library only what it
does right is used: it takes bytes for their `repr` and any time zone for UTC, so it is given text
and a UTC time and nothing else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with, not one
SECRET_BYTES = 32


def new_secret() -> str:
    """`whsec_` and the base64 of 32 random bytes."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_bytes(secret: str) -> bytes:
    """The Standard Webhooks key of a secret.

    `whsec_…` is base64, padded or not; any other string stands for its UTF-8 bytes (W-07). Raises
    ValueError with a sentence for a secret that cannot be a key, so that it can be refused when
    it is set.
    """
    if secret.startswith(SECRET_PREFIX):
        text = secret.removeprefix(SECRET_PREFIX).rstrip("=")
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError("A secret that begins with whsec_ must go on in base64.") from error
    else:
        key = secret.encode()
    if not key:
        raise ValueError("A webhook secret may not be empty.")
    return key


def headers(
    secret: str | Sequence[str] | None,
    message_id: str,
    timestamp_seconds: int,
    body: bytes,
    event: str,
    delivery_id: str,
    prefix: str = "X-Muster",
) -> dict[str, str]:
    """The headers that sign one try of a delivery.

    `message_id` is the same on every try, `timestamp_seconds` (since 1970) is the time of this one.
    While a secret is being changed both are given, the new one first: each signs, and a receiver
    accepts whichever it knows. None is a webhook that is not signed. `body` is UTF-8.
    """
    unsigned = {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_seconds),
        f"{prefix}-Event": event,
        f"{prefix}-Delivery": delivery_id,
    }
    if secret is None:
        return unsigned
    known = [secret] if isinstance(secret, str) else list(secret)
    if not known:
        raise ValueError("A webhook needs a secret to be signed with.")
    at = datetime.fromtimestamp(timestamp_seconds, UTC)
    text = body.decode()
    standard = [Webhook(key_bytes(one)).sign(message_id, at, text) for one in known]
    own = [f"v1={_hex_signature(one, timestamp_seconds, body)}" for one in known]
    return {
        **unsigned,
        "webhook-signature": " ".join(standard),
        f"{prefix}-Signature": ",".join([f"t={timestamp_seconds}", *own]),
    }


def _hex_signature(secret: str, timestamp_seconds: int, body: bytes) -> str:
    """HMAC-SHA256 of `t.body`, keyed with the secret's text as it is shown, `whsec_` included."""
    signed = f"{timestamp_seconds}.".encode() + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
