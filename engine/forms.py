"""What shapes a task: what its sender says of it, and the columns that follow (T-01, T-03)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import simplejson

from engine import assignments, gigs, own_fields
from engine.errors import Refused
from engine.models.gig import Gig
from engine.modes import ask
from engine.rules.queue_order import DEFAULT_PRIORITY

MAX_PAYLOAD_CHARACTERS = 2_000_000
OPEN, RESERVED, VIEW_ONLY = "open", "reserved", "view_only"
AVAILABILITIES = (OPEN, RESERVED, VIEW_ONLY)
# What only some modes take (`ModeInfo.query`); everything else every mode takes.
OF_THE_MODE = ("priority", "availability", "reserved_for")


@dataclass(frozen=True)
class Form:
    """A task as it was sent. `payload` is kept to the byte; None means that nothing was said."""

    payload: str
    content_type: str
    subject: str = ""
    tags: tuple[str, ...] | None = None
    price_units: int | None = None
    price_tbd: bool = False
    priority: int | None = None
    external_id: str | None = None
    # A mailbox's id, or its account's email.
    assign_to: str | None = None
    availability: str | None = None
    reserved_for: str | None = None
    # Milliseconds.
    not_before: int | None = None
    draft: bool = False
    # What is said under the names of the gig's mode, each as its shape says; without defaults.
    own: Mapping[str, Any] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """SHA-256 of everything that makes it this task and no other (T-04)."""
        told: list[Any] = [
            self.payload,
            self.content_type,
            self.subject,
            list(self.tags or ()),
            self.price_units,
            self.price_tbd,
            self.priority,
        ]
        names = ("assign_to", "availability", "reserved_for", "not_before", "draft", "own")
        more = {name: getattr(self, name) for name in names}
        # Only where one is given: a task of before there were any is still the same task.
        given = {name: value for name, value in more.items() if value}
        if self.tags == ():
            given["tags"] = "none"
        if given:
            told.append(given)
        return hashlib.sha256(simplejson.dumps(told, sort_keys=True).encode()).hexdigest()


def check(gig: Gig, form: Form) -> None:
    """Refuse what makes no sense together, or in the gig's mode; every bad field is named."""
    if len(form.payload) > MAX_PAYLOAD_CHARACTERS:
        raise Refused(
            "payload_too_large",
            f"The payload may have {MAX_PAYLOAD_CHARACTERS} characters. Send a link instead.",
            received_chars=len(form.payload),
            max_chars=MAX_PAYLOAD_CHARACTERS,
        )
    takes = ask(gig.distribution).info.query
    wrong = {
        name: f"the mode {gig.distribution} does not take this"
        for name in OF_THE_MODE
        if getattr(form, name) is not None and name not in takes
    }
    wrong = wrong or _at_odds(form)
    if wrong:
        told = "; ".join(f"{name}: {sentence}" for name, sentence in wrong.items())
        raise Refused("invalid", told, errors=wrong)


def _at_odds(form: Form) -> dict[str, str]:
    wrong = {}
    if form.assign_to is not None:
        if form.priority is not None:
            wrong["priority"] = "what is given by assign_to has no place in the queue"
        if form.availability not in (None, OPEN):
            wrong["availability"] = "what is given by assign_to is offered to nobody else"
        if form.not_before is not None:
            wrong["not_before"] = "what is given by assign_to is given at once"
    if form.reserved_for is not None:
        if form.assign_to is not None:
            wrong["reserved_for"] = "give either this or assign_to"
        elif form.availability not in (None, RESERVED):
            wrong["reserved_for"] = "only with availability=reserved"
    return wrong


def columns(gig: Gig, form: Form) -> dict[str, Any]:
    """The task's columns, its workers looked up; only inside `db.write`, before a task is locked.

    Whoever is named must be an active worker of the gig: 400 `assignee_…`, and 404 for an unknown
    `reserved_for` (T-06). Who is to be given the task stays active until the transaction ends.
    """
    if form.assign_to is not None:
        gigs.share(gig.id)
    return {
        "subject": form.subject,
        "payload": form.payload,
        "content_type": form.content_type,
        "tags": list(form.tags if form.tags is not None else gig.default_task_tags),
        "price_units": form.price_units,
        "price_tbd": form.price_tbd,
        "priority": DEFAULT_PRIORITY if form.priority is None else form.priority,
        "availability": availability_of(form),
        "reserved_for": _reserved_for(gig, form.reserved_for),
        "assignee_id": None if form.assign_to is None else assignee(gig, form.assign_to),
        "not_before": form.not_before,
        "mode_fields": own_fields.of_form(gig, form.own, form.payload, form.subject),
    }


def availability_of(form: Form) -> str:
    """Whoever says for whom, has said that it is reserved."""
    return form.availability or (OPEN if form.reserved_for is None else RESERVED)


def _reserved_for(gig: Gig, text: str | None) -> str | None:
    return None if text is None else str(assignments.reservee(gig, text).id)


def assignee(gig: Gig, text: str) -> str:
    """The id of the mailbox that is to be given a task; held, so that it stays active."""
    mailbox_id = str(assignments.find(gig, text).id)
    if not assignments.is_active(mailbox_id):
        raise assignments.not_active()
    return mailbox_id
