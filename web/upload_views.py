"""Who reads an upload: whoever put it, and whoever is shown its address, as things are now (R-08).

A row that names it is read as this reader sees it, by the views that answer him elsewhere too. So
the file of a note opens with the note, and closes once its address is taken out of the text, or the
row is no longer his to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine import comments, evidence, share_links, shelf, upload_readers, upload_uses
from engine.db import db
from engine.errors import Refused
from engine.models.upload import Upload
from engine.operations import Caller
from engine.order_links import SharedOrder
from engine.share_links import Link
from engine.upload_readers import Place
from web import order_views, share_views, views
from web.proof_views import proof_views

Texts = Iterable[str | None]


def is_for(caller: Caller, upload: Upload) -> bool:
    """May this account read it now?"""
    if upload.account_id == caller.account_id:
        return True
    with db.reading():
        places = upload_readers.places(upload.id, caller.account_id)
        return _stands_in(upload, places, lambda place: _READ[place.kind](caller, place))


def is_for_link(link: Link, upload: Upload) -> bool:
    """May whoever has this mailbox's share link read it?

    What came by it is his; else he is shown tasks, and why a proof was rejected.
    """
    if upload.mailbox_id == link.mailbox.id:
        return True

    def shown(place: Place) -> Texts:
        task = share_links.read_task(link, place.task_id)
        if place.kind == upload_uses.FEEDBACK:
            rejected = share_links.rejected_proof(link, task)
            return () if rejected is None or rejected.id != place.row_id else (rejected.feedback,)
        return (share_views.shared_task_view(link, task)["payload"],)

    with db.reading():
        places = upload_readers.places(upload.id, link.mailbox.account_id)
        kinds = (upload_uses.TASK, upload_uses.FEEDBACK)
        mine = [one for one in places if one.gig_id == link.gig.id and one.kind in kinds]
        return _stands_in(upload, mine, shown)


def is_for_order(shared: SharedOrder, upload: Upload) -> bool:
    """May whoever has the public link of this order read it?"""

    def shown(place: Place) -> Texts:
        if place.kind == upload_uses.TASK:
            return (share_views.shared_order_view(shared)["payload"],)
        return (shared.conversation.find(place.row_id).body,)

    with db.reading():
        places = upload_readers.places_in(upload.id, shared.task.id)
        return _stands_in(upload, places, shown)


def _stands_in(upload: Upload, places: Iterable[Place], shown: Callable[[Place], Texts]) -> bool:
    for place in places:
        try:
            texts = shown(place)
        except Refused:
            # This row is not, or no longer, his to see.
            continue
        if upload.id in upload_uses.named(texts):
            return True
    return False


def _task(caller: Caller, place: Place) -> Texts:
    seen = shelf.read(caller, place.gig_id, place.task_id)
    view = views.task_view(
        seen.gig,
        seen.task,
        owner=seen.owner,
        mailbox_ids=seen.mailbox_ids,
        reader=order_views.reader(caller, [seen.task]),
    )
    return (view["payload"], view.get("private_details"))


def _proof_view(caller: Caller, place: Place) -> dict[str, Any]:
    (view,) = proof_views(caller, [evidence.read(caller, place.gig_id, place.row_id)])
    return view


def _proof(caller: Caller, place: Place) -> Texts:
    view = _proof_view(caller, place)
    return (*view["evidence"], view["private_note"])


# Each by itself: who reviews a proof cannot open its note's file by writing its address here.
def _feedback(caller: Caller, place: Place) -> Texts:
    return (_proof_view(caller, place)["feedback"],)


def _report(caller: Caller, place: Place) -> Texts:
    return (_proof_view(caller, place)["report_reason"],)


def _comment(caller: Caller, place: Place) -> Texts:
    conversation = comments.read(caller, place.gig_id, place.task_id)
    return (conversation.find(place.row_id).body,)


_READ: dict[str, Callable[[Caller, Place], Texts]] = {
    upload_uses.TASK: _task,
    upload_uses.PROOF: _proof,
    upload_uses.COMMENT: _comment,
    upload_uses.FEEDBACK: _feedback,
    upload_uses.REPORT: _report,
}
