"""Why a named task is not to be had: every reason, and which of two is told (C-01)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.db import db
from engine.models.task import Task
from tests.contract.links import ONE, SOLO, Link, place
from tests.contract.scene import all_hold
from tests.world import World


def _deleted(link: Link) -> None:
    link.gig.owner.call("DELETE", f"{link.gig.path}/tasks/{link.task_id}").ok()


def _unknown(link: Link) -> None:
    link.task_id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def _of_another_gig(link: Link) -> None:
    link.task_id = link.world.task(link.world.gig(link.gig.owner))


def _stranger(link: Link) -> None:
    link.opener = link.world.person("stranger")


def _owner(link: Link) -> None:
    link.opener = link.gig.owner


def _inactive(link: Link) -> None:
    link.shut(link.worker)


def _pending(link: Link) -> None:
    link.gig.owner.patch(link.gig.path, {"requires_approval": True})
    link.opener = link.world.worker(link.gig)


def _view_only(link: Link) -> None:
    link.owner_sets("availability", {"availability": "view_only"})


def _copy_of_another(link: Link) -> None:
    link.task_id = link.take(link.colleague)


def _proven(link: Link) -> None:
    link.take(link.colleague)
    link.prove(link.colleague)


def _proven_by_himself(link: Link) -> None:
    link.take(link.worker)
    link.prove(link.worker)


def _own_copy_proven(link: Link) -> None:
    link.prove(link.worker, link.take(link.worker))


def _rejected_and_back_in_the_queue(link: Link) -> None:
    link.take(link.worker)
    proof_id = link.prove(link.worker)
    link.gig.owner.patch(f"{link.gig.path}/proofs/{proof_id}", {"action": "reject"})


def _assigned(link: Link) -> None:
    link.assign_to(link.colleague)


def _withdrawn(link: Link) -> None:
    link.assign_to(link.colleague)
    link.colleague.post(f"{link.gig.path}/queue/{link.task_id}/decline", {})


def _taken(link: Link) -> None:
    link.take(link.colleague)


def _reserved(link: Link) -> None:
    link.reserve_for(link.colleague)


def _used_up(link: Link) -> None:
    link.take(link.colleague)


def _rate_limit(link: Link) -> None:
    link.limit(link.worker, rate_limit_count=0, rate_limit_minutes=60)


def _open_tasks(link: Link) -> None:
    link.limit(link.worker, max_open_tasks=0)


Arranged = Callable[[Link], None]
REASONS: list[tuple[int, str, Arranged, dict[str, Any]]] = [
    (404, "not_found", _deleted, {}),
    (404, "not_found", _unknown, {}),
    (404, "not_found", _of_another_gig, {}),
    (403, "not_joined", _stranger, {}),
    (403, "not_joined", _owner, {}),
    (403, "mailbox_inactive", _inactive, {}),
    (403, "mailbox_inactive", _pending, {}),
    (409, "view_only", _view_only, {}),
    (409, "view_only", _view_only, SOLO),
    (409, "other_worker", _copy_of_another, SOLO),
    (409, "already_proven", _proven, {}),
    (409, "already_proven", _proven_by_himself, {}),
    (409, "already_proven", _own_copy_proven, SOLO),
    (409, "already_proven", _rejected_and_back_in_the_queue, {}),
    (409, "assigned_elsewhere", _assigned, {}),
    (409, "withdrawn", _withdrawn, {}),
    (409, "taken", _taken, {}),
    (409, "reserved_for_other", _reserved, {}),
    (409, "reserved_for_other", _reserved, SOLO),
    (409, "exhausted", _used_up, {**SOLO, "max_claims_per_task": 1}),
    (429, "rate_limit_reached", _rate_limit, {}),
    (429, "open_tasks_reached", _open_tasks, {}),
    (429, "rate_limit_reached", _rate_limit, SOLO),
    (429, "open_tasks_reached", _open_tasks, SOLO),
]


@pytest.mark.rule("C-01")
def test_each_way_of_missing_a_named_task_has_its_reason(world: World) -> None:
    def told(row: tuple[int, str, Arranged, dict[str, Any]]) -> None:
        status, reason, arrange, fields = row
        link = Link.of(world, **fields)
        arrange(link)
        refusal = link.open().refused(status, reason)
        assert refusal["error"].endswith(".")
        with db.reading():
            held = Task.mailbox_id == place(link.worker), Task.status == "claimed"
            assert not Task.select().where(*held).exists()

    all_hold(REASONS, told)


def _deleted_for_a_stranger(link: Link) -> None:
    _deleted(link)
    _stranger(link)


def _inactive_and_a_foreign_mailbox(link: Link) -> None:
    _inactive(link)
    link.opener.mailbox = {"id": place(link.colleague)}  # type: ignore[attr-defined]


def _view_only_for_an_inactive(link: Link) -> None:
    _view_only(link)
    _inactive(link)


def _copy_that_is_view_only(link: Link) -> None:
    _copy_of_another(link)
    link.set(availability="view_only")


def _copy_of_another_that_is_proven(link: Link) -> None:
    _copy_of_another(link)
    link.prove(link.colleague)


def _assigned_and_proven(link: Link) -> None:
    _assigned(link)
    link.prove(link.colleague)


def _reserved_and_taken(link: Link) -> None:
    _reserved(link)
    link.take(link.colleague)


def _reserved_and_used_up(link: Link) -> None:
    _reserved(link)
    _used_up(link)


def _used_up_at_the_limit(link: Link) -> None:
    _used_up(link)
    _rate_limit(link)


def _reserved_at_the_limit(link: Link) -> None:
    _reserved(link)
    _open_tasks(link)


def _at_both_limits(link: Link) -> None:
    _rate_limit(link)
    _open_tasks(link)


def _withdrawn_and_reserved(link: Link) -> None:
    _withdrawn(link)
    link.set(reserved_for=place(link.colleague))


PRECEDENCE: list[tuple[str, str, Arranged, dict[str, Any]]] = [
    ("not_found", "not_joined", _deleted_for_a_stranger, {}),
    ("not_joined", "mailbox_inactive", _inactive_and_a_foreign_mailbox, {}),
    ("mailbox_inactive", "view_only", _view_only_for_an_inactive, {}),
    ("view_only", "other_worker", _copy_that_is_view_only, SOLO),
    ("other_worker", "already_proven", _copy_of_another_that_is_proven, SOLO),
    ("already_proven", "assigned_elsewhere", _assigned_and_proven, {}),
    ("withdrawn", "reserved_for_other", _withdrawn_and_reserved, {}),
    ("taken", "reserved_for_other", _reserved_and_taken, {}),
    ("reserved_for_other", "exhausted", _reserved_and_used_up, ONE),
    ("reserved_for_other", "open_tasks_reached", _reserved_at_the_limit, {}),
    ("exhausted", "rate_limit_reached", _used_up_at_the_limit, ONE),
    ("rate_limit_reached", "open_tasks_reached", _at_both_limits, {}),
]


@pytest.mark.rule("C-01")
def test_of_two_reasons_the_earlier_one_is_told(world: World) -> None:
    def told(row: tuple[str, str, Arranged, dict[str, Any]]) -> None:
        first, second, arrange, fields = row
        link = Link.of(world, **fields)
        arrange(link)
        body = {"mailbox_id": place(link.opener)} if hasattr(link.opener, "mailbox") else {}
        assert link.open(**body).json["reason"] == first, f"and not {second}"

    all_hold(PRECEDENCE, told)
