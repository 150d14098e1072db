"""Private details of copies: each holder of a copy reads its template's, as they are now.

They are read when they are shown, so what the owner writes after some have their copies reaches
those too. A copy that was given details of its own shows these.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.db import db
from engine.models.task import Task


def fill(tasks: Sequence[Task]) -> None:
    """Put the template's private details into the copies among the tasks, as they will be shown."""
    bare = [task for task in tasks if task.template_number is not None and not task.private_details]
    if not bare:
        return
    numbers = list({task.template_number for task in bare})
    marks = ", ".join("?" for _ in numbers)
    with db.reading():
        found = dict(
            db.rows(f"SELECT number, private_details FROM task WHERE number IN ({marks})", numbers)
        )
    for task in bare:
        task.private_details = found.get(task.template_number)
