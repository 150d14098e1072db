"""What a sender says under the names that a gig's mode has of its own (T-03)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.models.gig import Gig
from engine.modes import ask, facts
from engine.plans import Sent
from engine.rules import json_shapes, json_text


def of_form(gig: Gig, own: Mapping[str, Any], payload: str, subject: str) -> dict[str, Any] | None:
    """What a new task keeps of them; None in a mode that has none.

    `own` was said beside the payload, and goes before what the payload says as a JSON object. A 400
    names what does not fit.
    """
    if not ask(gig.distribution).info.fields:
        return None
    return keep(gig, {**of_payload(gig, payload, own), **own}, subject)


def of_payload(gig: Gig, payload: str, own: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Those that a payload names, where its mode reads it, but for what `own` says already.

    Its other members are the payload's own business, and null says nothing where it is no value.
    """
    info = ask(gig.distribution).info
    if not info.fields_in_body:
        return {}
    asked = {name: shape for name, shape in info.fields.items() if name not in own}
    given = {
        name: one
        for name, one in json_text.members(payload).items()
        if name in asked and _says(one, asked[name])
    }
    read = json_shapes.read(given, asked)
    return {name: read[name] for name in given}


def keep(gig: Gig, said: Mapping[str, Any], subject: str) -> dict[str, Any] | None:
    """What the mode makes of them, defaults included; null says nothing where it is no value."""
    mode = ask(gig.distribution)
    shapes = mode.info.fields
    if not shapes:
        return None
    known = {name: one for name, one in said.items() if name in shapes and _says(one, shapes[name])}
    sent = Sent(json_shapes.with_defaults(known, shapes), subject)
    return dict(mode.read_fields(facts(gig), sent))


def _says(one: Any, shape: json_shapes.Shape) -> bool:
    """A null says something only where it is a value."""
    return one is not None or json_shapes.takes_null(shape)


def shown(gig: Gig, kept: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a task keeps, as whoever sent it would say it: amounts in dollars."""
    shapes = ask(gig.distribution).info.fields
    return {
        name: json_shapes.shown(one, shapes[name]) if name in shapes else one
        for name, one in (kept or {}).items()
    }
