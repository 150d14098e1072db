"""Every list, walked to its end while rows are added (H-06)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from engine import notifications, rows
from engine.db import db
from engine.events import Subject
from engine.ids import new_id, new_token
from engine.models.account import Account, ApiKey
from engine.models.command import Command
from engine.models.comment import Comment
from engine.models.delivery import Delivery, Endpoint
from engine.models.escrow import Escrow
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.purchase import Purchase
from engine.models.reputation import ReputationEvent
from engine.models.rollup import Rollup
from engine.models.task import QueueEntry, Task
from engine.models.wallet import Wallet
from tests.contract.scene import Scene, all_hold, routes
from tests.shop import shop
from tests.world import Person, World
from web.paging import PageQuery

MANY, PAGE = 250, 7


@dataclass(frozen=True)
class Listed:
    """A list: its path and name, who reads it, and how one more row of the same instant is made."""

    path: str
    name: str
    reader: Person
    add: Callable[[], Any]
    row_id: str = "id"

    def url(self, query: str) -> str:
        return f"{self.path}{'&' if '?' in self.path else '?'}{query}"


def copy_of(row: Any, **other: Any) -> dict[str, Any]:
    """A row's values, other than which row it is: the instant of its making is the same."""
    return {**row.__data__, **other}


def lists(scene: Scene) -> dict[str, Listed]:
    gig, owner, worker = scene.gig, scene.owner, scene.worker
    stranger, numbers = scene.stranger, itertools.count(10)
    stranger.post("/gigs", {"title": "A gig", "tags": ["wanted"]})
    stranger.post("/wallets")
    with db.reading():
        mailbox = Mailbox.get(Mailbox.id == scene.ids["mailbox_id"])
        proof = Proof.get(Proof.id == scene.ids["proof_id"])
        task = Task.get(Task.id == scene.ids["task_id"])
        entry = QueueEntry.get(QueueEntry.task_number == task.number)
        key = ApiKey.get(ApiKey.account_id == stranger.id)
        mine = Gig.get(Gig.owner_id == stranger.id)
        wallet = Wallet.get(Wallet.account_id == stranger.id)
        invite = Invite.get(Invite.token == gig.invite)
        command = Command.select().first()
        comment = Comment.get(Comment.id == scene.ids["comment_id"])

    def add_endpoint() -> None:
        values = {
            "id": new_id("WHE"),
            "kind": "gig.proofs",
            "owner_id": new_token(),
            "url": "http://x",
        }
        values |= {"account_id": stranger.id, "status": "active", "enabled_at": 1, "created_at": 1}
        rows.insert(Endpoint, values)

    def add_delivery() -> None:
        if not Endpoint.select().exists():
            add_endpoint()
        endpoint = Endpoint.select().first()
        values = {"id": new_id("DLV"), "endpoint_id": endpoint.id, "account_id": stranger.id}
        values |= {"event": "proof.submitted", "status": "delivered", "body": "{}", "attempts": 0}
        rows.insert(Delivery, {**values, "tries_before": 0, "created_at": 1})

    def add_rollup() -> None:
        values = {"id": new_id("ROLLUP"), "gig_id": gig.id, "mailbox_id": mailbox.id}
        values |= {"command_id": command.id, "status": "paid", "wallet_address": "0x"}
        values |= {"gross_units": 1, "fee_units": 0, "fee_bps": 0, "created_at": 1}
        values |= {"payout_key": new_token(), "settled_by_reconciliation": False, "failures": 0}
        rows.insert(Rollup, values)

    def add_task() -> None:
        values = copy_of(task, id=new_id("TASK"))
        del values["number"]
        ((number,),) = rows.insert(Task, values, tail="RETURNING number")
        rows.insert(QueueEntry, copy_of(entry, task_number=number))

    def add_held() -> None:
        held = copy_of(task, id=new_id("TASK"), status="claimed", mailbox_id=mailbox.id)
        del held["number"]
        rows.insert(Task, {**held, "claimed_at": 1})

    def add_comment() -> None:
        rows.insert(Comment, copy_of(comment, id=new_id("COMMENT")))

    def add_reserved() -> None:
        values = copy_of(task, id=new_id("TASK"), availability="reserved")
        del values["number"]
        rows.insert(Task, values)

    def add_draft() -> None:
        values = copy_of(task, id=new_id("TASK"), status="draft", draft_saved_at=1)
        del values["number"]
        rows.insert(Task, values)

    def add_proof() -> None:
        rows.insert(Proof, copy_of(proof, id=new_id("PROOF"), status="rejected"))

    def add_mailbox() -> None:
        rows.insert(
            Mailbox, copy_of(mailbox, id=new_id("MBX"), ordinal=next(numbers), share_token=None)
        )

    def add_gig() -> None:
        rows.insert(Gig, copy_of(mine, id=new_id("GIG"), chain_key=None))
        # Not asked for: a filter holds before pages are cut.
        rows.insert(Gig, copy_of(mine, id=new_id("GIG"), chain_key=None, tags=["un", "wanted, "]))

    def add_key() -> None:
        rows.insert(ApiKey, copy_of(key, id=new_id("KEY"), hash=new_token()))

    def add_notification() -> None:
        told = ("test.told", "A title", Subject("proof", proof.id), gig.id)
        notifications.tell([stranger.id, worker.id], *told)

    def add_reputation() -> None:
        values = {"id": new_id("EVT"), "wallet": scene.ids["wallet"], "type": "proof.approved"}
        values |= {"role": "gigworker", "at": 1, "gig_id": gig.id, "revised": False}
        rows.insert(ReputationEvent, values)

    shop_path = shop(scene.world, vendor=stranger).path

    def add_deposit() -> None:
        """In the stranger's own shop, and as if he had ordered there himself."""
        values = {"id": new_token(), "gig_id": shop_path.rpartition("/")[2], "task_id": task.id}
        values |= {"attempt": next(numbers), "status": "open", "depositor": "0x", "payee": "0x"}
        values |= {"amount_units": 1, "fee_bps": 0, "reclaimer": "0x", "salt": "0x"}
        values |= {"expires_at": 1, "command_id": command.id, "created_at": 1}
        rows.insert(Escrow, values)
        bought = {name: values[name] for name in ("gig_id", "task_id", "created_at")}
        bought |= {"client_id": stranger.id, "deposit_id": values["id"], "minimum_units": 1}
        rows.insert(Purchase, bought)

    with db.reading():
        place = Mailbox.get(Mailbox.account_id == owner.id)

    def add_colleague() -> None:
        """Another worker of the gig that routes work to its owner."""
        values = {
            "id": new_id("USER"),
            "email": new_token(),
            "display_name": "A",
            "status": "active",
        }
        rows.insert(Account, {**values, "created_at": 1})
        other = {"id": new_id("MBX"), "account_id": values["id"], "share_token": new_token()}
        rows.insert(Mailbox, copy_of(place, **other))

    return {
        "purchases.list_orders": Listed("/orders", "orders", stranger, add_deposit, "deposit_id"),
        "purchases.list_deposits": Listed(
            f"{shop_path}/deposits", "deposits", stranger, add_deposit, "deposit_id"
        ),
        "gigs.mine": Listed("/gigs/mine?tag=wanted", "gigs", stranger, add_gig),
        "mailboxes.mine": Listed("/mailboxes/mine", "mailboxes", worker, add_mailbox),
        "mailboxes.available": Listed(
            "/work/available", "mailboxes", worker, add_mailbox, "mailbox_id"
        ),
        "mailboxes.inbound": Listed(f"/mailboxes/{mailbox.id}/inbound", "tasks", worker, add_held),
        "mailboxes.of_gig": Listed(f"{gig.path}/mailboxes", "mailboxes", owner, add_mailbox),
        "invites.listed": Listed(
            f"{gig.path}/invites",
            "invites",
            owner,
            lambda: rows.insert(Invite, copy_of(invite, token=new_token())),
            "token",
        ),
        "access.list_keys": Listed("/auth/keys", "keys", stranger, add_key),
        "wallets.mine": Listed(
            "/wallets",
            "wallets",
            stranger,
            lambda: rows.insert(Wallet, copy_of(wallet, id=new_id("WALLET"), verified_at=None)),
        ),
        "funds.list_rollups": Listed(f"{gig.path}/rollups", "rollups", owner, add_rollup),
        "funds.my_rollups": Listed("/rollups/mine", "rollups", worker, add_rollup),
        "deliveries.list_deliveries": Listed("/deliveries", "deliveries", stranger, add_delivery),
        "deliveries.list_endpoints": Listed(
            "/deliveries/endpoints", "endpoints", stranger, add_endpoint
        ),
        "notifications.list_notifications": Listed(
            "/notifications", "notifications", stranger, add_notification
        ),
        "reputation.list_events": Listed(
            f"/reputation/{scene.ids['wallet']}/events", "events", stranger, add_reputation
        ),
        "queues.queue": Listed(f"{gig.path}/queue", "tasks", owner, add_task),
        "tasks.reserved": Listed(f"{gig.path}/reserved", "tasks", owner, add_reserved),
        "comments.list_comments": Listed(
            f"{gig.path}/tasks/{task.id}/comments", "comments", owner, add_comment
        ),
        "drafts.list_drafts": Listed(f"{gig.path}/drafts", "drafts", owner, add_draft),
        "reviews.list_proofs": Listed(f"{gig.path}/proofs", "proofs", owner, add_proof),
        "planning.assignees": Listed("/v1/assignees", "assignees", owner, add_colleague),
    }


