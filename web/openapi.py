"""What the OpenAPI description says of every route alike (H-13).

flask-smorest describes what a route declares: its path, its parameters, its body, its answer. What
follows from the rules of the house is added here, once: who may call, which headers are read, and
which refusals there are (H-02, H-05, H-07, H-08).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apispec import APISpec
from marshmallow import Schema
from werkzeug.routing import Rule

from engine import modes
from engine.idempotency import MAX_KEY_CHARACTERS
from engine.rules import money
from web import auth, openapi_fields, statuses
from web.errors import CONTENT_TYPE
from web.schemas.problem import Problem

KEYS: list[dict[str, list[str]]] = [{"apiKey": []}, {"bearer": []}]
SECURITY: dict[Callable[[], Any] | None, list[dict[str, list[str]]]] = {
    None: [],
    auth.caller_if_any: [*KEYS, {}],
    auth.caller: KEYS,
    auth.reads_tasks: KEYS,
    auth.updates_tasks: KEYS,
    auth.require_admin: [{"adminKey": []}],
}
SCHEMES = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "The same key."},
    "adminKey": {"type": "apiKey", "in": "header", "name": "x-admin-key"},
}
REFUSALS = (400, 401, 402, 403, 404, 408, 409, 410, 412, 413, 415, 416, 422, 428, 429, 502, 503)
WAITS = frozenset({409, 429, 503})
# What the two databases and every client can carry: any content type, kept to the byte (H-11).
PAYLOAD_TYPES = ("application/json", "text/plain", "text/html", "application/octet-stream")
# Bodies that take more names in one mode or another.
OPEN = ("DraftPatch", "Use")
# The format of money, in the registry of formats: exact, whatever its number of digits.
MONEY = "decimal"
MONEY_GIVEN = {
    "minimum": 0,
    "maximum": money.MAX_UNITS // money.UNITS_PER_DOLLAR,
    "pattern": r"^[0-9]{1,10}(\.[0-9]{1,6})?$",
}

_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "IdempotencyKey": (
        "Idempotency-Key",
        {
            "description": "Makes the request safe to send again: the same key and body give the "
            "stored answer, for 24 hours.",
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_KEY_CHARACTERS,
                "pattern": r"^[!#-+\--~]([ !#-+\--~]*[!#-+\--~])?$",
            },
        },
    ),
    "IfMatch": (
        "If-Match",
        {
            "description": "The ETag that was read, several of them, or `*`: the change is made if "
            "one of them is still the present one, and else refused with 412, which tells it.",
            "schema": {
                "type": "string",
                "pattern": r'^(\*|"[0-9]{1,18}"(, "[0-9]{1,18}")*)$',
            },
        },
    ),
    "NeededTag": (
        "If-Match",
        {
            "description": "The `etag` of the item as it was listed, several, or `*`. Without it "
            "428; 412 where the item has changed, or where this is no list of strong tags in "
            "quotes.",
            "required": True,
            "schema": {"type": "string", "pattern": r'^(\*|"[!#-~]*"(, "[!#-~]*")*)$'},
        },
    ),
    "Prefer": (
        "Prefer",
        {
            "description": "`wait=N`: how many seconds to wait for the outcome, before 202. "
            "25 by default, 60 at most.",
            "schema": {"type": "string", "pattern": "^wait=[0-9]{1,4}$"},
        },
    ),
    "LastEventID": (
        "Last-Event-ID",
        {
            "description": "With `Accept: text/event-stream`: the id of the last event seen.",
            "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
        },
    ),
}
_name, _told = _PARAMETERS["IdempotencyKey"]
_PARAMETERS["NeededKey"] = (_name, {**_told, "required": True})
_HEADERS: dict[str, dict[str, Any]] = {
    "RetryAfter": {"description": "Seconds.", "schema": {"type": "integer"}},
    "RateLimit": {
        "description": "What is left of the limit, and for how long.",
        "schema": {"type": "string"},
    },
    "RateLimitPolicy": {"description": "The limit.", "schema": {"type": "string"}},
    "Replayed": {
        "description": "`true` on a stored answer.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Tag": {
        "description": "The state that can be edited; for `If-Match`.",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    },
    "StatusUrl": {
        "description": "Where the command tells its state.",
        "schema": {"type": "string"},
    },
    "Authenticate": {"description": "How to send a key.", "schema": {"type": "string"}},
}


ITSELF: dict[str, Any] = {
    "operationId": "install_openapi",
    "summary": "This description.",
    "tags": ["install"],
    "security": [],
    "responses": {
        "200": {
            "description": "OpenAPI 3.1.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
}


@dataclass(frozen=True)
class Told:
    """What a route says of itself beside its schemas. `refuses` are statuses of its own."""

    name: str
    rule: str
    key: Callable[[], Any] | None
    payload: bool | tuple[str, ...]
    etag: bool
    refuses: frozenset[int]
    body_is: str
    needs_tag: bool = False


def prepare(spec: APISpec, converter: Any) -> None:
    """Put into the description what routes then refer to by name."""
    for name, scheme in SCHEMES.items():
        spec.components.security_scheme(name, scheme)
    for name, (header, told) in _PARAMETERS.items():
        spec.components.parameter(name, "header", {"name": header, **told})
    for name, told in _HEADERS.items():
        spec.components.header(name, told)
    for status in REFUSALS:
        headers = {"Retry-After": "RetryAfter"} if status in WAITS else {}
        if status == 401:
            headers = {"WWW-Authenticate": "Authenticate"}
        if status == 429:
            headers |= {"RateLimit": "RateLimit", "RateLimit-Policy": "RateLimitPolicy"}
        spec.components.response(
            f"Refused{status}",
            {
                "description": statuses.MEANING[status],
                "headers": headers,
                "content": {CONTENT_TYPE: {"schema": Problem}},
            },
        )
    converter.add_attribute_function(openapi_fields.field_bounds)
    converter.add_attribute_function(openapi_fields.field_default)


def describe(doc: dict[str, Any], doc_info: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Complete the description of one operation."""
    told: Told = doc_info["told"]
    writes = more["method"] != "get"
    # The levers of a development install are not kept under a key.
    # Nor is what can be put once only.
    keyed = writes and more["method"] != "put" and not told.rule.startswith("/dev/")
    body = _body(doc, told)
    doc["operationId"] = told.name
    doc["security"] = SECURITY[told.key]
    # What flask-smorest refers to by name are refusals, which follow here.
    own = {int(code): one for code, one in doc["responses"].items() if isinstance(one, dict)}
    responses: dict[int, Any] = dict(own)
    headers = doc.setdefault("parameters", [])
    for wanted, name in (
        (keyed, "NeededKey" if told.needs_tag else "IdempotencyKey"),
        (told.etag and writes, "IfMatch"),
        (told.needs_tag, "NeededTag"),
        (202 in own, "Prefer"),
        (_streams(own), "LastEventID"),
    ):
        if wanted:
            headers.append(name)
    for status, answer in own.items():
        if keyed and status < 300:
            answer.setdefault("headers", {})["Idempotency-Replayed"] = "Replayed"
        if told.etag and status < 300:
            answer.setdefault("headers", {})["ETag"] = "Tag"
        if status == 202:
            answer["headers"]["Location"] = "StatusUrl"
    refusals = {status for status in own if status >= 400}
    refusals |= _refusals(told, writes, keyed, body)
    for status in sorted(refusals):
        content = own.get(status, {}).get("content")
        if content is None:
            responses[status] = f"Refused{status}"
        else:
            # A body of the route's own, and the usual one as well.
            content[CONTENT_TYPE] = {"schema": Problem}
    doc["responses"] = dict(sorted(responses.items()))
    return doc


