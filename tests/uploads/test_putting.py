"""Files are announced, and put once, as they were announced (R-08)."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from engine import clock, upload_sweep, uploads
from engine.db import db
from engine.models.upload import Upload
from engine.uploads import PUT_SECONDS
from jobs import upload_sweep as sweeping
from jobs.file_stores import MOST_AT_ONCE, Folder, Unfinished
from tests.contract.scene import all_hold
from tests.contract.test_over_the_wire import ask, chunked, served
from tests.uploads.files import TEXT, File, announce, described, stored
from tests.world import World, at_once


@pytest.mark.rule("R-08")
def test_a_file_is_put_once_and_read_by_its_owner_as_a_download(world: World) -> None:
    worker = world.person("worker")
    file = announce(worker, filename='a "wren"; ü.txt')
    file.read(worker).refused(404)
    assert file.put().ok()["content_length"] == len(TEXT)
    file.put().refused(409, "upload_stored")
    answer = file.read(worker)
    assert answer.text == TEXT.decode()
    told = answer.headers
    assert told["content-disposition"].startswith("attachment; ")
    assert told["content-disposition"].endswith("filename*=UTF-8''a%20%22wren%22%3B%20%C3%BC.txt")
    assert told["x-content-type-options"] == "nosniff"
    assert told["content-security-policy"] == "sandbox; default-src 'none'"
    assert told["cache-control"] == "private, no-store"
    assert told["content-type"] == "application/octet-stream"
    path = f"/uploads/{file.key}"
    part = worker.call("GET", path, headers={"range": "bytes=2-5"})
    assert (part.status, part.text) == (206, TEXT.decode()[2:6])
    worker.call("GET", path, headers={"range": "bytes=900-"}).refused(416)
    for whole in ("bytes=0-1,3-4", "lines=0-1", "bytes=x"):
        answer = worker.call("GET", path, headers={"range": whole})
        assert (answer.status, answer.text) == (200, TEXT.decode())
    for asked in ({}, {"range": "bytes=2-5"}):
        answer = worker.call("HEAD", path, headers=asked)
        assert (answer.status, answer.headers["content-length"]) == (200, str(len(TEXT)))
    file.read(None).refused(401)


# What is announced, and the field that is wrong with it.
ANNOUNCED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"filename": name}, "filename")
        for name in ("", " ", ".", "..", "a/b", "a\\b", "a\nb", "\u202etxt.exe", "x" * 256, "\x00")
    ),
    *(
        ({"filename": f"a{mark}b"}, "filename")
        for mark in "\u061c\u200b\u200e\u200f\u2028\u2066\u2069\ufeff"
    ),
    *(
        ({"content_type": kind}, "content_type")
        for kind in ("image", "image/", "/png", "a/b/c", "a/b;c=d", "a/b\nc", "x/" + "y" * 130)
    ),
    *(({"content_length": size}, "content_length") for size in (0, -1, 10**12, "5", 1.5, None)),
    ({"prefix": "../proofs"}, "prefix"),
]


@pytest.mark.rule("R-08")
def test_what_is_no_file_is_refused_by_the_name_of_the_field(world: World) -> None:
    worker = world.person("worker")

    def refused(row: tuple[dict[str, Any], str]) -> None:
        answer = worker.call("POST", "/upload/presign", {**described(), **row[0]})
        assert set(answer.refused(400)["errors"]) == {row[1]}

    all_hold(ANNOUNCED, refused)
    assert db.rows("SELECT count(*) FROM upload") == [(0,)]


@pytest.mark.rule("R-08")
def test_only_the_very_file_that_was_announced_is_taken(world: World) -> None:
    worker = world.person("worker")
    file, another = announce(worker), announce(worker)
    file.put(**{"content-type": "text/html"}).refused(415)
    file.put(TEXT[:-1]).refused(400)
    file.put(TEXT + b"!").refused(413)
    signature = another.put_path.rpartition("=")[2]
    for path in (
        f"/uploads/{file.key}?signature={signature}",
        file.put_path[:-1],
    ):
        world.call("PUT", path, raw=TEXT, headers=file.headers).refused(403, "wrong_signature")
    nothing = f"/uploads/proofs_none?signature={signature}"
    world.call("PUT", nothing, raw=TEXT, headers=file.headers).refused(404)
    world.call("PUT", f"/uploads/{file.key}", raw=TEXT).refused(400)
    clock.advance(PUT_SECONDS)
    file.put().refused(403, "upload_expired")
    assert not file.opens(worker)


@pytest.mark.rule("R-08")
@pytest.mark.rule("H-12")
def test_an_account_uploads_so_much_and_no_more(world: World) -> None:
    worker = world.person("worker")
    most = world.settings.UPLOAD_BYTES_PER_DAY // world.settings.UPLOAD_MAX_BYTES
    for _ in range(most):
        announce(worker, world.settings.UPLOAD_MAX_BYTES)
    big = described(world.settings.UPLOAD_MAX_BYTES)
    worker.call("POST", "/upload/presign", big).refused(429, "rate_limited")
    # What was refused was not counted against what may be begun in a minute.
    for _ in range(world.settings.UPLOADS_PER_MINUTE - most - 1):
        worker.call("POST", "/upload/presign", big).refused(429, "rate_limited")
    world.person("other").post("/upload/presign", described())
    clock.advance(86_400)
    announce(worker)


@pytest.mark.rule("R-08")
def test_of_two_who_put_the_same_file_at_once_one_wins(world: World) -> None:
    worker = world.person("worker")
    file = announce(worker)
    bodies = [bytes([65 + number]) * len(TEXT) for number in range(4)]
    statuses = [answer.status for answer in at_once(4, lambda number: file.put(bodies[number]))]
    assert sorted(statuses) == [201, 409, 409, 409]
    won = bodies[statuses.index(201)]
    assert file.read(worker).text == won.decode()


def sent(file: File, headers: str, body: bytes) -> bytes:
    head = f"PUT /api{file.put_path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    return f"{head}content-type: text/plain\r\n{headers}\r\n".encode() + body


@pytest.mark.rule("R-08")
def test_over_the_wire_a_file_comes_in_pieces_and_not_a_byte_too_many(world: World) -> None:
    worker, size = world.person("worker"), 12_000_000
    whole, pieces, long, short, lies = (announce(worker, size) for _ in range(5))
    little = announce(worker, 2)
    data = bytes(range(32, 82)) * (size // 50)
    with served(world) as port:
        length = f"content-length: {size}\r\n"
        assert ask(port, sent(whole, length, data))[0] == 201
        coming = "transfer-encoding: chunked\r\n"
        parts = [data[at : at + 1_000_000] for at in range(0, size, 1_000_000)]
        assert ask(port, sent(pieces, coming, chunked(*parts)))[0] == 201
        assert ask(port, sent(long, coming, chunked(*parts, b"!")))[0] == 413
        assert ask(port, sent(short, coming, chunked(*parts[1:])))[0] == 400
        # More than fits, of which no end is in sight, is hung up on.
        endless = (b"z" * 262_144 for _ in range(400))
        with socket.create_connection(("127.0.0.1", port)) as peer, pytest.raises(OSError):
            peer.sendall(sent(little, coming, b"").replace(b"Connection: close\r\n", b""))
            for part in endless:
                peer.sendall(chunked(part)[: -len(chunked())])
        told = ask(port, sent(little, coming, chunked(b"a", b"wren")))
        assert (told[0], told[2]["max_bytes"]) == (413, 2)
        assert ask(port, sent(lies, f"content-length: {size + 1}\r\n", data + b"!"))[0] == 413
        # Whoever hangs up in the middle has put nothing.
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(sent(short, length, data[:-1]))
        assert ask(port, sent(short, length, data))[0] == 201
    for file in (whole, pieces, short):
        answer = worker.call("GET", f"/uploads/{file.key}", headers={"range": "bytes=-250"})
        assert answer.status == 206
        assert int(answer.headers["content-range"].rpartition("/")[2]) == size
    for file in (long, lies):
        assert not file.opens(worker)
    assert left_over(world) == []


def left_over(world: World) -> list[Any]:
    return list((Path(world.settings.UPLOAD_DIR) / "unfinished").iterdir())


@pytest.mark.rule("R-08")
def test_without_a_place_for_files_nobody_announces_one(world: World) -> None:
    worker = world.person("worker")
    file = stored(worker)
    world.runtime.files = None
    worker.call("POST", "/upload/presign", described()).refused(503, "uploads_off")
    file.read(worker).refused(503, "uploads_off")


@pytest.mark.rule("R-08")
def test_a_file_that_was_linked_and_not_said_to_be_stored_is_read_and_not_put_again(
    world: World,
) -> None:
    worker = world.person("worker")
    file = stored(worker)
    # As somebody leaves it who is killed before his last transaction.
    back = Upload.update(status="waiting", stored_at=None).where(Upload.id == file.key)
    db.write(back.execute)
    file.put(b"x" * len(TEXT)).refused(409, "upload_stored")
    db.write(back.execute)
    assert file.read(worker).text == TEXT.decode()


@pytest.mark.rule("R-08")
def test_by_one_address_no_more_comes_in_at_once_than_a_few_times_the_file(world: World) -> None:
    worker = world.person("worker")
    file = announce(worker)
    upload, store = uploads.find(file.key), world.runtime.files
    assert isinstance(store, Folder)
    coming = [store.begin(upload) for _ in range(MOST_AT_ONCE)]
    file.put().refused(409, "in_progress")
    coming[0].drop()
    coming[0] = store.begin(upload)
    old = Unfinished(coming[0].path)
    old.drop()
    again = store.begin(upload)
    # Dropped a second time, it takes nobody else's place away.
    old.drop()
    file.put().refused(409, "in_progress")
    for one in (*coming, again):
        one.drop()
    file.put().ok()


@pytest.mark.rule("R-08")
@pytest.mark.rule("Z-05")
def test_a_folder_that_is_away_or_full_is_told_and_loses_nothing(
    world: World, tmp_path: Path
) -> None:
    worker = world.person("worker")
    there, file = stored(worker), announce(worker)
    folder = Path(world.settings.UPLOAD_DIR)

    def told() -> str:
        checks: dict[str, str] = world.call("GET", "/ready").json["checks"]
        return checks["uploads"]

    assert told() == "ok"
    aside = folder.rename(tmp_path / "aside")
    assert told() == "the folder is not there"
    file.put().refused(503, "uploads_unavailable")
    there.read(worker).refused(503, "uploads_unavailable")
    # Nobody concludes from it that the files are gone.
    clock.advance(3 * 86_400)
    sweeping.run(world.runtime.files)
    assert upload_sweep.status_of(there.key) == "stored"
    folder.write_text("no folder")
    assert told() == "the folder is not there"
    there.read(worker).refused(503, "uploads_unavailable")
    folder.unlink()
    aside.rename(folder)
    assert there.opens(worker)
    world.runtime.files = Folder(folder, 2**62)
    assert told() == "the disk is almost full"
    announce(worker).put().refused(503, "uploads_unavailable")
    assert there.opens(worker)
    # Deleted by hand it is gone, as for everybody else.
    (folder / there.key).unlink()
    there.read(worker).refused(404, "not_found")
