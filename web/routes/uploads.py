"""Files beside the words: announced, put once, and read by whoever reads what names them (R-08)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask import Response, current_app, jsonify, redirect, request
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.wsgi import FileWrapper

from engine import clock, order_links, share_links, upload_links, uploads
from engine.errors import Refused, not_found
from engine.models.upload import Upload
from engine.uploads import Wanted
from jobs.file_stores import Folder, Store, Unfinished
from web import auth, limits, receiving, shares, upload_views, waiting
from web.blueprint import Routes
from web.schemas import uploads as schemas

routes = Routes("uploads", "Files beside the words.")
PART_BYTES = 262_144
# Whatever it is: nothing that shows it by its type is to be told one.
BYTES = "application/octet-stream"
_OFF = "This install keeps no files. Its operator can set MUSTER_UPLOAD_DIR; name a link instead."


def _store() -> Store:
    found: Store | None = current_app.config["RUNTIME"].files
    if found is None:
        raise Refused("uploads_off", _OFF)
    return found


@routes.route("/upload/presign", methods=["POST"], key=auth.updates_tasks, refuses=[403, 429])
@routes.arguments(schemas.Presign)
@routes.response(201, schemas.Presigned)
def presign(body: dict[str, Any]) -> dict[str, Any]:
    """Announce a file of yours: where to put it, and the address to name it by (R-08).

    You read it from then on, and so does whoever may read a part of a task, proof or comment of
    yours that names it, for as long as it does. What nothing names is removed after a day.

    Needs the scope `tasks:update` or `all`: whoever completes what is routed to him hands it in.
    """
    return _begun(auth.updates_tasks().account_id, body)


@routes.route("/public/upload-presign", methods=["POST"], key=None, refuses=[403, 404, 429])
@routes.arguments(schemas.PresignByLink)
@routes.response(201, schemas.Presigned)
def presign_by_link(body: dict[str, Any]) -> dict[str, Any]:
    """The same for whoever has a mailbox's share link; the file is the mailbox's worker's."""
    link = share_links.follow(shares.opened(body.pop("share_token")))
    return _begun(link.mailbox.account_id, body, link.mailbox.id)


def _begun(account_id: str, body: dict[str, Any], mailbox_id: str | None = None) -> dict[str, Any]:
    store = _store()
    upload = uploads.begin(account_id, Wanted(**body), mailbox_id)
    ticket = store.ticket(upload)
    return {
        "presigned_url": ticket.url,
        "headers": ticket.headers,
        "url": uploads.address(upload),
        "key": upload.id,
        "max_bytes": current_app.config["MUSTER"].UPLOAD_MAX_BYTES,
    }


@routes.route(
    "/uploads/<key>",
    methods=["PUT"],
    key=None,
    payload=True,
    body_is="The file's bytes, of the type and length that were announced.",
    refuses=[403, 404, 408, 409],
)
@routes.arguments(schemas.PutQuery, location="query")
@routes.response(201, schemas.Stored)
def put(query: dict[str, Any], key: str) -> Any:
    """Put the bytes of a file, at the `presigned_url` that you were given for it.

    403 `wrong_signature` for another address, `upload_expired` after 15 minutes; 409
    `upload_stored` the second time: what was stored stays as it is.
    """
    store, intake = _store(), receiving.of_request()
    upload = upload_links.put_by(key, query["signature"])
    if not isinstance(store, Folder):
        raise not_found("file")
    if not intake.ended:
        content_type = request.headers.get("content-type", "")
        uploads.require_put(upload, content_type, request.content_length)
        if store.has(upload):
            # Whoever put it was stopped before he could say so.
            uploads.store(upload.id)
            raise uploads.already_stored()
        intake.want(store.begin(upload), upload.content_length)
        if receiving.is_served():
            return Response(status=202)
        try:
            receiving.read_now(intake)
            return _kept(store, upload, intake)
        finally:
            assert intake.sink is not None
            intake.sink.drop()
    return _kept(store, upload, intake)


def _kept(store: Folder, upload: Upload, intake: receiving.Intake) -> dict[str, Any]:
    unfinished = intake.sink
    assert isinstance(unfinished, Unfinished)
    if isinstance(intake.error, Refused):
        raise intake.error
    if intake.late:
        raise Refused("too_slow", "The file came too slowly. Put it again within its 15 minutes.")
    uploads.require_length(upload, unfinished.size)
    if not store.keep(unfinished, upload.id):
        uploads.store(upload.id)
        raise uploads.already_stored()
    if not uploads.store(upload.id):
        # It was given up meanwhile.
        store.remove(upload.id)
        raise not_found("file")
    return {"key": upload.id, "url": uploads.address(upload), "content_length": unfinished.size}


@routes.route("/uploads/<key>/file", key=None, refuses=[403, 404, 416])
@routes.arguments(schemas.FetchQuery, location="query")
@routes.alt_response(200, content_type=BYTES, schema=schemas.BYTES)
@routes.alt_response(206, content_type=BYTES, schema=schemas.BYTES)
def fetch(query: dict[str, Any], key: str) -> Any:
    """A file by the address that `Accept: application/json` is answered, within its minute."""
    store, upload = _store(), upload_links.fetched_by(key, query["until"], query["signature"])
    if not isinstance(store, Folder):
        raise not_found("file")
    _require_stored(store, upload)
    return _bytes(store, upload)


