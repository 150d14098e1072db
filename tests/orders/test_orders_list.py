"""The buyer's ledger, and the vendor's view of his shop's deposits (H-06, O-04)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from engine import clock
from engine.db import db
from engine.models.purchase import Purchase
from tests.contract.test_lists import walk
from tests.engine.escrow_world import token
from tests.orders.undoing import address
from tests.shop import Shop, shop
from tests.world import Person, World, eventually

ROW = {
    "deposit_id",
    "gig_id",
    "gig_title",
    "task_id",
    "state",
    "amount",
    "fee_bps",
    "vendor_payout",
    "tip_estimate",
    "tx_hash",
    "abandoned",
    "created_at",
    "settled_at",
    "withdrawn_at",
}


def ledger(person: Person, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = person.get(f"/orders{query}")["orders"]
    return rows


@pytest.fixture
def place(paying_world: World) -> Iterator[Shop]:
    yield shop(paying_world, "0.50")


@pytest.mark.rule("O-04")
@pytest.mark.rule("O-06")
def test_every_attempt_is_a_row_that_says_what_became_of_the_money(place: Shop) -> None:
    world, buyer, other = place.world, place.buyer(dollars=20), place.buyer(dollars=20)
    free = shop(world, 0)
    rich = buyer.wallet_id  # type: ignore[attr-defined]
    frozen = world.funded_wallet(buyer, 5)
    buyer.wallet_id = frozen  # type: ignore[attr-defined]
    token(world, "blacklist", address(buyer))
    world.worker(free.gig, buyer)
    wanted: dict[str, str] = {}
    buyer.wallet_id = None  # type: ignore[attr-defined]
    wanted["free"] = free.order(buyer)
    wanted["cancelled"] = free.order(buyer)
    free.withdraw(buyer, wanted["cancelled"]).ok()
    buyer.wallet_id = frozen  # type: ignore[attr-defined]
    wanted["given up"] = place.draft(buyer)
    place.publish(buyer, wanted["given up"], amount="0.60").refused(502, "deposit_failed")
    buyer.wallet_id = rich  # type: ignore[attr-defined]
    wanted["open"] = place.order(buyer, amount="5.00")
    wanted["settled"] = place.order(buyer, amount="0.50")
    place.rule(buyer, place.deliver(wanted["settled"])).ok()
    buyer.post(f"{place.path}/rollups")
    wanted["undone"] = place.order(buyer, amount="0.75")
    place.withdraw(buyer, wanted["undone"]).ok()
    hers = place.order(other, amount="0.50")
    world.stop_following()
    wanted["pending"] = place.draft(buyer)
    path = f"{place.path}/tasks/{wanted['pending']}/publish"
    body = {"amount": "0.50", "wallet_alias_id": rich}
    assert buyer.call("POST", path, body, headers={"prefer": "wait=0"}).status == 202
    eventually(lambda: len(ledger(buyer)) == 7)
    found = {row["task_id"]: row for row in ledger(buyer)}
    assert set(found) == set(wanted.values()) and all(set(row) == ROW for row in found.values())
    told = {
        name: tuple(
            found[task_id][field]
            for field in ("state", "amount", "fee_bps", "vendor_payout", "tip_estimate")
        )
        for name, task_id in wanted.items()
    }
    assert told == {
        "free": ("free", 0, None, 0, None),
        "cancelled": ("withdrawn", 0, None, 0, None),
        "given up": ("pending", Decimal("0.60"), 1000, Decimal("0.54"), Decimal("0.10")),
        "open": ("open", 5, 1000, Decimal("4.54"), Decimal("4.50")),
        "settled": ("settled", Decimal("0.50"), 1000, Decimal("0.45"), 0),
        "undone": ("withdrawn", Decimal("0.75"), 1000, Decimal("0.68"), Decimal("0.25")),
        "pending": ("pending", Decimal("0.50"), 1000, Decimal("0.45"), 0),
    }
    assert [name for name in wanted if found[wanted[name]]["abandoned"]] == ["given up"]
    for name, task_id in wanted.items():
        row = found[task_id]
        gig = free if name in ("free", "cancelled") else place
        assert (row["gig_id"], row["gig_title"]) == (gig.gig.id, "Haiku on demand")
        assert (row["deposit_id"] is None) == (gig is free)
        assert (row["settled_at"] is not None) == (name == "settled")
        assert (row["withdrawn_at"] is not None) == (name in ("cancelled", "undone"))
        mined = name in ("open", "settled", "undone")
        assert (row["tx_hash"] is not None) == mined
    # In the order in which they were made, whatever their ids are.
    assert [row["task_id"] for row in ledger(buyer)] == list(wanted.values())[::-1]
    filters(buyer, place, free, wanted)
    of_shop(place, free, buyer, other, wanted, hers)
    # An estimate follows the price of today; where that is above the deposit nobody can tell.
    place.vendor.patch(place.path, {"list_price": "1.00"})
    now = {row["task_id"]: row["tip_estimate"] for row in ledger(buyer)}
    assert (now[wanted["open"]], now[wanted["settled"]]) == (4, None)
    assert place.task(buyer, wanted["open"])["tip"] == Decimal("4.50")
    world.follow()
    eventually(lambda: place.task(buyer, wanted["pending"])["status"] == "claimed")


def filters(buyer: Person, place: Shop, free: Shop, wanted: dict[str, str]) -> None:
    states = {
        "pending": ("given up", "pending"),
        "open": ("open",),
        "settled": ("settled",),
        "withdrawn": ("cancelled", "undone"),
        "free": ("free",),
    }
    for state, names in states.items():
        rows = ledger(buyer, f"?state={state}")
        assert {row["task_id"] for row in rows} == {wanted[name] for name in names}
    assert {row["task_id"] for row in ledger(buyer, f"?gig_id={free.gig.id}")} == {
        wanted["free"],
        wanted["cancelled"],
    }
    both = ledger(buyer, f"?gig_id={place.gig.id}&state=withdrawn")
    assert [row["task_id"] for row in both] == [wanted["undone"]]
    assert ledger(buyer, "?gig_id=none") == [] == ledger(place.vendor)
    for query in ("state=lost", "state=abandoned", "gig=x", "limit=0", "cursor=x"):
        buyer.call("GET", f"/orders?{query}").refused(400)


def of_shop(
    place: Shop, free: Shop, buyer: Person, other: Person, wanted: dict[str, str], hers: str
) -> None:
    path = f"{place.path}/deposits"
    rows = place.vendor.get(path)["deposits"]
    assert {row["task_id"] for row in rows} == {
        hers,
        *(wanted[name] for name in ("given up", "open", "settled", "undone", "pending")),
    }
    row = next(row for row in rows if row["task_id"] == hers)
    assert set(row) == (ROW - {"gig_title", "tip_estimate"}) | {"client_email", "tip"}
    assert (row["client_email"], row["state"], row["tip"]) == (other.email, "open", 0)
    assert row["deposit_id"] == ledger(other)[0]["deposit_id"]
    opened = place.vendor.get(f"{path}?state=open")["deposits"]
    assert {row["task_id"] for row in opened} == {hers, wanted["open"]}
    assert free.vendor.get(f"{free.path}/deposits")["deposits"] == []
    buyer.call("GET", path).refused(403, "not_permitted")
    outbound = place.world.gig()
    outbound.owner.call("GET", f"{outbound.path}/deposits").refused(409, "not_inbound_order")


@pytest.mark.rule("H-06")
def test_the_ledger_is_walked_while_more_is_ordered_and_ties_are_told_apart(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    made = [place.order(buyer) for _ in range(12)]
    other = place.order(place.buyer())
    db.write(lambda: Purchase.update(created_at=1).execute())
    walked = walk(buyer, "/orders", "orders", lambda _: place.order(buyer), "task_id")
    assert walked == made[::-1] and other not in walked


@pytest.mark.parametrize(
    ("path", "index"),
    [
        ("/orders", "purchase_client_id_created_at_number"),
        ("/gigs/{gig}/deposits", "purchase_gig_id_created_at_number"),
    ],
)
def test_a_page_is_read_from_an_index(
    world: World, path: str, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shop(world)
    buyer = place.buyer()
    place.order(buyer)
    asked = statements(monkeypatch)
    reader = buyer if path == "/orders" else place.vendor
    reader.get(path.format(gig=place.gig.id))
    (sql, params) = next(
        (sql, params) for sql, params in asked if "ORDER BY" in sql and index.split("_")[0] in sql
    )
    plan = explained(sql, params)
    assert index in plan and "Sort" not in plan and "TEMP B-TREE" not in plan, plan


def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    asked: list[tuple[str, Any]] = []
    database: Any = type(db.database)
    plain = database.execute_sql

    def note(self: Any, sql: str, params: Any = None, *more: Any) -> Any:
        asked.append((sql, params))
        return plain(self, sql, params, *more)

    monkeypatch.setattr(database, "execute_sql", note)
    return asked


def explained(sql: str, params: Any) -> str:
    """How the database would read it, if there were so many rows that it mattered."""

    def ask() -> str:
        if db.is_postgres:
            db.database.execute_sql("SET LOCAL enable_seqscan = off")
            db.database.execute_sql("SET LOCAL enable_sort = off")
        verb = "EXPLAIN " if db.is_postgres else "EXPLAIN QUERY PLAN "
        return "\n".join(str(row[-1]) for row in db.database.execute_sql(verb + sql, params))

    return db.write(ask)


def test_times_are_of_the_one_clock(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    before = clock.now()
    place.order(buyer)
    with db.reading():
        (made,) = Purchase.select()
    assert before <= made.created_at <= clock.now()