NAMES = (
    "purchases.list_orders",
    "purchases.list_deposits",
    "gigs.mine",
    "mailboxes.mine",
    "mailboxes.of_gig",
    "mailboxes.available",
    "mailboxes.inbound",
    "invites.listed",
    "access.list_keys",
    "wallets.mine",
    "funds.list_rollups",
    "funds.my_rollups",
    "deliveries.list_deliveries",
    "deliveries.list_endpoints",
    "notifications.list_notifications",
    "reputation.list_events",
    "queues.queue",
    "tasks.reserved",
    "comments.list_comments",
    "drafts.list_drafts",
    "reviews.list_proofs",
    "planning.assignees",
)


def ids_at_once(one: Listed) -> set[str]:
    """Every id that is there now, by pages of the largest size."""
    return set(walk(one, 200, lambda _: None))


def walk(one: Listed, size: int, between: Callable[[int], Any]) -> list[str]:
    found: list[str] = []
    cursor, number = "", 0
    while cursor is not None:
        page = one.reader.get(one.url(f"limit={size}{f'&cursor={cursor}' if cursor else ''}"))
        assert len(page[one.name]) == size or page["next_cursor"] is None, "short only at the end"
        found += [row[one.row_id] for row in page[one.name]]
        cursor = page["next_cursor"]
        between(number)
        number += 1
    return found


