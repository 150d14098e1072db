"""How a route says what it takes and answers; the OpenAPI description is made of the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl

import marshmallow
from flask import Request, request
from flask_smorest import Blueprint
from webargs import core
from webargs.flaskparser import FlaskParser

from engine import operations
from engine.errors import Refused, invalid
from web import auth, mode_fields, openapi, strict_json, unknown_names

View = TypeVar("View", bound=Callable[..., Any])
MOST_ERRORS = 50


def body_of(req: Request) -> bytes:
    """The body as it was sent. Nothing here unpacks one, so a compressed body is refused."""
    encoding = req.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise Refused(
            "wrong_content_encoding", "Send the body as it is, without a content-encoding."
        )
    return req.get_data(cache=True)


def query_of(req: Request) -> dict[str, list[str]]:
    """The query's parameters, of text that both databases take."""
    try:
        parse_qsl(req.query_string.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise invalid("query", "not UTF-8; percent-encode the bytes of UTF-8") from error
    given = dict(req.args.lists())
    for name, values in given.items():
        for text in (name, *values):
            strict_json.check_text(strict_json.shown(name), text)
    return given


class Parser(FlaskParser):
    """Strict JSON, unknown names refused everywhere, and every bad field listed (H-05, H-11)."""

    DEFAULT_VALIDATION_STATUS = 400
    DEFAULT_UNKNOWN_BY_LOCATION = {
        **FlaskParser.DEFAULT_UNKNOWN_BY_LOCATION,
        "json": marshmallow.RAISE,
        "query": marshmallow.RAISE,
    }

    def parse(self, argmap: Any, req: Request | None = None, **options: Any) -> Any:
        if getattr(argmap, "by_mode", False):
            argmap = mode_fields.of_gig(type(argmap), (request.view_args or {})["gig_id"])
        return super().parse(argmap, req, **options)

    def load_json(self, req: Request, schema: marshmallow.Schema) -> Any:
        raw = body_of(req)
        if raw.strip(strict_json.BLANKS) and not core.is_json(req.mimetype):
            raise Refused(
                "wrong_content_type", "Send the body as JSON, with content-type: application/json."
            )
        return strict_json.parse_object(raw)

    def load_querystring(self, req: Request, schema: marshmallow.Schema) -> Any:
        for name, values in query_of(req).items():
            if len(values) > 1:
                raise invalid(strict_json.shown(name), "give this parameter once")
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
        raise bad_fields(flatten(messages), schema)


def bad_fields(errors: dict[str, str], schema: marshmallow.Schema | None = None) -> Refused:
    """Every bad field by name, as far as a reader would follow; `schema` knows the good ones."""
    listed = {
        name: unknown_names.sentence(schema, name) if told == unknown_names.UNKNOWN else told
        for name, told in list(errors.items())[:MOST_ERRORS]
    }
    told = "; ".join(f"{name}: {sentence}" for name, sentence in listed.items())
    more = len(errors) - len(listed)
    return Refused("invalid", f"{told}; and {more} more" if more else told, errors=listed)


def _unknown(names: Any) -> Refused:
    return bad_fields({strict_json.shown(name): unknown_names.UNKNOWN for name in names})


def _guarded(
    view: View, key: Callable[[], Any] | None, payload: bool | tuple[str, ...], does: str
) -> View:
    """What is asked of every request before its route: a good key, and no names nobody reads.

    Who fills in badly what the gig's mode never does is told that, not what to fill in better.
    """
    told = getattr(view, "_apidoc", {}).get("arguments", {}).get("parameters", [])
    takes = {one["in"] for one in told}

    @wraps(view)
    def guarded(*args: Any, **path: Any) -> Any:
        if key is not None:
            key()
        if any("\0" in str(value) for value in path.values()):
            raise Refused("not_found", "There is nothing at this path: no id has a NUL in it.")
        try:
            if "query" not in takes and (given := query_of(request)):
                raise _unknown(given)
            if "json" not in takes and not payload and request.method not in ("GET", "HEAD"):
                unread = Routes.ARGUMENTS_PARSER.load_json(request, marshmallow.Schema())
                if unread:
                    raise _unknown(unread)
            return view(*args, **path)
        except Refused as refusal:
            if does and refusal.code == "invalid":
                operations.require_served_in(path["gig_id"], does)
            raise

    return guarded  # type: ignore[return-value]


def flatten(messages: Any, path: str = "") -> dict[str, str]:
    """Marshmallow's nested messages as {"updates.0.id": "…"}."""
    if isinstance(messages, dict):
        flat: dict[str, str] = {}
        for name, below in messages.items():
            shown = strict_json.shown(str(name))
            # A schema's own message stands under a name of Marshmallow's.
            key = path if name == "_schema" else f"{path}.{shown}" if path else shown
            flat.update(flatten(below, key))
        return flat
    sentences = messages if isinstance(messages, list) else [messages]
    return {path or "body": " ".join(str(one).rstrip(".") for one in sentences)}


class Routes(Blueprint):  # type: ignore[misc]
    """A blueprint under /api."""

    ARGUMENTS_PARSER = Parser()

    if TYPE_CHECKING:
        # What flask-smorest leaves untyped: each wraps a view and gives it back.
        def response(
            self, status_code: int, schema: Any = None, **options: Any
        ) -> Callable[[View], View]: ...
        def alt_response(self, status_code: int, **options: Any) -> Callable[[View], View]: ...

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, f"web.routes.{name}", url_prefix="/api", description=description)
        self._prepare_doc_cbks.append(openapi.describe)

    def arguments(self, schema: Any, **options: Any) -> Callable[[View], View]:
        """What a view is given; a schema that is named by its class is made once, not each time."""
        made = schema() if isinstance(schema, type) else schema
        wrap: Callable[[View], View] = super().arguments(made, **options)
        return wrap

    def route(
        self,
        rule: str,
        *,
        key: Callable[[], Any] | None = auth.caller,
        payload: bool | tuple[str, ...] = False,
        body_is: str = "The payload, of any content type; kept to the byte.",
        etag: bool = False,
        needs_tag: bool = False,
        refuses: Iterable[int] = (),
        does: str = "",
        **options: Any,
    ) -> Callable[[View], View]:
        """A route whose caller needs `key`, before anything he sends is read; None opens it to all.

        With `payload` the view reads the body itself, of any content type or of those that it
        names; `body_is` says what it is. With `etag` the answer carries one, and what
        writes takes `If-Match` (`web/etags.py`); `needs_tag`: it must have that, and an
        `Idempotency-Key`. `refuses` are statuses of refusals beside
        those that `web/openapi.py` tells of every route. `does` is the operation that the route
        asks leave for, where a mode may refuse it.
        """
        register = super().route(rule, **options)

        def decorate(view: View) -> View:
            guarded = _guarded(view, key, payload, does)
            told = openapi.Told(
                f"{self.name}_{view.__name__}",
                rule,
                key,
                payload,
                etag,
                frozenset(refuses),
                body_is,
                needs_tag,
            )
            guarded._apidoc = {**getattr(view, "_apidoc", {}), "told": told}  # type: ignore[attr-defined]
            registered: View = register(guarded)
            return registered

        return decorate
