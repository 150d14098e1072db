"""Holds an answer against the description of its route in /api/openapi.json (H-13)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema_rs
from flask import Flask
from werkzeug.exceptions import HTTPException

from tests.world import Answer

# Answered for every path alike, whatever its operations.
ANYWHERE = {404, 405}


def _closed(value: Any) -> Any:
    """The same schemas, in which a member that is not named is a fault."""
    if isinstance(value, list):
        return [_closed(one) for one in value]
    if not isinstance(value, dict):
        return value
    closed = {name: _closed(member) for name, member in value.items()}
    if isinstance(value.get("properties"), dict) and "type" in value:
        closed.setdefault("additionalProperties", False)
    return closed


class Description:
    """The description of one application."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.spec: dict[str, Any] = json.loads(
            app.test_client().get("/api/openapi.json").get_data()
        )
        self._components = _closed(self.spec["components"])
        self._urls = app.url_map.bind("localhost")
        self._validators: dict[str, Any] = {}

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """The operation that a request is for; None where there is none under this path."""
        found = urlsplit("/api" + path)
        try:
            rule, _ = self._urls.match(
                unquote(found.path, errors="replace"), method=method, return_rule=True
            )
        except HTTPException:
            return None
        described = self.spec["paths"].get(template(rule.rule), {})
        operation = described.get(method.lower())
        assert operation is not None, f"{method} {rule.rule} is not described"
        return dict(operation)

    def check(self, method: str, path: str, answer: Answer) -> None:
        """Fail if the description does not tell of this answer."""
        if method in ("OPTIONS", "HEAD"):
            return
        operation = self.operation(method, path)
        if operation is None:
            assert answer.status in ANYWHERE, answer.text[:500]
            self._check_body("Refused404", self.refusal(404), answer)
            return
        name = operation["operationId"]
        told = operation["responses"].get(str(answer.status))
        assert told is not None, (
            f"{name} answers {answer.status}, which is not described: " + (answer.text[:500])
        )
        if answer.status == 204:
            assert "content" not in told and not answer.text
            return
        self._check_body(f"{name} {answer.status}", self._resolved(told), answer)

    def check_request(self, method: str, path: str, body: Any) -> None:
        """Fail if the description does not allow what was sent, and was taken."""
        operation = self.operation(method, path)
        assert operation is not None, f"{method} {path} was taken"
        told = [self._resolved(one) for one in operation.get("parameters", [])]
        known = {one["name"] for one in told if one["in"] == "query"}
        given = set(parse_qs(urlsplit(path).query, keep_blank_values=True))
        assert given <= known, f"{method} {path}: {given - known} is not described"
        content = operation.get("requestBody", {}).get("content", {})
        if body and isinstance(body, dict):
            assert content, f"{method} {path}: no body is described"
            self._check_json(f"{method} {path}", content["application/json"]["schema"], body)

    def _resolved(self, value: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in value:
            return value
        _, _, kind, name = value["$ref"].split("/")
        return dict(self.spec["components"][kind][name])

    def refusal(self, status: int) -> dict[str, Any]:
        return dict(self.spec["components"]["responses"][f"Refused{status}"])

    def _check_body(self, name: str, told: dict[str, Any], answer: Answer) -> None:
        kind = answer.headers["content-type"].partition(";")[0]
        media = told.get("content", {}).get(kind)
        assert media is not None, f"{name} answers {kind}, which is not described"
        if "json" in kind and "ndjson" not in kind:
            # An answer's digits are its digits; a validator of JSON knows floats.
            self._check_json(name, media["schema"], json.loads(answer.text))

    def _check_json(self, name: str, schema: dict[str, Any], value: Any) -> None:
        text = json.dumps(schema)
        if text not in self._validators:
            whole = {**_closed(schema), "components": self._components}
            self._validators[text] = jsonschema_rs.Draft202012Validator(
                whole, validate_formats=True
            )
        errors = [
            f"{'.'.join(map(str, error.instance_path)) or 'body'}: {error.message}"
            for error in self._validators[text].iter_errors(value)
        ]
        assert not errors, f"{name}: {errors[:5]}"


def template(rule: str) -> str:
    """A path as OpenAPI writes it."""
    return rule.replace("<", "{").replace(">", "}")


_known: dict[tuple[str, ...], Description] = {}


def of(app: Flask) -> Description:
    """The description of an application; applications with the same routes share one."""
    rules = tuple(sorted(rule.rule for rule in app.url_map.iter_rules()))
    if rules not in _known:
        _known[rules] = Description(app)
    return _known[rules]
