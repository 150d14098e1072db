"""An order's own webhook: where its buyer hears of it, by a URL and a secret of his (W-07).

Both are named in the call that sends the order, and no route shows them again. A later call that
names no URL, as when a publish is finished or an undone order is sent again, keeps the one there
is; one that names a URL says both anew, so without a secret the deliveries are unsigned.
"""

from __future__ import annotations

from engine import endpoints, webhook_secrets
from engine.audiences import ORDER
from engine.errors import invalid
from engine.models.gig import Gig
from engine.models.task import Task
from engine.rules import signing


def register(gig: Gig, task: Task, account_id: str, url: str | None, secret: str | None) -> None:
    """Send this order's events to its buyer's URL, signed with his secret; only in `db.write`.

    The secret is any text, or `whsec_…` and base64. 400 naming `order_webhook_secret` for one that
    cannot be a key, or that comes without a URL. Where the URL may go the schema has said (W-04).
    """
    check(url, secret)
    if url is None:
        return
    kept = None if secret is None else webhook_secrets.seal_any(secret)
    Task.update(order_webhook_secret=kept).where(Task.id == task.id).execute()
    endpoints.register(ORDER, task.id, account_id, url)


def check(url: str | None, secret: str | None) -> None:
    """Refuse what `register` would, before anything is signed or sent."""
    if secret is None:
        return
    if url is None:
        raise invalid("order_webhook_secret", "it signs nothing without an order_webhook_url")
    try:
        signing.key_bytes(secret)
    except ValueError as error:
        raise invalid("order_webhook_secret", str(error)) from error
