"""Sweeping uploads: what was broken off is settled, and what nobody needs is removed (R-08).

Safe twice and at once: each step finds what the one before has left, and does nothing where nothing
is left.
"""

from __future__ import annotations

import structlog

from engine import clock, upload_sweep, uploads
from engine.errors import Refused
from jobs.file_stores import Store

# More is left to the next round than can be done meanwhile: others wait for this thread.
ROUND_SECONDS = 60
# More than these, and it is the store that is away.
MOST_FAILED = 10
log = structlog.get_logger()


def warn_if_off(store: Store | None) -> None:
    """Somebody takes files, and this process, which is to clear them away, was not told where."""
    if store is None and upload_sweep.any_kept():
        log.warning(
            "uploads.not_cleared",
            hint="give this process the MUSTER_UPLOAD_… settings of muster serve",
        )


def run(store: Store | None) -> None:
    """One round; a warning where this process has no store."""
    if store is None:
        warn_if_off(store)
        return
    until = clock.machines() + ROUND_SECONDS
    try:
        while _settle(store) + _remove(store) >= upload_sweep.AT_ONCE and clock.machines() < until:
            pass
    except Refused as refusal:
        # The next round tries again.
        log.warning("uploads.sweep_failed", error=refusal.message)


def _settle(store: Store) -> int:
    """Answers how many it was of those that have rows."""
    late = upload_sweep.late()
    for upload in late:
        if store.has(upload):
            uploads.store(upload.id)
        else:
            upload_sweep.give_up(upload)
    for upload_id, unfinished in store.broken_off(upload_sweep.LATE_SECONDS):
        # Whoever linked it and died has not said so; where its row is gone nobody else would look.
        if upload_sweep.status_of(upload_id) is None:
            store.remove(upload_id)
        unfinished.drop()
    return len(late)


def _remove(store: Store) -> int:
    """Answers how many are gone. What cannot be removed is left, and keeps no other."""
    upload_sweep.mark_unnamed()
    gone, failed = 0, 0
    for upload_id in upload_sweep.removing():
        try:
            store.remove(upload_id)
        except Refused:
            failed += 1
            if failed > MOST_FAILED:
                raise
            continue
        upload_sweep.removed(upload_id)
        gone += 1
    return gone
