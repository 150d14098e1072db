from __future__ import annotations

from marshmallow import Schema

from engine.exports import TASKS, WHAT
from web.fields import one_of


class ExportQuery(Schema):
    what = one_of(*WHAT, load_default=TASKS, metadata={"description": "Which rows."})
