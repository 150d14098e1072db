"""Money goes in and comes out exactly, to the base unit, or is refused (H-09)."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simplejson import dumps

from engine.rules import money
from tests.contract.scene import Route, Scene, all_hold, everything, routes
from tests.world import World
from web import fields

JSON = "application/json"
units = st.integers(0, money.MAX_UNITS)

# What is written in a request's JSON, and how it is read back in JSON.
EXACT = [
    ("2.01", "2.01"),
    ('"2.01"', "2.01"),
    ("2.05", "2.05"),
    ("0.000249", "0.000249"),
    ('"0.000249"', "0.000249"),
    ("0.1", "0.1"),
    ("1.10", "1.1"),
    ('"2.50"', "2.5"),
    ("1e-6", "0.000001"),
    ('"1E-6"', "0.000001"),
    ("0.000001", "0.000001"),
    ("1.5e3", "1500"),
    ("2.010000000000000000000000000000", "2.01"),
    ("1.0000000e0", "1"),
    ("0", "0"),
    ("0.0", "0"),
    ("0e5", "0"),
    ("100", "100"),
    ("900719925.993001", "900719925.993001"),
    ("1000000000", "1000000000"),
    ('"999999999.999999"', "999999999.999999"),
]
# Limits, which null takes away.
NULLABLE = {
    "webhook_max_price",
    "webhook_daily_spend",
    "list_price",
    "filter_price_min",
    "filter_price_max",
    "price_min",
    "price_max",
    "asking_price",
}
WRONG = [
    "1.005000001",
    "0.0000001",
    "0.30000000000000004",
    "1e-7",
    "2.0100001",
    "-1",
    "-0.01",
    '"-1"',
    '"-0"',
    "1e30",
    '"1e30"',
    "1e400",
    "1000000000.000001",
    '"1000000001"',
    "9223372036854.775807",
    "9223372036854.775808",
    "10000000000000",
    '"99999999999999999999999999999999999999999"',
    '"NaN"',
    '"Infinity"',
    '"-Infinity"',
    '"nan"',
    '"1,5"',
    '"1,000"',
    '"1_000"',
    '" 1"',
    '"1 "',
    '"1\\n"',
    '"+1"',
    '"0x10"',
    '"٣"',
    '"１"',
    '"1."',
    '".5"',
    '"$1"',
    '"1 USD"',
    '""',
    '"tbd"',
    "true",
    "false",
    "[]",
    "[1]",
    "{}",
    '{"amount": 1}',
]
# Not JSON at all, so the body is at fault.
NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1,5", "1_000", "+1", "0x10", "٣", "01", ".5", "1."]


def money_fields(scene: Scene) -> list[tuple[Route, str, str]]:
    """(route, field, the rest of a body that it takes) for every amount that can be sent."""
    return [
        (route, name, "".join(f'"{key}": {dumps(value)}, ' for key, value in rest.items()))
        for route in routes(scene.world.app)
        if route.body is not None
        for name, one in route.body.fields.items()
        if isinstance(one, fields.Money)
        for rest in [{k: v for k, v in (scene.body(route) or {}).items() if k != name}]
    ]


def send(scene: Scene, route: Route, body: str) -> Any:
    headers = {**scene.headers(route), "content-type": JSON}
    return scene.world.call(route.method, scene.path(route), raw=body.encode(), headers=headers)


@pytest.mark.rule("H-09")
@pytest.mark.case("F22")
def test_every_field_of_money_refuses_what_is_no_exact_amount(world: World) -> None:
    scene = Scene.of(world)
    found = money_fields(scene)
    assert {name for _, name, _ in found} >= {"price", "min_payout", "amount", "usdc"}
    before = everything()

    def refused(row: tuple[Route, str, str]) -> None:
        route, name, rest = row
        for token in WRONG:
            errors = send(scene, route, f'{{{rest}"{name}": {token}}}').refused(400)["errors"]
            assert list(errors) == [name], token
        for token in NO_NUMBERS:
            errors = send(scene, route, f'{{{rest}"{name}": {token}}}').refused(400)["errors"]
            assert list(errors) == ["body"], token

    all_hold(found, refused)
    assert everything() == before


@pytest.mark.rule("H-09")
@pytest.mark.case("F22")
def test_null_is_an_amount_only_where_none_may_be_named(world: World) -> None:
    scene = Scene.of(world)
    for route, name, rest in money_fields(scene):
        answer = send(scene, route, f'{{{rest}"{name}": null}}')
        if route.endpoint == "reviews.review" or name in NULLABLE:
            answer.ok()
        else:
            assert list(answer.refused(400)["errors"]) == [name]


def shown(text: str, name: str) -> list[str]:
    """The numbers that stand under a name in an answer, digit for digit."""
    return re.findall(rf'"{name}": ([^,}}\]]+)', text)


@pytest.mark.rule("H-09")
@pytest.mark.case("F22")
def test_an_amount_is_read_back_as_it_was_sent(world: World) -> None:
    owner = world.person()

    def kept(row: tuple[str, str]) -> None:
        token, wanted = row
        body = f'{{"title": "A gig", "price": {token}, "min_payout": {token}}}'.encode()
        made = owner.call("POST", "/gigs", raw=body, headers={"content-type": JSON})
        gig_id = made.ok()["gig"]["id"]
        for answer in (made, owner.call("GET", f"/gigs/{gig_id}")):
            assert shown(answer.text, "price") == shown(answer.text, "min_payout") == [wanted]

    all_hold(EXACT, kept)
    listed = owner.call("GET", "/gigs/mine")
    assert shown(listed.text, "price") == [wanted for _, wanted in reversed(EXACT)]


@pytest.mark.rule("H-09")
@pytest.mark.rule("R-02")
def test_a_tasks_price_is_the_same_amount_from_the_query_to_the_proof(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for token, wanted in EXACT[3:9]:
        text = token.strip('"')
        task_id = world.task(gig, price=text)
        listed = worker.call("GET", f"{gig.path}/queue")
        polled = worker.call("POST", f"{gig.path}/queue/poll", {"count": 1})
        read = worker.call("GET", f"{gig.path}/tasks/{task_id}")
        proof = worker.call("POST", f"{gig.path}/proofs", {"task_identifier": task_id})
        verdict = gig.owner.call(
            "PATCH", f"{gig.path}/proofs/{proof.ok()['proof']['id']}", {"action": "approve"}
        )
        for answer in (listed, polled, read):
            assert shown(answer.text, "price") == [wanted], text
        for answer in (proof, verdict):
            assert shown(answer.text, "locked_price") == [wanted], text
    events = gig.owner.call("GET", f"{gig.path}/events?limit=200").text
    assert set(shown(events, "locked_price")) == {wanted for _, wanted in EXACT[3:9]}


@pytest.mark.rule("H-09")
def test_a_wrong_price_in_the_query_is_refused_by_name(world: World) -> None:
    gig = world.gig()
    before = everything()

    def refused(text: str) -> None:
        path = f"/inbound/webhook/{gig.id}?token={gig.token}&price={quote(text)}"
        assert list(world.call("POST", path, raw=b"x").refused(400)["errors"]) == ["price"]

    wrong = [t.strip('"') for t in WRONG if t not in ('"1\\n"', '"tbd"')]
    all_hold([*wrong, *set(NO_NUMBERS) - {"01"}, "1\n", "TBD", "tbd ", "null", "x" * 5000], refused)
    assert everything() == before


@pytest.mark.rule("G-06")
@pytest.mark.rule("Y-06")
def test_a_deposit_is_whole_cents_from_a_hot_wallet_of_ones_own_that_has_them(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig()
    mine, poor = world.funded_wallet(gig.owner, 10), gig.owner.post("/wallets")["wallet"]["id"]
    external = {"is_hot_wallet": False, "evm_address": "0x" + "1" * 40}
    cold = gig.owner.post("/wallets", external)["wallet"]["id"]
    foreign = world.person().post("/wallets")["wallet"]["id"]
    path = f"{gig.path}/deposit"

    def refused(row: tuple[str, str, int, str]) -> None:
        wallet_id, amount, status, reason = row
        body = {"wallet_alias_id": wallet_id, "amount": amount}
        told = gig.owner.call("POST", path, body).refused(status, reason)
        if status == 402:
            assert told["short"] == (["usdc"] if wallet_id == mine else ["usdc", "gas"])

    rows = [
        (mine, "0", 400, "invalid"),
        (mine, "2.005", 400, "fractional_cents"),
        (mine, "0.000001", 400, "fractional_cents"),
        (mine, "10.01", 402, "insufficient_funds"),
        (mine, "999999999.99", 402, "insufficient_funds"),
        (poor, "1", 402, "insufficient_funds"),
        (cold, "1", 400, "invalid"),
        (foreign, "1", 404, "not_found"),
        (gig.id, "1", 404, "not_found"),
    ]
    all_hold(rows, refused)
    body = b'{"wallet_alias_id": "%s", "amount": 2.01}' % mine.encode()
    done = gig.owner.call("POST", path, raw=body, headers={"content-type": JSON})
    assert shown(done.text, "available_funds") == ["2.01"]
    assert shown(gig.owner.call("GET", gig.path).text, "available_funds") == ["2.01"]
    balances = gig.owner.get(f"/wallets/{mine}/balances")
    assert balances["usdc_balance"] == "7.99"


@pytest.mark.rule("H-09")
@given(units)
def test_base_units_and_dollars_are_the_same_amount_both_ways(amount: int) -> None:
    dollars = money.to_dollars(amount)
    assert money.parse_units(dollars) == money.parse_units(str(dollars)) == amount
    assert Fraction(dollars) * money.UNITS_PER_DOLLAR == amount
    assert "E" not in str(dollars)


@pytest.mark.rule("H-09")
@settings(max_examples=300)
@given(st.decimals(min_value=0, max_value=10**10, allow_nan=False, places=9))
def test_dollars_are_taken_exactly_or_not_at_all(dollars: Decimal) -> None:
    wanted = Fraction(dollars) * money.UNITS_PER_DOLLAR
    if wanted.denominator == 1 and wanted <= money.MAX_UNITS:
        assert money.parse_units(dollars) == money.parse_units(str(dollars)) == wanted
    else:
        with pytest.raises(ValueError):
            money.parse_units(dollars)


@pytest.mark.rule("H-09")
@settings(max_examples=150)
@given(st.text(max_size=12) | st.text("0123456789.eE+-_, ", max_size=12))
def test_no_text_is_taken_for_another_amount(text: str) -> None:
    try:
        amount = money.parse_units(text)
    except ValueError:
        return
    assert text.isascii() and Fraction(Decimal(text)) * money.UNITS_PER_DOLLAR == amount


@pytest.mark.rule("H-09")
@pytest.mark.parametrize("value", [None, True, False, 1.0, 2.01, b"1", [], {}, object()])
def test_what_is_no_number_and_no_text_is_no_amount(value: object) -> None:
    with pytest.raises(ValueError):
        money.parse_units(value)


@pytest.mark.rule("Y-01")
@given(units, st.integers(0, money.BPS))
def test_the_fee_is_the_exact_share_floored_to_a_base_unit(gross: int, fee_bps: int) -> None:
    assert money.fee_on_top(gross, fee_bps) == floor(Fraction(gross * fee_bps, money.BPS))


@pytest.mark.rule("Y-01")
@given(st.lists(units, min_size=1, max_size=5), st.integers(0, money.BPS))
def test_fees_of_parts_never_come_to_more_than_the_fee_of_the_whole(
    parts: list[int], fee_bps: int
) -> None:
    whole = money.fee_on_top(sum(parts), fee_bps)
    split = sum(money.fee_on_top(part, fee_bps) for part in parts)
    assert 0 <= whole - split < len(parts)


@pytest.mark.rule("Y-01")
@given(units)
def test_a_whole_cent_is_the_nearest_below(amount: int) -> None:
    cents = money.floor_to_cent(amount)
    assert cents % money.UNITS_PER_CENT == 0 and 0 <= amount - cents < money.UNITS_PER_CENT