@pytest.mark.rule("H-06")
@pytest.mark.case("F12")
@pytest.mark.parametrize("name", NAMES)
def test_250_rows_of_one_instant_are_each_listed_once_while_others_are_added(
    world: World, name: str
) -> None:
    one = lists(Scene.of(world))[name]
    db.write(lambda: [one.add() for _ in range(MANY)])
    wanted = ids_at_once(one)
    assert len(wanted) >= MANY

    found = walk(one, PAGE, lambda number: number < 20 and db.write(one.add))

    assert len(found) == len(set(found)), "no row twice"
    assert wanted <= set(found), "no row left out"


@pytest.mark.rule("H-06")
def test_every_list_pages_and_stands_in_this_table(world: World) -> None:
    paged = {route.endpoint for route in routes(world.app) if isinstance(route.query, PageQuery)}
    assert paged == set(NAMES) == set(lists(Scene.of(world)))


@pytest.mark.rule("H-06")
def test_a_cursor_of_another_list_or_another_reader_or_a_changed_one_is_refused(
    world: World,
) -> None:
    scene = Scene.of(world)
    found = lists(scene)
    db.write(lambda: [one.add() for one in found.values() for _ in range(2)])
    cursors = {}
    for name, one in found.items():
        cursors[name] = one.reader.get(one.url("limit=1"))["next_cursor"]
        assert cursors[name], name

    def refused(pair: tuple[str, str]) -> None:
        name, cursor = pair
        one = found[name]
        told = one.reader.call("GET", one.url(f"cursor={cursor}")).refused(400)
        assert list(told["errors"]) == ["cursor"]

    foreign = [(name, cursors[other]) for name in found for other in found if other != name]
    changed = [(name, cursor[:-1]) for name, cursor in cursors.items()]
    changed += [(name, cursor.swapcase()) for name, cursor in cursors.items()]
    all_hold([*foreign, *changed], refused)

    # An account's own list is not another account's, whatever the path.
    own = ("/wallets", "/auth/keys", "/mailboxes/mine", "/gigs/mine", "/deliveries")
    for path in (*own, "/notifications"):
        for cursor in cursors.values():
            told = scene.other.call("GET", f"{path}?cursor={cursor}").refused(400)
            assert list(told["errors"]) == ["cursor"]
