"""Proofs as they are handed in."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from engine.handing_in import MAX_NOTE_CHARACTERS
from engine.own_work import MAX_NAME_CHARACTERS
from web.fields import Flag, Money, tags, text
from web.schemas.proof_views import ProofAnswer

MAX_EVIDENCE = 1000
MAX_EVIDENCE_CHARACTERS = 8000
NOTE = {"description": "Opens to the reviewer once the proof is paid, and not before."}


def proofs(**kwargs: Any) -> fields.List[str]:
    """Texts or links, each of 1 to 8000 characters."""
    return fields.List(
        text(MAX_EVIDENCE_CHARACTERS, 1),
        attribute="evidence",
        metadata={"description": "Texts or links that show the work."},
        validate=validate.Length(max=MAX_EVIDENCE, error=f"give at most {MAX_EVIDENCE}"),
        **kwargs,
    )


def asking_price(**kwargs: Any) -> Money:
    return Money(
        attribute="asking_price_units",
        allow_none=True,
        metadata={
            "description": "What you ask for instead of the price, where the gig has "
            "`allow_price_offers`; paid only if the proof is approved at just that amount (R-02)."
        },
        **kwargs,
    )


class ProofSubmit(Schema):
    mailbox_id = fields.String(
        load_default=None,
        metadata={
            "description": "Which of your mailboxes; by default the one that has the task, or else "
            "the first active."
        },
    )
    task_identifier = text(
        MAX_NAME_CHARACTERS,
        1,
        required=True,
        metadata={
            "description": "The task's id; in a gig that hands out no tasks your own name of the "
            "work (U-03)."
        },
    )
    proofs = proofs(load_default=list)
    tags = tags(load_default=list)
    private_note = text(MAX_NOTE_CHARACTERS, load_default="", metadata=NOTE)
    asking_price = asking_price(load_default=None)
    draft = Flag(
        load_default=False,
        metadata={"description": "Keep it back: only you see it until you submit it (R-03)."},
    )


class DraftChange(Schema):
    """What is left out stays as it is."""

    proofs = proofs()
    tags = tags()
    private_note = text(MAX_NOTE_CHARACTERS, metadata=NOTE)
    asking_price = asking_price()


class ProofHandedIn(ProofAnswer):
    warning = fields.String(
        metadata={"description": "The gig's pot does not cover this proof and its fee yet."}
    )