@routes.route("/uploads/<key>", refuses=[416])
@routes.response(200, schemas.Fetched)
@routes.alt_response(200, content_type=BYTES, schema=schemas.BYTES)
@routes.alt_response(206, content_type=BYTES, schema=schemas.BYTES)
@routes.alt_response(302)
def read(key: str) -> Any:
    """A file that is yours, or whose address stands in something that you may read just now.

    Always a download, never shown. One 404 for all others, and for what is not there. With `Accept:
    application/json` you are told instead where anybody can fetch it for a minute without a key:
    a client that follows a redirect may send its key along, and a browser cannot follow this one.
    """
    caller, store, upload = auth.caller(), _store(), uploads.find(key)
    if not upload_views.is_for(caller, upload):
        raise not_found("file")
    return _file(store, upload)


@routes.route("/public/upload", key=None, refuses=[403, 404, 409, 416, 429])
@routes.arguments(schemas.SharedFileQuery, location="query")
@routes.response(200, schemas.Fetched)
@routes.alt_response(200, content_type=BYTES, schema=schemas.BYTES)
@routes.alt_response(206, content_type=BYTES, schema=schemas.BYTES)
@routes.alt_response(302)
def read_by_link(query: dict[str, Any]) -> Any:
    """A file whose address stands in what a link shows.

    That is a task of a mailbox's share link, and what came by that link; or, with `gig` and `task`,
    an order that its buyer shares, and what is said about it. `Accept: application/json` as above.
    """
    of_order = [query["gig"], query["task"]]
    if any(of_order) and not all(of_order):
        both = dict.fromkeys(("gig", "task"), "give both of an order, or neither")
        raise Refused("invalid", "gig, task: give both of an order, or neither.", errors=both)
    if all(of_order):
        shared = limits.public_token(
            query["token"],
            lambda token: order_links.find(query["gig"], query["task"], token),
            order_links.unknown(),
        )
        store, upload = _store(), uploads.find(query["key"])
        is_for = upload_views.is_for_order(shared, upload)
    else:
        link = share_links.follow(shares.opened(query["token"]))
        store, upload = _store(), uploads.find(query["key"])
        is_for = upload_views.is_for_link(link, upload)
    if not is_for:
        raise not_found("file")
    return _file(store, upload)


def _file(store: Store, upload: Upload) -> Any:
    _require_stored(store, upload)
    if _prefers_address():
        return _guarded(jsonify(schemas.Fetched().dump(_told(store, upload))))
    if isinstance(store, Folder):
        return _bytes(store, upload)
    return _guarded(redirect(store.link(upload, _disposition(upload.filename)), 302))


def _require_stored(store: Store, upload: Upload) -> None:
    is_stored = upload.status == uploads.STORED
    # Whoever put it need not have said so.
    if not is_stored and not (store.has(upload) and uploads.store(upload.id)):
        raise not_found("file")


def _prefers_address() -> bool:
    """Does the caller name JSON, and before all else? Many clients take anything after it."""
    accepted = request.accept_mimetypes
    return accepted.quality("application/json") > accepted.quality(BYTES)


def _told(store: Store, upload: Upload) -> dict[str, Any]:
    until = clock.now() + upload_links.FETCH_SECONDS * clock.SECOND
    return {
        "url": store.link(upload, _disposition(upload.filename)),
        "filename": upload.filename,
        "bytes": upload.content_length,
        "expires_at": until,
    }


def _bytes(store: Folder, upload: Upload) -> Response:
    file, size = store.open(upload), upload.content_length
    if request.method == "HEAD":
        file.close()
        answer = Response(content_type=BYTES)
    else:
        waiting.slot().in_parts = True
        answer = Response(_Parts(file, PART_BYTES), content_type=BYTES)
    answer.headers["Content-Disposition"] = _disposition(upload.filename)
    answer.headers["Content-Length"] = str(size)
    answer.headers["Accept-Ranges"] = "bytes"
    asked = request.range
    # Several ranges, and what is no range of bytes, are answered with the whole file (RFC 9110).
    if asked is not None and (asked.units, len(asked.ranges)) == ("bytes", 1) and not file.closed:
        try:
            answer.make_conditional(request, accept_ranges=True, complete_length=size)
        except RequestedRangeNotSatisfiable:
            file.close()
            raise Refused(
                "range_not_satisfiable", f"The file has {size} bytes; ask for some of those."
            ) from None
    guarded: Response = _guarded(answer)
    return guarded


class _Parts(FileWrapper):
    """A file piece by piece; it is closed with its last, or by whoever stops before that."""

    def __next__(self) -> bytes:
        try:
            part: bytes = super().__next__()
        except StopIteration:
            self.close()
            raise
        return part


def _guarded(answer: Any) -> Any:
    """Nothing in a file is run, shown in our name, or kept by others."""
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    answer.headers["Cache-Control"] = "private, no-store"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _disposition(filename: str) -> str:
    """A download under its own name; old clients are given the letters of ASCII (RFC 6266)."""
    plain = filename.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
