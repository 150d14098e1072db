"""Sweeping uploads: what was broken off is settled, and what nobody needs is removed (R-08).

Safe twice and at once: each step finds what the one before has left, and does nothing where nothing
is left.
"""

from __future__ import annotations

import structlog

from engine import upload_sweep, uploads
from engine.errors import Refused
from jobs.file_stores import Store

log = structlog.get_logger()


def run(store: Store | None) -> None:
    """One round; nothing where this process has no store."""
    if store is None:
        return
    try:
        _settle(store)
        _remove(store)
    except Refused as refusal:
        # The next round tries again.
        log.warning("uploads.sweep_failed", error=refusal.message)


def _settle(store: Store) -> None:
    for upload in upload_sweep.late():
        if store.has(upload):
            uploads.store(upload.id)
        else:
            upload_sweep.give_up(upload)
    for upload_id, unfinished in store.broken_off(upload_sweep.LATE_SECONDS):
        # Whoever linked it and died has not said so; where its row is gone nobody else would look.
        if upload_sweep.status_of(upload_id) is None:
            store.remove(upload_id)
        unfinished.drop()


def _remove(store: Store) -> None:
    upload_sweep.mark_unnamed()
    for upload_id in upload_sweep.removing():
        store.remove(upload_id)
        upload_sweep.removed(upload_id)
