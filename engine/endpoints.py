"""Webhook URLs of owners, workers and buyers, and whether anything is sent to them (W-09)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import peewee

from engine import clock, events, pages, wake, webhook_secrets
from engine.audiences import GIG_JOINS, GIG_PROOFS, MAILBOX_EVENTS, MAILBOX_TASKS, ORDER
from engine.db import db
from engine.errors import Refused, not_found
from engine.ids import new_id
from engine.models.delivery import WAITING, Delivery, Endpoint
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import take, take_all
from engine.operations import Caller

__all__ = ["GIG_JOINS", "GIG_PROOFS", "MAILBOX_EVENTS", "MAILBOX_TASKS", "ORDER"]

# Why an endpoint is disabled.
REMOVED = "removed"
GONE = "gone"
FAILING = "failing"

GIG_KINDS = frozenset({GIG_PROOFS, GIG_JOINS})
# Nothing shows the URL of such an endpoint, not even to whoever registered it (W-07).
WRITE_ONLY = frozenset({ORDER})


@dataclass(frozen=True)
class Target:
    """Where a delivery goes and what signs it: each of the secrets, the newest first, or nothing.

    `write_only`: no log may say where.
    """

    endpoint_id: str
    url: str
    secrets: tuple[str, ...] | None
    write_only: bool = False


def register(kind: str, owner_id: str, account_id: str, url: str | None) -> None:
    """Set, change or (with None) remove the URL; only inside `db.write`.

    Setting it again also brings a disabled endpoint and its waiting deliveries back (W-09);
    removing it stops every waiting try, and of what happens without a URL nothing is kept.
    """
    endpoint = Endpoint.get_or_none(Endpoint.kind == kind, Endpoint.owner_id == owner_id)
    if endpoint is not None:
        if url is None:
            _remove(endpoint)
        else:
            _enable(endpoint.id, url)
    elif url is not None:
        now = clock.now()
        Endpoint.create(
            id=new_id("ENDPOINT"),
            kind=kind,
            owner_id=owner_id,
            account_id=account_id,
            url=url,
            status="active",
            enabled_at=now,
            created_at=now,
        )


def _remove(endpoint: Endpoint) -> None:
    take(Endpoint, endpoint.id, "disable", disabled_at=clock.now())
    # Also where it had been disabled before: nothing but a URL brings it back now.
    Endpoint.update(url=None, reason=REMOVED).where(Endpoint.id == endpoint.id).execute()
    pause_waiting(endpoint.id)


def _enable(endpoint_id: str, url: str | None) -> None:
    now = clock.now()
    sets = {"url": url, "enabled_at": now}
    Endpoint.update(**sets).where(Endpoint.id == endpoint_id).execute()
    take(Endpoint, endpoint_id, "enable", reason=None, disabled_at=None)
    take_all(
        Delivery,
        "resume",
        Delivery.endpoint_id == endpoint_id,
        WAITING,
        Delivery.status == "paused",
        next_attempt_at=now,
        # Ten fresh tries: those of before were made at a receiver that was broken.
        tries_before=Delivery.attempts,
    )
    db.after_commit(partial(wake.ring, "delivery", endpoint_id))


def disable(target: Target, reason: str) -> None:
    """Send nothing more to an endpoint, and tell its owner; only inside `db.write`.

    Not if another URL was set meanwhile: what is wrong was wrong with the old one.
    """
    same_url = Endpoint.url == target.url
    if not take(
        Endpoint, target.endpoint_id, "disable", same_url, reason=reason, disabled_at=clock.now()
    ):
        return
    pause_waiting(target.endpoint_id)
    endpoint = Endpoint.get(Endpoint.id == target.endpoint_id)
    _tell("endpoint.disabled", endpoint, "deliveries", {"reason": reason})


def _tell(kind: str, endpoint: Endpoint, actor: str, data: dict[str, Any]) -> None:
    """An event of the gig. It names no URL: the gig's owner may not see a worker's (M-02)."""
    owner = _owner(endpoint)
    events.append(
        kind,
        events.Subject("endpoint", endpoint.id),
        actor=actor,
        gig_id=owner.id if isinstance(owner, Gig) else owner.gig_id,
        mailbox_id=owner.id if isinstance(owner, Mailbox) else None,
        data={"endpoint_id": endpoint.id, "endpoint_kind": endpoint.kind, **data},
    )


def pause_waiting(endpoint_id: str) -> None:
    """Hold back what was going to be tried; only inside `db.write`."""
    take_all(
        Delivery,
        "pause",
        Delivery.endpoint_id == endpoint_id,
        WAITING,
        # What is under way ends by itself, and its outcome counts.
        Delivery.status == "pending",
        next_attempt_at=None,
    )


def target_of(endpoint: Endpoint, url: str, now: int) -> Target:
    secrets = webhook_secrets.signing(_owner(endpoint), now)
    return Target(endpoint.id, url, secrets, endpoint.kind in WRITE_ONLY)


def _owner(endpoint: Endpoint) -> Gig | Mailbox | Task:
    if endpoint.kind in GIG_KINDS:
        return Gig.get(Gig.id == endpoint.owner_id)
    if endpoint.kind == ORDER:
        return Task.get(Task.id == endpoint.owner_id)
    return Mailbox.get(Mailbox.id == endpoint.owner_id)


def enabled_at(endpoint_ids: list[str]) -> dict[str, int]:
    """When each was enabled, or its URL set, for the last time."""
    with db.reading():
        query = Endpoint.select(Endpoint.id, Endpoint.enabled_at)
        return {row.id: row.enabled_at for row in query.where(Endpoint.id.in_(endpoint_ids))}


def own(caller: Caller, endpoint_id: str) -> Endpoint:
    """An endpoint of the caller's account; 404 for any other."""
    found = Endpoint.get_or_none(
        Endpoint.id == endpoint_id, Endpoint.account_id == caller.account_id
    )
    if found is None:
        raise not_found("endpoint")
    return found


def enable(caller: Caller, endpoint_id: str) -> Endpoint:
    """Send to an endpoint again, what waits for it first (W-09)."""

    def write() -> Endpoint:
        endpoint = own(caller, endpoint_id)
        if endpoint.url is None:
            raise Refused("no_url", "This endpoint's URL was removed. Set the URL to enable it.")
        _enable(endpoint.id, endpoint.url)
        if endpoint.status != "active":
            _tell("endpoint.enabled", endpoint, caller.account_id, {})
        return own(caller, endpoint_id)

    return db.write(write)


def mine(caller: Caller, limit: int, after: pages.Position) -> list[Endpoint]:
    """The caller's endpoints, oldest first."""
    with db.reading():
        query = Endpoint.select().where(Endpoint.account_id == caller.account_id)
        return pages.page(query, (Endpoint.created_at, Endpoint.id), limit, after)


def waiting(endpoint_ids: list[str]) -> dict[str, int]:
    """How many deliveries each endpoint has that are neither delivered nor given up."""
    query: Any = (
        Delivery.select(Delivery.endpoint_id, peewee.fn.COUNT(Delivery.id))
        .where(Delivery.endpoint_id.in_(endpoint_ids), WAITING)
        .group_by(Delivery.endpoint_id)
    )
    with db.reading():
        return {endpoint_id: int(count) for endpoint_id, count in query.tuples()}
