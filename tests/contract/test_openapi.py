"""The description of the API, held against the routes as they are (H-13).

That every answer of every test here is as described is seen to in `conftest.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.contract import described
from tests.contract.scene import all_hold, routes
from tests.world import Answer, World
from web import openapi
from web.fields import Money

METHODS = {"get", "post", "patch", "delete", "put"}


@pytest.fixture
def spec(world: World) -> dict[str, Any]:
    told: dict[str, Any] = world.call("GET", "/openapi.json").ok()
    return described.of(world.app).spec if told else told


def operations(spec: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, told in spec["paths"].items():
        for method, operation in told.items():
            if method in METHODS:
                yield path, method, operation


@pytest.mark.rule("H-13")
def test_the_description_is_valid_openapi_3_1(spec: dict[str, Any]) -> None:
    assert spec["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(spec).validate()
    names = [operation["operationId"] for _, _, operation in operations(spec)]
    assert len(names) == len(set(names))


@pytest.mark.rule("H-13")
def test_every_route_is_described_and_nothing_else(world: World, spec: dict[str, Any]) -> None:
    there = {
        (described.template(rule.rule), method.lower())
        for rule in world.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/api/")
    }
    assert {(path, method) for path, method, _ in operations(spec)} == there
    for _, _, operation in operations(spec):
        assert operation["summary"] and operation["tags"]


@pytest.mark.rule("H-13")
def test_every_parameter_and_field_that_a_route_reads_is_described(
    world: World, spec: dict[str, Any]
) -> None:
    known = described.of(world.app)

    def told(route: Any) -> None:
        operation = spec["paths"][described.template("/api" + route.rule)][route.method.lower()]
        query = {
            one["name"]
            for one in operation["parameters"]
            if "$ref" not in one and one["in"] == "query"
        }
        assert query == {
            one.data_key or name for name, one in getattr(route.query, "fields", {}).items()
        }
        if route.body is not None:
            media = operation["requestBody"]["content"]["application/json"]
            name = media["schema"]["$ref"].rpartition("/")[2]
            schema = known.spec["components"]["schemas"][name]
            fields = {one.data_key or name for name, one in route.body.fields.items()}
            assert set(schema.get("properties", {})) == fields
            assert schema["additionalProperties"] is (name in openapi.OPEN)

    all_hold(routes(world.app), told)


@pytest.mark.rule("H-09")
@pytest.mark.rule("H-13")
def test_money_is_taken_as_a_number_or_a_string_and_answered_as_a_number(
    world: World, spec: dict[str, Any]
) -> None:
    schemas = spec["components"]["schemas"]
    read = [
        (schemas[route.body.__class__.__name__]["properties"][one.data_key or name], one)
        for route in routes(world.app)
        if route.body is not None
        for name, one in route.body.fields.items()
        if isinstance(one, Money)
    ]
    assert len(read) >= 6
    for given, one in read:
        assert set(given["type"]) - {"null"} == {"number", "string"}
        assert ("null" in given["type"]) == one.allow_none
    for name, field in (
        ("GigView", "price"),
        ("GigView", "available_funds"),
        ("TaskView", "price"),
        ("RollupView", "gross_amount"),
        ("Deposited", "available_funds"),
    ):
        kind = schemas[name]["properties"][field]["type"]
        assert set([kind] if isinstance(kind, str) else kind) - {"null"} == {"number"}


@pytest.mark.rule("H-02")
@pytest.mark.rule("H-07")
@pytest.mark.rule("H-08")
@pytest.mark.rule("H-13")
def test_keys_and_headers_are_described_where_they_are_read(spec: dict[str, Any]) -> None:
    schemes = spec["components"]["securitySchemes"]
    assert {one.get("name") for one in schemes.values()} == {"x-api-key", "x-admin-key", None}
    assert schemes["bearer"]["scheme"] == "bearer"
    named = spec["components"]["parameters"]
    for path, method, operation in operations(spec):
        headers = {
            named[one["$ref"].rpartition("/")[2]]["name"]
            for one in operation.get("parameters", [])
            if "$ref" in one
        }
        keyed = method not in ("get", "put") and not path.startswith("/api/dev/")
        assert ("Idempotency-Key" in headers) == keyed
        assert ("Prefer" in headers) == ("202" in operation["responses"])
        tagged = "ETag" in operation["responses"].get("200", {}).get("headers", {})
        proof = path == "/api/gigs/{gig_id}/proofs/{proof_id}" and method != "delete"
        assert tagged == (path == "/api/gigs/{gig_id}" or proof)
        desk = path.startswith("/api/v1/incoming/")
        assert ("428" in operation["responses"]) == desk
        assert ("If-Match" in headers) == (desk or (tagged and keyed))
        assert ("412" in operation["responses"]) == (desk or (tagged and keyed))
        assert ("Last-Event-ID" in headers) == (path == "/api/gigs/{gig_id}/events")
        assert (
            operation["security"]
            or path.startswith(
                (
                    "/api/dev/",
                    "/api/auth/",
                    "/api/inbound/",
                    "/api/health",
                    "/api/ready",
                    "/api/modes",
                    "/api/public/",
                    "/api/uploads/",
                    "/api/reputation/",
                )
            )
            or (path, method) in {("/api/gigs", "get"), ("/api/openapi.json", "get")}
        )
    assert spec["paths"]["/api/admin/users/provision"]["post"]["security"] == [{"adminKey": []}]


@pytest.mark.rule("H-13")
def test_an_answer_that_is_not_described_fails(world: World) -> None:
    """What the other tests rest on."""
    known = described.of(world.app)
    me = world.person().call("GET", "/auth/me")

    def changed(**more: Any) -> Answer:
        values = {"status": me.status, "json": None, "headers": me.headers, "text": me.text}
        return Answer(**{**values, **more})

    known.check("GET", "/auth/me", changed())
    for path, answer in (
        ("/auth/me", changed(status=204)),
        ("/auth/me", changed(status=418)),
        ("/auth/me", changed(text=me.text.replace("{", '{"more": 1, ', 1))),
        ("/auth/me", changed(text=me.text.replace("email", "mail"))),
        ("/auth/me", changed(text=me.text.replace(world_name(me), "2"))),
        ("/auth/me", changed(headers={"content-type": "text/html"})),
        ("/gigs/mine", changed()),
        ("/nowhere", changed()),
    ):
        with pytest.raises(AssertionError):
            known.check("GET", path, answer)


def world_name(me: Answer) -> str:
    """The quoted name in an answer of /auth/me; a number in its place is no name."""
    return f'"{me.json["display_name"]}"'


@pytest.mark.rule("H-13")
@pytest.mark.rule("H-04")
def test_the_docs_show_every_route_and_where_each_refusal_points(
    world: World, spec: dict[str, Any]
) -> None:
    page = world.app.test_client().get("/docs").get_data(as_text=True)
    for path, method, operation in operations(spec):
        assert f'<details id="{operation["operationId"]}">' in page
        assert f"<code>{path}</code>" in page and f"<b>{method.upper()}</b>" in page
    refused = world.call("GET", "/auth/me").refused(401)
    assert refused["type"] == "/docs#no_key" and '<dt id="no_key">' in page
    assert set(re.findall(r'href="#(\w+)"', page)) <= set(re.findall(r'id="(\w+)"', page))
    assert page.count("<script") == 1, "a page that only shows has little to run"
