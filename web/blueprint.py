"""How a route says what it takes and answers; the OpenAPI description is made of the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import marshmallow
from flask import Request
from flask_smorest import Blueprint
from webargs import core
from webargs.flaskparser import FlaskParser

from engine.errors import Refused, invalid
from web import strict_json

View = TypeVar("View", bound=Callable[..., Any])


class Parser(FlaskParser):
    """Strict JSON, unknown names refused everywhere, and every bad field listed (H-05, H-11)."""

    DEFAULT_VALIDATION_STATUS = 400
    DEFAULT_UNKNOWN_BY_LOCATION = {
        **FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION,
        "json": marshmallow.RAISE,
        "query": marshmallow.RAISE,
    }

    def load_json(self, req: Request, schema: marshmallow.Schema) -> Any:
        raw = req.get_data(cache=True)
        if raw.strip() and not core.is_json(req.mimetype):
            raise Refused(
                "wrong_content_type", "Send the body as JSON, with content-type: application/json."
            )
        return strict_json.parse_object(raw)

    def load_querystring(self, req: Request, schema: marshmallow.Schema) -> Any:
        for name, values in req.args.lists():
            strict_json.check_text(name[:60], name)
            if len(values) > 1:
                raise invalid(name[:60], "give this parameter once")
            strict_json.check_text(name[:60], values[0])
        return super().load_querystring(req, schema)

    def handle_error(
        self,
        error: marshmallow.ValidationError,
        req: Request,
        schema: marshmallow.Schema,
        **_: Any,
    ) -> NoReturn:
        # Webargs puts the location above the fields; a caller knows where he put them.
        (messages,) = error.messages_dict.values()
        errors = flatten(messages)
        told = "; ".join(f"{name}: {sentence}" for name, sentence in errors.items())
        raise Refused("invalid", told, errors=errors)


def flatten(messages: Any, path: str = "") -> dict[str, str]:
    """Marshmallow's nested messages as {"updates.0.id": "…"}."""
    if isinstance(messages, dict):
        flat: dict[str, str] = {}
        for name, below in messages.items():
            # A schema's own message stands under a name of Marshmallow's.
            key = path if name == "_schema" else f"{path}.{name}" if path else str(name)
            flat.update(flatten(below, key))
        return flat
    sentences = messages if isinstance(messages, list) else [messages]
    return {path or "body": " ".join(str(one).rstrip(".") for one in sentences)}


class Routes(Blueprint):  # type: ignore[misc]
    """A blueprint under /api."""

    ARGUMENTS_PARSER = Parser()

    if TYPE_CHECKING:
        # What flask-smorest leaves untyped: each wraps a view and gives it back.
        def route(self, rule: str, **options: Any) -> Callable[[View], View]: ...
        def arguments(self, schema: Any, **options: Any) -> Callable[[View], View]: ...
        def response(
            self, status_code: int, schema: Any = None, **options: Any
        ) -> Callable[[View], View]: ...
        def alt_response(self, status_code: int, **options: Any) -> Callable[[View], View]: ...

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, f"web.routes.{name}", url_prefix="/api", description=description)
