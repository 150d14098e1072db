"""The desks of the installed modes: lists of what is routed to a worker, and what he does with it.

Each is built from what its mode says of it (`Desk` in `engine/plans.py`); none is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from flask import Flask, Response, jsonify, request
from marshmallow import Schema

from engine import desks, modes
from engine.errors import Refused, SettingsError, not_found
from engine.plans import Desk, ModeInfo, Verb
from engine.rules import json_shapes
from web import auth, etags
from web.blueprint import Routes
from web.fields import Shaped
from web.schemas.forms import FlagText

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
NUMBER = {"type": "integer", "minimum": 1, "maximum": desks.MAX_NUMBER}
ETAG = {
    "type": "string",
    "description": "The item's revision in its quotes, for `If-Match`; new after every change.",
}


def blueprints() -> list[tuple[ModeInfo, Routes]]:
    """One for each installed mode that has a desk, and the mode."""
    every = [mode.info for mode in _modes()]
    return [(info, _routes(info, info.desk)) for info in every if info.desk is not None]


def require_free(app: Flask, info: ModeInfo) -> None:
    """Stop the start where one of the desk's paths is that of a route which there is already."""
    assert info.desk is not None, "only a mode with a desk has its paths"
    routes = app.url_map.bind("")
    for path in (info.desk.path, *(f"{info.desk.path}/1/{one.name}" for one in info.verbs)):
        if routes.allowed_methods(f"/api{path}"):
            raise SettingsError(
                f"The mode {info.names[0]!r} has its desk at {info.desk.path}, and there is a "
                f"route at /api{path} already; uninstall the mode, or give its desk another path."
            )


def _modes() -> Iterator[modes.Mode]:
    """Each once, though it may go by several names."""
    for name, mode in modes.installed().items():
        if name == mode.info.names[0]:
            yield mode


def _routes(info: ModeInfo, desk: Desk) -> Routes:
    routes = Routes(f"desk_{info.names[0].replace('.', '_')}", f"{desk.title}.")
    _add_list(routes, info.names[0], desk)
    for verb in desks.verbs(info):
        _add_verb(routes, info.names[0], desk, verb)
    return routes


def _schema_name(routes: Routes, part: str) -> str:
    """As the schemas of other routes are called."""
    return "".join(word.capitalize() for word in f"{routes.name}_{part}".split("_"))


def _add_list(routes: Routes, distribution: str, desk: Desk) -> None:
    flags: dict[str, Any] = {
        flag: FlagText(
            metadata={
                "enum": ["true", "false"],
                "default": "false",
                "description": f"`true`: also those that are {', '.join(stages)}.",
            },
        )
        for flag, stages in desk.flags.items()
    }
    properties = {**desk.item.get("properties", {}), "etag": ETAG}
    item = {**desk.item, "type": "object", "properties": properties}
    if "required" in desk.item:
        item["required"] = [*desk.item["required"], "etag"]

    @routes.route(desk.path, key=auth.reads_tasks)
    @routes.arguments(
        Schema.from_dict(flags, name=_schema_name(routes, "flags"))(), location="query"
    )
    @routes.response(200, {"type": "array", "items": item})
    def listed(query: dict[str, bool]) -> Response:
        """The whole list, most pressing and then oldest first, without pages (I-01).

        Needs the scope `tasks:read` or `all`. Nobody else is shown what is routed to you.
        """
        given = [flag for flag, on in query.items() if on]
        found = desks.listed(auth.reads_tasks(), distribution, given)
        for one in found:
            one["etag"] = etags.quoted(one.pop("revision"))
        answer: Response = jsonify(found)
        return answer


def _add_verb(routes: Routes, distribution: str, desk: Desk, verb: Verb) -> None:
    body = Schema.from_dict(
        {
            name: Shaped(shape, required=name in verb.required)
            for name, shape in verb.fields.items()
        },
        name=_schema_name(routes, verb.name),
    )

    def use(body: dict[str, Any], number: str) -> Response:
        with etags.if_match_names() as allowed:
            if request.headers.get("idempotency-key") is None:
                raise Refused(
                    "precondition_required",
                    "Send a new key of your own in the header Idempotency-Key, and the same one "
                    "when you repeat this request.",
                )
            if not _NUMBER.fullmatch(number):
                raise not_found("item")
            caller = auth.updates_tasks()
            given = json_shapes.with_defaults(body, verb.fields)
            desks.act_on(caller, distribution, int(number), verb, given, allowed)
        return Response(status=204)

    use.__name__ = verb.name
    use.__doc__ = (
        f"{verb.summary}\n\nNeeds the scope `tasks:update` or `all`. In the order in which it is "
        "looked at: 400 for an empty Idempotency-Key, then what was answered before under the same "
        "one by a key of the same scopes, whatever If-Match says now; 400 for a body that this does"
        " not take, 428 without one of the two headers, 404 for an item that is not on your desk, "
        "410 for one whose time has run out, 412 for one that has changed since you read "
        f"it, 409 `wrong_stage` for one that is not {' or '.join(verb.stages) or 'there'}, and "
        "then 400, 409 or 422 for values that cannot be. With a key of other scopes the same "
        "Idempotency-Key is another one."
    )
    view = routes.response(204)(use)
    view = routes.arguments(body())(view)
    routes.route(
        f"{desk.path}/<number>/{verb.name}",
        methods=["POST"],
        key=auth.updates_tasks,
        needs_tag=True,
        refuses=[404, 409, 410, 422],
        parameters=[{"name": "number", "in": "path", "required": True, "schema": NUMBER}],
    )(view)
