"""Server-sent events: the gig's log as a stream that resumes where it broke off (H-15)."""

from __future__ import annotations

from flask import Response, current_app, request

from engine import events as log
from engine import gigs, topics
from engine.db import db
from engine.errors import invalid
from engine.operations import Caller
from web import views, waiting
from web.schemas.accounts import EventRow
from web.strict_json import MAX_INTEGER

CONTENT_TYPE = "text/event-stream"
AT_ONCE = 100
# An event that is written but not yet settled is looked for again so soon.
SETTLE_SECONDS = 0.05
_ROW = EventRow()


def events(caller: Caller, gig_id: str, after: int) -> Response:
    """What there is after the position; the front asks again for what comes later."""
    position = int(waiting.resumed() or _last_event_id(after))
    # Both as of one moment: an event that settles in between would be looked for by nobody.
    with db.snapshot():
        found = gigs.history(caller, gig_id, position, AT_ONCE)
        unsettled = log.has_unsettled(gig_id, position)
    mine = waiting.slot()
    mine.stream = True
    mine.topics = (topics.gig_events(gig_id),)
    mine.resume = str(found[-1].seq if found else position)
    if found:
        mine.seconds = 0
    else:
        mine.seconds = SETTLE_SECONDS if unsettled else waiting.HEARTBEAT_SECONDS
    gig = gigs.get(gig_id)
    body = "".join(
        f"id: {one.seq}\nevent: {one.type}\n"
        f"data: {current_app.json.dumps(_ROW.dump(views.event_view(one, caller, gig)))}\n\n"
        for one in found
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Response(body, content_type=CONTENT_TYPE, headers=headers)


def _last_event_id(after: int) -> str:
    given = request.headers.get("last-event-id")
    if given is None:
        return str(after)
    if not (given.isascii() and given.isdigit() and len(given) < 20 and int(given) <= MAX_INTEGER):
        raise invalid("Last-Event-ID", "give the id of the last event that you saw")
    return given