def _body(doc: dict[str, Any], told: Told) -> Schema | None:
    """What the body is described by, if anything; what may be left out is not required (H-11)."""
    if told.payload:
        kinds = told.payload if isinstance(told.payload, tuple) else PAYLOAD_TYPES
        content = {kind: {"schema": {"type": "string"}} for kind in kinds}
        if told.payload is True:
            content["application/json"] = {"schema": {}}
        doc["requestBody"] = {"description": told.body_is, "content": content}
        return None
    if "requestBody" not in doc:
        return None
    (media,) = doc["requestBody"]["content"].values()
    given = media["schema"]
    schema: Schema = given() if isinstance(given, type) else given
    doc["requestBody"]["required"] = any(field.required for field in schema.fields.values())
    return schema


def _streams(responses: dict[Any, Any]) -> bool:
    return "text/event-stream" in responses.get(200, {}).get("content", {})


def _refusals(told: Told, writes: bool, keyed: bool, body: Schema | None) -> set[int]:
    """The statuses of refusals that the rules of the house make possible on a route (H-05)."""
    found = {400, 503, *told.refuses}
    if told.key is not None:
        found |= {401, 403}
    names = () if body is None else body.fields
    if "<" in told.rule or any(name.endswith("_id") for name in names):
        found.add(404)
    if "<gig_id>" in told.rule:
        # A gig's mode may refuse any operation.
        found.add(409)
    if writes:
        found |= {413, 415}
    if writes and told.etag:
        found.add(412)
    if told.needs_tag:
        found |= {412, 428}
    if keyed:
        # A key under which something else was sent, which still runs, or which nobody holds.
        found |= {401, 409, 422}
    return found


def finish(spec: APISpec, converter: Any, rule: Rule) -> None:
    """Tell requests from answers: they are read more widely than they are written (H-09).

    Money is taken as a number or a string and answered as a number; a body's unknown fields are
    refused, while answers may grow. `rule` is the one that serves the description.
    """
    spec.components.schemas.pop("PaginationMetadata", None)
    spec.path(rule=rule, operations={"get": ITSELF})
    made = spec.components.schemas["GigCreate"]["properties"]
    made["distribution"]["examples"] = list(modes.installed())
    openapi_fields.tell_schemas(spec, converter)
    told = spec.to_dict()
    openapi_fields.make_readable(told)
    bodies = [
        operation["requestBody"]
        for path in told["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict) and "requestBody" in operation
    ]
    for name in openapi_fields.reached(bodies, told["components"]["schemas"]):
        schema = spec.components.schemas[name]
        schema["additionalProperties"] = name in OPEN
        for given in schema.get("properties", {}).values():
            if given.get("format") == MONEY:
                nullable = ["null"] if "null" in given["type"] else []
                given |= {**MONEY_GIVEN, "type": ["number", "string", *nullable]}
