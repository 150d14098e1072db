"""What is said of a file before it is put, and what is answered (R-08)."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.uploads import MAX_FILENAME_CHARACTERS, MAX_TYPE_CHARACTERS, PREFIXES
from web.fields import Time, Whole, WholeText, name, one_of, text
from web.schemas.public import ByLink
from web.shares import MAX_TOKEN_CHARACTERS

# What a whole number of JSON can be everywhere; the setting says what is taken.
MAX_BYTES = 2**53 - 1
# A file's own type is in the answer's header.
BYTES = {"type": "string", "format": "binary"}


class FileDescription(Schema):
    filename = name(
        MAX_FILENAME_CHARACTERS,
        required=True,
        metadata={"description": "The name alone, without a path; readers save it under this."},
    )
    content_type = text(
        MAX_TYPE_CHARACTERS, 3, required=True, metadata={"description": "Such as image/png."}
    )
    content_length = Whole(1, MAX_BYTES, required=True, metadata={"description": "Bytes, exactly."})


class Presign(FileDescription):
    prefix = one_of(
        *PREFIXES,
        load_default=PREFIXES[0],
        metadata={"description": "Where it will be named first; it begins the key."},
    )


class PresignByLink(FileDescription, ByLink):
    pass


class Presigned(Schema):
    presigned_url = fields.String(
        required=True,
        metadata={"description": "`PUT` the bytes here within 15 minutes, once; no key is needed."},
    )
    headers = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"description": "Send these with the bytes; the signature covers them."},
    )
    url = fields.String(
        required=True,
        metadata={
            "description": "Put this into a proof, a payload, a note, details or a comment: who "
            "may read that then reads the file here."
        },
    )
    key = fields.String(required=True)
    max_bytes = fields.Integer(required=True)


class PutQuery(Schema):
    signature = text(64, 1, required=True)


class Stored(Schema):
    key = fields.String(required=True)
    url = fields.String(required=True)
    content_length = fields.Integer(required=True, metadata={"description": "Bytes."})


class Fetched(Schema):
    url = fields.String(
        required=True,
        metadata={"description": "Whoever has this fetches the file; send no key with it."},
    )
    filename = fields.String(required=True)
    bytes = fields.Integer(required=True)
    expires_at = Time(required=True)


class FetchQuery(Schema):
    until = WholeText(0, MAX_BYTES, required=True, metadata={"description": "Milliseconds."})
    signature = text(64, 1, required=True)


class SharedFileQuery(Schema):
    key = text(64, 1, required=True, metadata={"description": "The file's key."})
    token = text(
        MAX_TOKEN_CHARACTERS,
        1,
        required=True,
        metadata={"description": "A mailbox's `share_token`, or an order's `public_token`."},
    )
    gig = text(100, 1, load_default=None, metadata={"description": "The gig of that order."})
    task = text(100, 1, load_default=None, metadata={"description": "The order's id."})
