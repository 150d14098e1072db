"""A mode as `GET /modes` shows it (G-03)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.modes import Mode
from engine.plans import Desk, Verb
from engine.rules import money
from engine.rules.json_shapes import MONEY
from web.schemas.gig_fields import GigCreate

# A gig's columns, and what its owner calls them; words of a schema that are amounts.
_FIELD_OF = {field.attribute or name: name for name, field in GigCreate().fields.items()}
_AMOUNTS = {"const", "default", "minimum", "maximum", "multipleOf"}


def mode_view(name: str, mode: Mode) -> dict[str, Any]:
    info = mode.info
    return {
        "name": name,
        "names": list(info.names),
        "title": info.title,
        "description": info.description,
        "settings": dict(_setting(field, shape) for field, shape in info.settings.items()),
        "query": list(info.query),
        "refuses": dict(mode.refuses()),
        "confirms": dict(info.confirms),
        "fields": _fields(info.fields),
        "fields_in_body": info.fields_in_body,
        "stages": list(info.stages),
        "verbs": [_verb(verb) for verb in info.verbs],
        "desk": None if info.desk is None else _desk(info.desk),
    }


def _verb(verb: Verb) -> dict[str, Any]:
    return {
        "name": verb.name,
        "summary": verb.summary,
        "fields": _fields(verb.fields),
        "required": list(verb.required),
        "stages": list(verb.stages),
        "by": sorted(verb.by),
        "holder": verb.holder,
    }


def _fields(shapes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: _in_dollars(shape) if shape.get("format") == MONEY else dict(shape)
        for name, shape in shapes.items()
    }


def _desk(desk: Desk) -> dict[str, Any]:
    flags = {flag: list(stages) for flag, stages in desk.flags.items()}
    return {
        "path": f"/api{desk.path}",
        "title": desk.title,
        "shown": list(desk.shown),
        "flags": flags,
    }


def _setting(column: str, shape: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A setting by the name of its field, its amounts in dollars."""
    name = _FIELD_OF.get(column, column)
    return name, _in_dollars(shape) if column.endswith("_units") else dict(shape)


def _in_dollars(shape: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(shape)
    for word in sorted(_AMOUNTS & shown.keys()):
        shown[word] = None if shown[word] is None else money.to_dollars(shown[word])
    if "anyOf" in shown:
        shown["anyOf"] = [_in_dollars(one) for one in shown["anyOf"]]
    if shown.get("type") == "integer":
        shown["type"] = "number"
    return shown
