"""Forms of a task with the names that its gig's mode has of its own (T-03)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields

from engine import gigs
from engine.forms import OF_THE_MODE
from engine.modes import ask
from engine.plans import ModeInfo
from engine.rules import json_shapes
from web.schemas.forms import TextForm

# Schemas as they were made, with what they were made of: a form is read at every submission.
_made: dict[tuple[type[Schema], str], tuple[ModeInfo, Schema]] = {}


class Own(fields.Field[Any]):
    """A field of a mode's own. What was said under these names stands together in `own`."""

    def __init__(self, name: str, shape: json_shapes.Shape, from_text: bool) -> None:
        # A null of which the shape knows nothing is as if nothing were said.
        super().__init__(attribute=f"own.{name}", allow_none=not from_text)
        self.shape, self.from_text = shape, from_text

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Any:
        try:
            return json_shapes.value(value, self.shape, from_text=self.from_text)
        except ValueError as error:
            raise ValidationError(str(error)) from error


def of_gig(form: type[Schema], gig_id: str) -> Schema:
    """The form as this gig's mode takes it."""
    return of_mode(form, gigs.get(gig_id).distribution)


def of_mode(form: type[Schema], distribution: str) -> Schema:
    """The same for any gig of a mode; a name of the mode's own takes a common one's place."""
    info = ask(distribution).info
    known = _made.get((form, distribution))
    if known is not None and known[0] is info:
        return known[1]
    own = {
        name: Own(name, shape, issubclass(form, TextForm)) for name, shape in info.fields.items()
    }
    made: Any = type(form.__name__, (form,), {**own, "Meta": type("Meta", (), {"register": False})})
    untaken = {"token", *OF_THE_MODE} - {*info.query, *info.fields}
    schema: Schema = made()
    names = ", ".join(name for name in schema.fields if name not in untaken)
    made.taken = f"the mode {distribution} takes {names}"
    _made[form, distribution] = info, schema
    return schema
