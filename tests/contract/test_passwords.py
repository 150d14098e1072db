"""One-time passwords: ten minutes, five tries, used once (H-14), and their limits (H-12)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine import clock, counters
from engine.counters import Limit
from engine.db import db
from engine.errors import Refused
from engine.models.access import OneTimePassword
from engine.models.account import Account
from engine.models.command import Command
from tests.contract.scene import all_hold, everything
from tests.world import Answer, World, at_once

EMAIL = "ana@example.com"


def code_for(world: World, email: str = EMAIL) -> str:
    """A code, as the log of a development install shows it."""
    with capture_logs() as lines:
        world.call("POST", "/auth/send-otp", {"email": email}).ok()
    (line,) = [one for one in lines if one["event"] == "otp.code"]
    code: str = line["code"]
    return code


def verify(world: World, code: str, email: str = EMAIL, **headers: str) -> Answer:
    return world.call("POST", "/auth/verify-otp", {"email": email, "code": code}, headers=headers)


def other_than(code: str, number: int = 1) -> str:
    return f"{(int(code) + number) % 10**6:06d}"


@pytest.mark.rule("H-14")
def test_a_code_of_six_digits_makes_an_account_or_finds_it(world: World) -> None:
    code = code_for(world, "Ana@Example.com")
    assert len(code) == 6 and code.isdigit()
    made = verify(world, code, "ANA@example.com").ok()
    me = world.call("GET", "/auth/me", headers={"x-api-key": made["api_key"]}).ok()
    assert (me["id"], me["email"]) == (made["user_id"], EMAIL)
    again = verify(world, code_for(world)).ok()
    assert again["user_id"] == made["user_id"] and again["api_key"] != made["api_key"]
    for key in (made["api_key"], again["api_key"]):
        assert world.call("GET", "/auth/me", headers={"x-api-key": key}).status == 200


@pytest.mark.rule("H-14")
def test_a_code_works_once_and_only_the_newest(world: World) -> None:
    old = code_for(world)
    code = code_for(world)
    if old != code:
        verify(world, old).refused(403, "wrong_code")
    verify(world, code).ok()
    verify(world, code).refused(403, "wrong_code")
    verify(world, code, "other@example.com").refused(403, "wrong_code")


@pytest.mark.rule("H-14")
def test_of_ten_at_once_one_gets_the_key(world: World) -> None:
    code = code_for(world)
    told = at_once(10, lambda _: verify(world, code).status)
    assert sorted(told) == [200] + [403] * 9


@pytest.mark.rule("H-14")
def test_a_code_is_good_for_ten_minutes(world: World) -> None:
    code = code_for(world)
    world.call("POST", "/dev/clock/advance", {"seconds": 590}).ok()
    verify(world, code).ok()
    code = code_for(world)
    world.call("POST", "/dev/clock/advance", {"seconds": 600}).ok()
    verify(world, code).refused(403, "wrong_code")
    with db.reading():
        assert OneTimePassword.select().count() == 1
    world.runtime.actors.ring("forget")


@pytest.mark.rule("H-14")
@pytest.mark.rule("H-07")
@pytest.mark.parametrize("keyed", [False, True])
def test_after_five_wrong_tries_the_right_code_is_wrong_too(world: World, keyed: bool) -> None:
    """Also under keys: what makes a request safe to send again makes no try free."""
    code = code_for(world)

    def headers(number: int) -> dict[str, str]:
        return {"idempotency-key": f"try-{number}"} if keyed else {}

    for number in range(4):
        verify(world, other_than(code, number + 1), **headers(number)).refused(403, "wrong_code")
    fresh = code_for(world)
    for number in range(5):
        wrong = other_than(fresh, number + 1)
        verify(world, wrong, **headers(10 + number)).refused(403, "wrong_code")
    verify(world, fresh, **headers(20)).refused(403, "wrong_code")
    assert verify(world, code_for(world)).status == 200


@pytest.mark.rule("H-14")
def test_a_code_is_kept_as_a_hash_only(world: World) -> None:
    code = code_for(world)
    with db.reading():
        (row,) = OneTimePassword.select()
        assert code not in repr(row.__data__) and len(row.hash) == 64


ADDRESSES = (
    "",
    "ana",
    "ana@",
    "@example.com",
    "ana@example.com@example.com",
    "ana @example.com",
    "ana@example.com\r\nBcc: eve@example.com",
    "ana\n@example.com",
    "ana@example.com\n",
    "ana@exam\x00ple.com",
    "ana@example.com,eve@example.com",
    "eve,ana@example.com",
    "ana@example.com;eve",
    "Eve <eve@example.com>",
    "<ana@example.com>",
    "ana@[127.0.0.1]",
    '"ana"@example.com',
    "ana\u2028@example.com",
    "a" * 65 + "@example.com",
    "ana@" + "x" * 191,
)


@pytest.mark.rule("H-14")
def test_what_is_no_single_address_is_refused_and_nothing_is_sent(world: World) -> None:
    before = everything()

    def refused(email: str) -> None:
        for path, body in (
            ("/auth/send-otp", {"email": email}),
            ("/auth/verify-otp", {"email": email, "code": "000000"}),
        ):
            told = world.call("POST", path, body).refused(400)
            assert list(told["errors"]) == ["email"]

    all_hold(ADDRESSES, refused)
    # What is counted for the address of the net is all that changes.
    assert {**everything(), "counter": ""} == {**before, "counter": ""}


@pytest.mark.rule("H-14")
@pytest.mark.rule("H-05")
def test_a_code_that_is_none_is_refused_by_name(world: World) -> None:
    for code in ("", "12345", "1234567", "12345a", "123456\n", " 12345", "١٢٣٤٥٦", 123456, None):
        body = {"email": EMAIL, "code": code}
        told = world.call("POST", "/auth/verify-otp", body).refused(400)
        assert list(told["errors"]) == ["code"]


@pytest.mark.rule("H-14")
def test_an_install_that_sends_no_mail_says_so(backend: tuple[str, str]) -> None:
    world = World(*backend, STAGE="production")
    told = world.call("POST", "/auth/send-otp", {"email": EMAIL})
    told.refused(503, "mail_not_configured")
    with db.reading():
        assert not OneTimePassword.select().exists() and not Account.select().exists()
        assert not Command.select().exists()
    world.stop()


@pytest.mark.rule("H-12")
def test_one_address_of_mail_is_sent_five_codes_in_ten_minutes(world: World) -> None:
    for number in range(5):
        answer = world.call("POST", "/auth/send-otp", {"email": EMAIL})
        answer.ok()
        assert answer.headers["ratelimit"].startswith(f'"codes";r={4 - number};t=')
        assert answer.headers["ratelimit-policy"] == '"codes";q=5;w=600'
    for email in (EMAIL, EMAIL.upper()):
        answer = world.call("POST", "/auth/send-otp", {"email": email})
        told = answer.refused(429, "rate_limited")
        seconds = int(answer.headers["retry-after"])
        assert 590 <= seconds <= 600 and told["retry_after"] == seconds
        assert answer.headers["ratelimit"] == f'"codes";r=0;t={seconds}'
        assert told["limit"] == "codes"
    world.call("POST", "/auth/send-otp", {"email": "eve@example.com"}).ok()
    world.call("POST", "/dev/clock/advance", {"seconds": 600}).ok()
    world.call("POST", "/auth/send-otp", {"email": EMAIL}).ok()


@pytest.mark.rule("H-12")
def test_one_address_of_the_net_may_ask_sixty_times_a_minute(world: World) -> None:
    told = at_once(8, lambda _: [verify(world, "000000").status for _ in range(9)])
    counted = [status for statuses in told for status in statuses]
    assert (counted.count(403), counted.count(429)) == (60, 12)
    answer = verify(world, "000000", **{"idempotency-key": "another"})
    answer.refused(429, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["ratelimit-policy"] == '"address";q=60;w=60'
    assert answer.headers["ratelimit"].startswith('"address";r=0;t=')
    # Both routes share the limit, and nothing else does.
    world.call("POST", "/auth/send-otp", {"email": EMAIL}).refused(429)
    assert world.call("GET", "/health").status == 200
    world.call("POST", "/dev/clock/advance", {"seconds": 60}).ok()
    verify(world, "000000").refused(403)


HITS = """
import sys
from engine import counters
from engine.counters import Limit
from engine.db import db

db.connect(sys.argv[1])
limit = Limit("test", 50, 3600)
used = [counters.hit(limit, "one") for _ in range(40)]
print(sum(one.count <= limit.most for one in used))
db.close()
"""


@pytest.mark.rule("H-12")
def test_a_limit_is_one_over_several_processes(world: World, backend: tuple[str, str]) -> None:
    command = [sys.executable, "-c", HITS, backend[0]]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)
    ]
    limit = Limit("test", 50, 3600)
    taken = sum(counters.hit(limit, "one").count <= limit.most for _ in range(20))
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        taken += int(out)
    assert taken == 50
    used: Any = counters.hit(limit, "one")
    assert used.count == 101 and used.remaining == 0
    with pytest.raises(Refused):
        counters.check(used)
    counters.check(counters.hit(limit, "another"))
    clock.advance(3600)
    assert counters.hit(limit, "one").count == 1
