"""The desks of the installed modes: lists of what is routed to a worker, and what he does with it.

Each is built from what its mode says of it (`Desk` in `engine/plans.py`); none is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from flask import Response, jsonify, request
from marshmallow import Schema

from engine import desks, modes
from engine.errors import Refused, not_found
from engine.plans import Desk, ModeInfo, Verb
from web import auth, etags
from web.blueprint import Routes
from web.fields import Shaped
from web.schemas.forms import FlagText

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
ETAG = {
    "type": "string",
    "description": "The item's revision in its quotes, for `If-Match`; new after every change.",
}


def blueprints() -> list[Routes]:
    """One for each installed mode that has a desk."""
    return [_routes(mode.info, mode.info.desk) for mode in _modes() if mode.info.desk is not None]


def _modes() -> Iterator[modes.Mode]:
    """Each once, though it may go by several names."""
    for name, mode in modes.installed().items():
        if name == mode.info.names[0]:
            yield mode


def _routes(info: ModeInfo, desk: Desk) -> Routes:
    routes = Routes(f"desk_{info.names[0].replace('.', '_')}", f"{desk.title}.")
    _add_list(routes, info.names[0], desk)
    for verb in info.verbs:
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
            desks.act_on(caller, distribution, int(number), verb, body, allowed)
        return Response(status=204)

    use.__name__ = verb.name
    use.__doc__ = (
        f"{verb.summary}\n\nNeeds the scope `tasks:update` or `all`. In the order in which it is "
        "looked at: 400 for a body that this does not take, 428 without one of the two headers, "
        "404 for an item that is not on your desk, 412 for one that has changed since you read "
        f"it, 409 `wrong_stage` for one that is not {' or '.join(verb.stages) or 'there'}, and "
        "then 400, 409 or 422 for values that cannot be."
    )
    view = routes.response(204)(use)
    view = routes.arguments(body())(view)
    routes.route(
        f"{desk.path}/<number>/{verb.name}",
        methods=["POST"],
        key=auth.updates_tasks,
        needs_tag=True,
        refuses=[404, 409, 422],
    )(view)
