"""Which rows name an upload: kept as their texts are written, by whoever writes them (R-08).

Only files of the writer's own count, so nobody opens a stranger's by writing its address. What is
kept says where to look; whether the address still stands there is seen when somebody reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import peewee

from engine import clock, parties
from engine.db import db
from engine.errors import invalid
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.models.task import Task
from engine.models.upload import Upload, UploadUse

TASK, PROOF, COMMENT = "task", "proof", "comment"
# What somebody else than its worker says of a proof, under its id.
FEEDBACK, REPORT = "feedback", "report"
MOST_NAMED = 200
# As it stands in text, and in JSON that escapes its slashes.
_NAMED = re.compile(
    r"/api\\?/uploads\\?/((?:proofs|tasks|comments)_[0-9A-HJKMNP-TV-Z]{26})(?![0-9A-Za-z_])"
)
Texts = Mapping[str, str | None]


def named(texts: Iterable[str | None]) -> set[str]:
    """The ids of all uploads whose addresses stand in these texts."""
    found: set[str] = set()
    for text in texts:
        if text and "uploads" in text:
            found.update(_NAMED.findall(text))
    return found


def of_proof(proof: Proof, account_id: str, before: Iterable[str | None] = ()) -> None:
    """Keep what a proof names, which its worker wrote; `before` are the texts that it had."""
    texts = {"private_note": proof.private_note, "proofs": "\n".join(proof.evidence)}
    _keep(PROOF, proof.id, account_id, texts, before)


def of_feedback(proof: Proof, reviewer_id: str, before: str) -> None:
    """Keep what a verdict's words name, which were others `before`."""
    _keep(FEEDBACK, proof.id, reviewer_id, {"feedback": proof.feedback}, (before,))


def of_report(proof: Proof, account_id: str) -> None:
    """Keep what the reason names for which a proof was reported, by this account."""
    _keep(REPORT, proof.id, account_id, {"reason": proof.report_reason}, ())


def of_task(gig: Gig, task: Task, before: Iterable[str | None] = ()) -> None:
    """Keep what a task names: words of whoever pays for it, or of his token's."""
    texts = {"private_details": task.private_details, "payload": task.payload}
    _keep(TASK, task.id, parties.client_of(gig, task), texts, before)


def of_comment(comment_id: str, author_id: str, body: str) -> None:
    _keep(COMMENT, comment_id, author_id, {"body": body}, ())


def forget(kind: str, row_id: str, before: Iterable[str | None]) -> None:
    """The row that said this is gone, or says nothing any more; only inside `db.write`."""
    if named(before):
        _drop(kind, row_id, _kept(kind, row_id))


def _keep(
    kind: str, row_id: str, account_id: str, texts: Texts, before: Iterable[str | None]
) -> None:
    """Only inside `db.write`. 400 that names the field for a file that is being removed."""
    fields = {one: name for name, text in texts.items() for one in named([text])}
    if not fields and not named(before):
        return
    if len(fields) > MOST_NAMED:
        name = next(iter(fields.values()))
        raise invalid(name, f"it names more than {MOST_NAMED} uploaded files; name fewer")
    had = _kept(kind, row_id)
    own = (Upload.account_id == account_id) & Upload.id.in_(set(fields))
    # Locked, so that none of them is removed meanwhile.
    locked = db.lock(Upload.select().where(own).order_by(Upload.id))
    for upload in locked:
        if upload.status == "removing":
            raise invalid(
                fields[upload.id],
                f"the file {upload.filename} was not named in time and is removed; upload it again",
            )
    mine = {upload.id for upload in locked}
    fresh = mine - had
    if fresh:
        rows = [{"upload_id": one, "kind": kind, "row_id": row_id} for one in sorted(fresh)]
        UploadUse.insert_many(rows).on_conflict_ignore().execute()
        Upload.update(unnamed_since=None).where(Upload.id.in_(fresh)).execute()
    _drop(kind, row_id, had - mine)


def _kept(kind: str, row_id: str) -> set[str]:
    query = UploadUse.select(UploadUse.upload_id)
    return {
        one.upload_id for one in query.where(UploadUse.kind == kind, UploadUse.row_id == row_id)
    }


def _drop(kind: str, row_id: str, ids: set[str]) -> None:
    """The row names these no more; one that no other row names is kept for a while."""
    if not ids:
        return
    db.lock(Upload.select(Upload.id).where(Upload.id.in_(ids)).order_by(Upload.id))
    UploadUse.delete().where(
        UploadUse.kind == kind, UploadUse.row_id == row_id, UploadUse.upload_id.in_(ids)
    ).execute()
    others = UploadUse.select().where(UploadUse.upload_id == Upload.id)
    Upload.update(unnamed_since=clock.now()).where(
        Upload.id.in_(ids), ~peewee.fn.EXISTS(others)
    ).execute()
