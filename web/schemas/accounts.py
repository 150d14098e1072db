from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Flag, Raw, Time, one_of, text
from web.schemas.states import state


class Provision(Schema):
    email = text(255, 3, required=True)
    new_key = Flag(
        load_default=False,
        metadata={"description": "Make another key although the account is there already."},
    )


class Provisioned(Schema):
    user_id = fields.String(required=True)
    email = fields.String(required=True)
    created = fields.Boolean(required=True)
    api_key = fields.String(metadata={"description": "Shown this once."})


class Me(Schema):
    id = fields.String(required=True)
    number = fields.Integer(required=True)
    email = fields.String(required=True)
    display_name = fields.String(required=True)
    timezone = fields.String(
        required=True, metadata={"description": "A name of the IANA database."}
    )
    created_at = Time(required=True)


class ChainView(Schema):
    chain_id = fields.Integer(required=True)
    chain_name = fields.String(required=True)
    is_testnet = fields.Boolean(required=True)


class Health(Schema):
    status = one_of("ok", required=True)
    stage = fields.String(
        required=True, metadata={"description": "The setting `STAGE`; `dev` has levers for tests."}
    )
    timestamp = Time(required=True)
    version = fields.String(required=True)
    chain = fields.Nested(ChainView, required=True, allow_none=True)
    treasury_address = fields.String(required=True, allow_none=True)
    usdc_address = fields.String(required=True, allow_none=True)


class Ready(Schema):
    ready = fields.Boolean(required=True)
    checks = fields.Dict(keys=fields.String(), values=fields.String(), required=True)


class CommandState(Schema):
    command_id = fields.String(required=True)
    kind = fields.String(
        required=True, metadata={"description": "What was asked for, like `gig.deposit`."}
    )
    status = state("command", required=True)
    attempts = fields.Integer(required=True)
    result = Raw(
        required=True,
        allow_none=True,
        metadata={"type": "object", "description": "What its route would answer."},
    )
    error = Raw(
        required=True,
        allow_none=True,
        metadata={
            "type": "object",
            "description": "The refusal, as of any route. While it waits, what its last step met.",
        },
    )
    created_at = Time(required=True)
    finished_at = Time(required=True, allow_none=True)


class Accepted(Schema):
    """A command that is still under way (H-08)."""

    command_id = fields.String(required=True)
    status_url = fields.String(required=True)


class VerbView(Schema):
    """Something of a mode's own that can be done with a task."""

    name = fields.String(required=True)
    summary = fields.String(required=True)
    fields_ = fields.Dict(
        keys=fields.String(),
        values=fields.Dict(),
        required=True,
        data_key="fields",
        attribute="fields",
        metadata={"description": "Members of the body, a JSON schema of each."},
    )
    required = fields.List(fields.String(), required=True)
    stages = fields.List(
        fields.String(), required=True, metadata={"description": "From which; none: from any."}
    )
    by = fields.List(fields.String(), required=True, metadata={"description": "Roles that may."})
    holder = fields.Boolean(
        required=True, metadata={"description": "Only for who has the task in hand."}
    )


class DeskView(Schema):
    """Where a worker finds what is routed to him, over all gigs of the mode."""

    path = fields.String(required=True)
    title = fields.String(required=True)
    shown = fields.List(
        fields.String(), required=True, metadata={"description": "The stages that it lists."}
    )
    flags = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        required=True,
        metadata={"description": "Query parameters, and the stages that each adds."},
    )


class ModeView(Schema):
    """A mode. `refuses` maps an operation to the sentence that says what to do instead."""

    name = fields.String(required=True)
    names = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "Every `distribution` that the same mode serves."},
    )
    title = fields.String(required=True)
    description = fields.String(required=True)
    settings = fields.Dict(
        keys=fields.String(),
        values=fields.Dict(),
        required=True,
        metadata={"description": "The gig's fields that it understands, a JSON schema of each."},
    )
    query = fields.List(fields.String(), required=True)
    refuses = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    confirms = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={
            "description": 'Operations that take `{"confirm": true}`, and why.',
        },
    )
    fields_ = fields.Dict(
        keys=fields.String(),
        values=fields.Dict(),
        required=True,
        data_key="fields",
        attribute="fields",
        metadata={
            "description": "What a sender may say beside the names that every mode takes, a JSON "
            "schema of each."
        },
    )
    fields_in_body = fields.Boolean(
        required=True, metadata={"description": "Also as members of a JSON body."}
    )
    stages = fields.List(
        fields.String(), required=True, metadata={"description": "Of a task, in the mode's words."}
    )
    verbs = fields.List(fields.Nested(VerbView), required=True)
    desk = fields.Nested(DeskView, required=True, allow_none=True)


class Modes(Schema):
    modes = fields.List(fields.Nested(ModeView), required=True)


class Subject(Schema):
    kind = fields.String(
        required=True,
        metadata={"description": "The kind of row, like `task` or `proof`. More may come."},
    )
    id = fields.String(required=True)


class EventRow(Schema):
    id = fields.String(required=True)
    seq = fields.Integer(required=True)
    type = fields.String(
        required=True,
        metadata={
            "description": "What happened: a kind of row and a word, like `proof.approved`. More "
            "may come."
        },
    )
    at = Time(required=True)
    actor = fields.String(
        required=True,
        metadata={
            "description": "Who did it: an account's id, or a part of the install, like "
            "`scheduler`."
        },
    )
    subject = fields.Nested(Subject, required=True)
    data = Raw(required=True, metadata={"type": "object"})


class Events(Schema):
    events = fields.List(fields.Nested(EventRow), required=True)
    next_after = fields.Integer(required=True)
