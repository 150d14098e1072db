"""What of a gig belongs to a buyer's own orders: ids, for whoever shows or settles them."""

from __future__ import annotations

from typing import Any

from engine.models.comment import Comment
from engine.models.delivery import Endpoint
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task


def tasks(gig_id: str, client_id: str) -> Any:
    return Task.select(Task.id).where(Task.client_id == client_id, Task.gig_id == gig_id)


def proofs(gig_id: str, client_id: str) -> Any:
    return Proof.select(Proof.id).where(Proof.task_id.in_(tasks(gig_id, client_id)))


def rollups(gig_id: str, client_id: str) -> Any:
    """A rollup of an order carries nothing else, so each is one buyer's."""
    return Rollup.select(Rollup.id).where(Rollup.client_id == client_id, Rollup.gig_id == gig_id)


def subjects(gig_id: str, client_id: str) -> tuple[Any, ...]:
    """Whatever an event of one of these orders may be about."""
    own = tasks(gig_id, client_id)
    return (
        own,
        proofs(gig_id, client_id),
        rollups(gig_id, client_id),
        Comment.select(Comment.id).where(Comment.task_id.in_(own)),
        Endpoint.select(Endpoint.id).where(
            Endpoint.owner_id.in_(own), Endpoint.account_id == client_id
        ),
    )
