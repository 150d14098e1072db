"""Every reason for which an order is not sent, by its real cause, and what is left afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest

from engine import audit, install
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.models.chain import ChainAttempt, ChainTransaction
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.purchase import Purchase
from engine.models.task import Task
from tests.conftest import BACKENDS
from tests.engine.escrow_world import token
from tests.orders.node import EVERYTHING, Way
from tests.orders.test_publish import NOT_WAITING, deposits, units
from tests.shop import Shop, shop
from tests.world import Person, World, eventually


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    yield paying_world
    assert audit.run().faults == []


@dataclass
class Case:
    """A buyer with ten dollars, and an order of his that he is about to send."""

    place: Shop
    buyer: Person
    task_id: str
    way: Way
    body: dict[str, Any] = field(default_factory=lambda: {"amount": "0.50"})

    def publish(self) -> Any:
        return self.place.publish(self.buyer, self.task_id, **self.body)

    @property
    def address(self) -> str:
        wallets = self.buyer.get("/wallets")["wallets"]
        wallet_id = self.buyer.wallet_id  # type: ignore[attr-defined]
        (found,) = [one["evm_address"] for one in wallets if one["id"] == wallet_id]
        return str(found)

    def forget(self) -> None:
        """The database as it was before the order was sent: of its deposit nothing is known."""

        def write() -> None:
            ours = Escrow.select(Escrow.id).where(Escrow.task_id == self.task_id)
            intents = [f"escrow:{one.id}" for one in ours]
            sent = ChainTransaction.select(ChainTransaction.id).where(
                ChainTransaction.intent.in_(intents)
            )
            ChainAttempt.delete().where(ChainAttempt.transaction_id.in_(sent)).execute()
            ChainTransaction.delete().where(ChainTransaction.intent.in_(intents)).execute()
            Purchase.delete().where(Purchase.task_id == self.task_id).execute()
            Escrow.delete().where(Escrow.task_id == self.task_id).execute()
            Command.delete().where(Command.kind == "order.sent").execute()
            Task.update(
                status="draft",
                deposit_id=None,
                escrowed_at=None,
                mailbox_id=None,
                assignee_id=None,
                order_withdrawn_at=None,
            ).where(Task.id == self.task_id).execute()

        db.write(write)


def _shut_mailbox(case: Case, status: str) -> None:
    query = Mailbox.update(status=status).where(Mailbox.id == case.place.mailbox_id)
    db.write(lambda: query.execute())


def usdc(case: Case) -> None:
    case.body = {"amount": "10.01"}


def gas(case: Case) -> None:
    install.treasury().chain.request("anvil_setBalance", case.address, "0x1")


def usdc_and_gas(case: Case) -> None:
    usdc(case)
    gas(case)


def lose(*what: str) -> Callable[[Case], None]:
    return lambda case: case.way.lost.update(what)


def away(case: Case) -> None:
    case.place.world.stop_following()
    case.way.lost.add(EVERYTHING)


def body(**given: Any) -> Callable[[Case], None]:
    return lambda case: setattr(case, "body", given)


def rate(case: Case) -> None:
    # A rate at which nothing in whole cents is left to the vendor.
    case.way.answers["feeBps"] = f"0x{600_000:064x}"


def frozen(case: Case) -> None:
    token(case.place.world, "blacklist", case.address)


def elsewhere(case: Case) -> None:
    query = Gig.update(treasury_address="0x" + "77" * 20).where(Gig.id == case.place.gig.id)
    db.write(lambda: query.execute())


def closed(case: Case) -> None:
    case.place.vendor.patch(case.place.path, {"status": "closed"})


def unknown_deposit(case: Case) -> None:
    frozen(case)
    case.publish().refused(502, "deposit_failed")
    db.write(lambda: Purchase.delete().where(Purchase.task_id == case.task_id).execute())
    db.write(lambda: Escrow.delete().where(Escrow.task_id == case.task_id).execute())


def used_up(case: Case) -> None:
    case.publish().ok()
    case.place.withdraw(case.buyer, case.task_id).ok()
    case.forget()


def undelivered(case: Case) -> None:
    """The money arrives while the vendor cannot be given the order."""
    world = case.place.world
    world.stop_following()
    path = f"{case.place.path}/tasks/{case.task_id}/publish"
    wallet_id = case.buyer.wallet_id  # type: ignore[attr-defined]
    given = {"amount": "0.50", "wallet_alias_id": wallet_id}
    sent = case.buyer.call("POST", path, given, headers=NOT_WAITING)
    assert sent.status == 202
    _shut_mailbox(case, "inactive")
    world.follow()
    path = sent.headers["location"].removeprefix("/api")
    told = eventually(lambda: (now := case.buyer.get(path))["status"] == "failed" and now)
    assert told["error"]["reason"] == "ledger_write_failed"
    assert deposits(case.task_id) == ["open"]


def gone_from_chain(case: Case) -> None:
    undelivered(case)
    _shut_mailbox(case, "active")
    case.place.world.stop_following()
    from engine import signers
    from engine.chain import sender

    treasury = install.treasury()
    with db.reading():
        deposit_id = Escrow.get(Escrow.task_id == case.task_id).id
    call = treasury.refund(deposit_id)
    sender.send(treasury.chain, signers.refunder(), "test:refund", call, lambda _: None)
    eventually(lambda: _mined(deposit_id))
    case.body = {}


def _mined(deposit_id: str) -> bool:
    treasury = install.treasury()
    treasury.chain.request("evm_mine")
    try:
        return treasury.deposit_on_chain(deposit_id).state == "refunded"
    except ChainUnavailable:
        return False


def other_amount(case: Case) -> None:
    undelivered(case)
    _shut_mailbox(case, "active")
    case.body = {"amount": "0.60"}


def no_vendor(case: Case) -> None:
    _shut_mailbox(case, "inactive")


KEPT = {"draft_kept": True}
# The reason, its status, what brings it about, what the answer says beside, and which deposits
# there are then.
ROWS: list[tuple[str, int, Callable[[Case], None], dict[str, Any], list[str]]] = [
    ("insufficient_funds", 402, usdc, {**KEPT, "short": ["usdc"]}, []),
    ("insufficient_funds", 402, gas, {**KEPT, "short": ["gas"]}, []),
    ("insufficient_funds", 402, usdc_and_gas, {**KEPT, "short": ["usdc", "gas"]}, []),
    ("balance_unreadable", 503, lose("balanceOf"), KEPT, []),
    ("fee_rate_unreadable", 503, lose("feeBps"), KEPT, []),
    ("fee_rate_unreadable", 503, away, KEPT, []),
    ("chain_unreadable", 503, lose("deposits"), KEPT, ["abandoned"]),
    ("chain_unreadable", 503, lose("eth_estimateGas"), KEPT, ["abandoned"]),
    ("deposit_id_squatted", 409, used_up, KEPT, ["refunded"]),
    ("deposit_failed", 502, frozen, KEPT, ["abandoned"]),
    ("ledger_write_failed", 409, undelivered, {**KEPT, "funded": True}, ["open"]),
    ("residue_too_large", 409, rate, KEPT, []),
    ("contract_mismatch", 409, elsewhere, KEPT, []),
    ("deposit_unreconciled", 409, other_amount, {**KEPT, "funded": True}, ["open"]),
    ("state_mismatch", 409, gone_from_chain, {**KEPT, "funded": False}, ["open"]),
    ("ledger_missing", 409, unknown_deposit, KEPT, []),
    ("amount_required", 400, body(), KEPT, []),
    ("below_list_price", 400, body(amount="0.49"), KEPT, []),
    ("fractional_cents", 400, body(amount="0.505"), KEPT, []),
    ("shop_closed", 409, closed, KEPT, []),
    ("vendor_away", 409, no_vendor, KEPT, []),
]
# Each row on one of the two databases.
TABLE = [
    pytest.param(backend, *row, id=f"{row[0]}-{getattr(row[2], '__name__', '')}-{backend}")
    for row, backend in zip(ROWS, cycle(BACKENDS), strict=False)
]


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-08")
@pytest.mark.parametrize(
    ("backend", "reason", "status", "cause", "says", "left"), TABLE, indirect=["backend"]
)
def test_what_is_not_sent_says_why_and_leaves_the_order_and_the_money_as_they_are(
    world: World,
    reason: str,
    status: int,
    cause: Callable[[Case], None],
    says: dict[str, Any],
    left: list[str],
) -> None:
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=10)
    case = Case(place, buyer, place.draft(buyer), Way())
    cause(case)
    before = units(buyer)
    told = case.publish().refused(status, reason)
    case.way.heal()
    assert {name: told.get(name) for name in says} == says
    if says:
        assert told["message_id"] == case.task_id
    assert units(buyer) == before
    assert place.task(buyer, case.task_id)["status"] == "draft"
    assert deposits(case.task_id) == left
    if cause in (away, gone_from_chain):
        world.follow()
    if cause is gone_from_chain:
        # Once the books have followed, the order is told that its money is back.
        eventually(lambda: deposits(case.task_id) == ["refunded"])
        assert place.task(buyer, case.task_id)["status"] == "withdrawn"


@pytest.mark.rule("O-02")
def test_what_was_paid_and_not_delivered_is_finished_once_and_charged_once(world: World) -> None:
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=10)
    case = Case(place, buyer, place.draft(buyer), Way())
    undelivered(case)
    case.body = {}
    case.publish().refused(409, "ledger_write_failed")
    # What was bought says so already; nobody rewrites it.
    rewritten = {"payload": "another"}
    buyer.call("PATCH", f"{place.path}/tasks/{case.task_id}/payload", rewritten).refused(409)
    (row,) = buyer.get("/orders")["orders"]
    assert row["state"] == "open"
    _shut_mailbox(case, "active")
    sent = case.publish().ok()
    assert sent["deposit_id"] == row["deposit_id"] and sent["status"] == "assigned"
    assert units(buyer) == 9_500_000 and deposits(case.task_id) == ["open"]


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-09")
def test_what_was_paid_and_not_delivered_can_be_undone_instead(world: World) -> None:
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=10)
    case = Case(place, buyer, place.draft(buyer), Way())
    undelivered(case)
    place.withdraw(buyer, case.task_id).ok()
    assert units(buyer) == 10_000_000 and deposits(case.task_id) == ["refunded"]


@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("ended", [False, True], ids=["open", "ended"])
def test_a_deposit_that_a_restored_database_forgot_is_found_on_chain(
    world: World, ended: bool
) -> None:
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=10)
    case = Case(place, buyer, place.draft(buyer), Way())
    first = case.publish().ok()
    if ended:
        place.withdraw(buyer, case.task_id).ok()
    case.forget()
    if ended:
        case.publish().refused(409, "deposit_id_squatted")
    again = case.publish().ok()
    assert (again["deposit_id"] == first["deposit_id"]) is not ended
    assert units(buyer) == 9_500_000
    assert deposits(case.task_id) == (["refunded", "open"] if ended else ["open"])


@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-01")
def test_a_rate_that_moves_between_reading_it_and_paying_is_read_again(world: World) -> None:
    place = shop(world, "0.50")
    buyer = place.buyer(dollars=10)
    case = Case(place, buyer, place.draft(buyer), Way())
    real = install.treasury().fee_bps()
    case.way.answers["feeBps"] = "0x" + f"{real + 100:064x}"
    healed = _heal_after(case.way, "eth_estimateGas")
    sent = case.publish().ok()
    assert healed and sent["fee_bps"] == real
    assert deposits(case.task_id) == ["abandoned", "open"]


def _heal_after(way: Way, method: str) -> list[str]:
    """The node tells the truth again once it is asked this; answers a list that then says so."""
    chain, healed = install.treasury().chain, []
    request = chain.request

    def asked(name: str, *params: Any) -> Any:
        if name == method:
            way.heal()
            healed.append(name)
        return request(name, *params)

    setattr(chain, "request", asked)  # noqa: B010
    return healed
