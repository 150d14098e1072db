"""An account's keys, and what it says of itself (H-02, H-14)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from engine.db import db
from engine.models.access import StoredAnswer
from tests.contract import described
from tests.contract.scene import Route, Scene, all_hold, everything, routes
from tests.world import World

DAY = 86_400


def status(world: World, key: str, path: str = "/auth/me") -> int:
    return world.call("GET", path, headers={"x-api-key": key}).status


def now(world: World) -> datetime:
    return datetime.fromisoformat(world.call("GET", "/health").ok()["timestamp"])


@pytest.mark.rule("H-02")
def test_an_account_has_several_keys_and_revokes_each_at_once(world: World) -> None:
    person = world.person()
    made = [person.post("/auth/keys", {"label": f"key {number}"}) for number in range(3)]
    listed = person.get("/auth/keys")["keys"]
    assert [row["label"] for row in listed] == ["first key", "key 0", "key 1", "key 2"]
    assert all(set(row) == {*made[0]} - {"key"} for row in listed)
    assert [status(world, one["key"]) for one in made] == [200] * 3

    assert person.call("DELETE", f"/auth/keys/{made[1]['id']}").ok() == {"success": True}

    assert [status(world, one["key"]) for one in made] == [200, 401, 200]
    person.call("DELETE", f"/auth/keys/{made[1]['id']}").refused(404)
    world.person().call("DELETE", f"/auth/keys/{made[0]['id']}").refused(404)
    assert status(world, made[0]["key"]) == 200
    assert [row["label"] for row in person.get("/auth/keys")["keys"]] == [
        "first key",
        "key 0",
        "key 2",
    ]
    # A key may revoke itself, and is gone with the answer.
    first = person.get("/auth/keys")["keys"][0]
    person.call("DELETE", f"/auth/keys/{first['id']}").ok()
    person.call("GET", "/auth/me").refused(401, "bad_key")


@pytest.mark.rule("H-02")
def test_a_key_of_other_scopes_reaches_no_route_of_this_api(world: World) -> None:
    person = world.person()
    gig = world.gig(person)
    for scopes in (["tasks:read"], ["tasks:update"], ["tasks:read", "tasks:update"]):
        made = person.post("/auth/keys", {"scopes": scopes})
        assert made["scopes"] == scopes
        for path in ("/auth/me", "/auth/keys", "/gigs/mine", "/wallets", gig.path):
            headers = {"x-api-key": made["key"]}
            world.call("GET", path, headers=headers).refused(403, "not_permitted")
        for path in ("/auth/keys", "/auth/rotate-key", "/wallets"):
            world.call("POST", path, headers={"x-api-key": made["key"]}).refused(403)
    both = person.post("/auth/keys", {"scopes": ["tasks:read", "all", "all"]})
    assert both["scopes"] == ["all", "tasks:read"] and status(world, both["key"]) == 200
    for scopes in ([], ["admin"], ["ALL"], "all", None, ["all"] * 4):
        told = person.call("POST", "/auth/keys", {"scopes": scopes}).refused(400)
        assert next(iter(told["errors"])).startswith("scopes")


@pytest.mark.rule("H-02")
@pytest.mark.rule("H-10")
def test_a_key_ends_when_it_was_to_by_the_one_clock(world: World) -> None:
    person = world.person()
    end = now(world) + timedelta(days=1)
    utc = end.astimezone(UTC).isoformat().replace("+00:00", "Z")
    for told in (utc, end.astimezone(timezone(timedelta(hours=5, minutes=45))).isoformat()):
        made = person.post("/auth/keys", {"label": "for a day", "expires_at": told})
        assert abs(datetime.fromisoformat(made["expires_at"]) - end) < timedelta(milliseconds=1)
        assert made["expires_at"].endswith("Z") and status(world, made["key"]) == 200
    world.call("POST", "/dev/clock/advance", {"seconds": DAY - 60}).ok()
    assert status(world, made["key"]) == 200
    world.call("POST", "/dev/clock/advance", {"seconds": 60}).ok()
    assert status(world, made["key"]) == 401
    assert status(world, person.key) == 200


@pytest.mark.rule("H-02")
@pytest.mark.rule("H-10")
def test_an_end_that_is_past_or_has_no_zone_is_refused_by_name(world: World) -> None:
    person = world.person()
    before = everything()
    ends = (
        "2020-01-01T00:00:00Z",
        "2099-01-01T00:00:00",
        "2099-01-01",
        "2099-13-01T00:00:00Z",
        "2099-02-30T00:00:00Z",
        "2099-01-01T00:00:00+99:00",
        "tomorrow",
        "",
        4_000_000_000,
        True,
    )

    def refused(end: object) -> None:
        told = person.call("POST", "/auth/keys", {"expires_at": end}).refused(400)
        assert list(told["errors"]) == ["expires_at"]

    all_hold(ends, refused)
    assert everything() == before


@pytest.mark.rule("H-14")
def test_a_rotated_key_has_the_same_rights_and_end_and_the_old_one_none(world: World) -> None:
    person = world.person()
    end = "2199-01-01T00:00:00.000Z"
    other = person.post("/auth/keys")["key"]
    made = person.post("/auth/keys", {"label": "mine", "expires_at": end})

    rotated = world.call("POST", "/auth/rotate-key", headers={"x-api-key": made["key"]}).ok()

    assert rotated["user_id"] == person.id and rotated["email"] == person.email
    assert status(world, made["key"]) == 401
    assert [status(world, key) for key in (rotated["api_key"], other, person.key)] == [200] * 3
    (row,) = [one for one in person.get("/auth/keys")["keys"] if one["label"] == "mine"]
    assert (row["expires_at"], row["scopes"]) == (end, ["all"]) and row["id"] != made["id"]
    bearer = {"authorization": f"Bearer {rotated['api_key']}"}
    again = world.call("POST", "/auth/rotate-key", headers=bearer).ok()["api_key"]
    assert [status(world, key) for key in (rotated["api_key"], again)] == [401, 200]


@pytest.mark.rule("H-02")
def test_no_table_holds_a_key(world: World) -> None:
    person = world.person()
    keys = [person.key, person.post("/auth/keys")["key"]]
    headers = {"idempotency-key": "once"}
    keys.append(person.call("POST", "/auth/keys", {}, headers=headers).ok()["key"])
    keys.append(person.post("/auth/rotate-key")["api_key"])
    with db.reading():
        assert StoredAnswer.select().count() == 1
        tables = db.database.get_tables()
        everywhere = "".join(repr(db.rows(f'SELECT * FROM "{name}"')) for name in tables)
    for key in keys:
        assert key not in everywhere and key.removeprefix("mk_") not in everywhere


@pytest.mark.rule("H-14")
def test_an_account_changes_the_name_that_others_see(world: World) -> None:
    person = world.person()
    assert person.get("/auth/me")["display_name"] == person.email.partition("@")[0]
    changed = person.patch("/auth/me", {"display_name": "Ana Ćosić 🐝"})
    assert changed == person.get("/auth/me") and changed["display_name"] == "Ana Ćosić 🐝"
    assert person.patch("/auth/me", {}) == changed
    for name in ("", "x" * 101, 5, None, ["a"], "a\x00b", "  ", "\u00a0", "a\nb", "a\u2028b"):
        told = person.call("PATCH", "/auth/me", {"display_name": name}).refused(400)
        assert list(told["errors"]) == ["display_name"]
    person.call("PATCH", "/auth/me", {"email": "other@example.com"}).refused(400)
    assert person.get("/auth/me") == changed


# What a key of the scope `tasks:read` may read: the list that a worker plans by, to whom he may
# pass on what is on it, and when he works. Not to plan or to pass on, which is another scope's.
READERS = {"/v1/incoming", "/v1/assignees", "/v1/me/schedule"}


@pytest.mark.rule("H-02")
def test_every_route_that_takes_a_key_takes_only_one_that_may_do_all(world: World) -> None:
    """Before anything is read: no id tells such a key whether there is something behind it."""
    scene = Scene.of(world)
    key = scene.owner.post("/auth/keys", {"scopes": ["tasks:read"]})["key"]
    operations = described.of(world.app)
    before = everything()
    read: set[str] = set()

    def refused(route: Route) -> None:
        operation = operations.operation(route.method, scene.path(route))
        if route.method == "GET" and route.rule in READERS:
            world.call("GET", scene.path(route), headers={"x-api-key": key}).ok()
            read.add(route.rule)
            return
        if operation is not None and {"apiKey": []} in operation["security"]:
            for path in (scene.path(route), f"{scene.path(route, gig_id='none')}?nonsense=1"):
                headers = {"x-api-key": key, "content-type": "text/plain"}
                answer = world.call(route.method, path, raw=b"{", headers=headers)
                answer.refused(403, "not_permitted")

    every = routes(world.app)
    all_hold(every, refused)
    assert everything() == before and read == READERS
    # The actions of the same list are among those that are refused.
    assert {"POST", "PATCH"} <= {one.method for one in every if one.rule.startswith(tuple(READERS))}
