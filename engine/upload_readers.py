"""Where to look whether somebody may read an upload: rows that name it, as far as they could be
for him (R-08). What he sees of each is for the views to say; only that decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.db import db
from engine.upload_uses import COMMENT, TASK

# A file that very many rows name is looked for in the newest of them, and first in one's own.
MOST_ROWS = 200

_PROOFS = """
SELECT upload_use.kind, proof.gig_id, proof.task_id, proof.id FROM upload_use
JOIN proof ON proof.id = upload_use.row_id
JOIN gig ON gig.id = proof.gig_id
JOIN task ON task.id = proof.task_id
JOIN mailbox ON mailbox.id = proof.mailbox_id
WHERE upload_use.upload_id = ? AND upload_use.kind IN ('proof', 'feedback', 'report')
    AND ? IN (gig.owner_id, task.client_id, mailbox.account_id)
ORDER BY proof.id DESC LIMIT ?
"""
_COMMENTS = """
SELECT comment.gig_id, comment.task_id, comment.id FROM upload_use
JOIN comment ON comment.id = upload_use.row_id
WHERE upload_use.upload_id = ? AND upload_use.kind = 'comment'
ORDER BY comment.id DESC LIMIT ?
"""
# His own first; then those that are anybody's to see.
_TASKS = """
SELECT task.gig_id, task.id, task.id FROM upload_use
JOIN task ON task.id = upload_use.row_id
JOIN gig ON gig.id = task.gig_id
LEFT JOIN mailbox ON mailbox.id = task.mailbox_id
WHERE upload_use.upload_id = ? AND upload_use.kind = 'task'
ORDER BY CASE WHEN ? IN (gig.owner_id, task.client_id, mailbox.account_id) THEN 0 ELSE 1 END,
    task.number DESC LIMIT ?
"""
# A copy says what its template says.
_COPIES = """
SELECT task.gig_id, task.id, task.id FROM upload_use
JOIN task template ON template.id = upload_use.row_id
JOIN task ON task.template_number = template.number
JOIN mailbox ON mailbox.id = task.mailbox_id
WHERE upload_use.upload_id = ? AND upload_use.kind = 'task' AND mailbox.account_id = ?
ORDER BY task.number DESC LIMIT ?
"""
_OF_ORDER = """
SELECT upload_use.kind, task.gig_id, task.id, upload_use.row_id FROM upload_use
LEFT JOIN comment ON upload_use.kind = 'comment' AND comment.id = upload_use.row_id
JOIN task ON task.id = CASE WHEN upload_use.kind = 'task' THEN upload_use.row_id
    ELSE comment.task_id END
WHERE upload_use.upload_id = ? AND upload_use.kind IN ('task', 'comment') AND task.id = ?
ORDER BY upload_use.row_id DESC LIMIT ?
"""


@dataclass(frozen=True)
class Place:
    """A row that names an upload; `task_id` is the task that it is, or is about."""

    kind: str
    gig_id: str
    task_id: str
    row_id: str


def places(upload_id: str, account_id: str) -> list[Place]:
    """Rows that name the upload, which this account may be able to read."""
    asked = (upload_id, account_id, MOST_ROWS)
    with db.reading():
        found = [
            *_places(TASK, db.rows(_COPIES, asked)),
            *_places(TASK, db.rows(_TASKS, asked)),
            *(Place(*map(str, one)) for one in db.rows(_PROOFS, asked)),
        ]
        return found + _places(COMMENT, db.rows(_COMMENTS, (upload_id, MOST_ROWS)))


def places_in(upload_id: str, task_id: str) -> list[Place]:
    """The task, and what is said about it, as far as they name the upload."""
    with db.reading():
        return [
            Place(*map(str, one)) for one in db.rows(_OF_ORDER, (upload_id, task_id, MOST_ROWS))
        ]


def _places(kind: str, found: list[tuple[str, str, str]]) -> list[Place]:
    return [Place(kind, *map(str, one)) for one in found]
