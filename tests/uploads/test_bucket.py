"""Uploads in a bucket, of stores that are not ours (R-08).

One checks every signature, the other is one that refuses to write a key twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from engine import clock, settings, upload_sweep
from engine.db import db
from engine.errors import SettingsError
from engine.models.upload import Upload
from jobs import file_stores
from jobs import upload_sweep as sweeping
from tests.process import free_ports
from tests.uploads.files import TEXT, File, announce, described
from tests.world import Answer, World, eventually

KEY, SECRET = "the-key-of-the-tests", "the-secret-of-the-tests"


@contextmanager
def running(command: Callable[[int], list[str]], folder: Path) -> Iterator[str]:
    """A store in a process of its own; its address once it answers."""
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "NANIO_ACCESS_KEY": KEY, "NANIO_SECRET_KEY": SECRET}
    with (folder / "store.log").open("wb") as log:
        store = subprocess.Popen(command(port), env=environment, stdout=log, stderr=log)

    def answers() -> bool:
        with suppress(requests.ConnectionError):
            return requests.get(url, timeout=5).status_code > 0
        return False

    try:
        eventually(answers, 60, url)
        yield url
    finally:
        store.kill()
        store.wait()


@pytest.fixture(params=["signatures", "once"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """(what this store checks, its address); the bucket `files` is there."""
    data, programs = tmp_path / "data", Path(sys.executable).parent
    (data / "files").mkdir(parents=True)

    def command(port: int) -> list[str]:
        if request.param == "once":
            return [str(programs / "localbucket"), "--port", str(port), str(data)]
        where = ["--host", "127.0.0.1", "--port", str(port), "--data-dir", str(data)]
        return [str(programs / "nanio"), "serve", *where]

    with running(command, tmp_path) as url:
        yield request.param, url


@pytest.fixture
def kept(sqlite: Any, bucket: tuple[str, str]) -> Iterator[World]:
    url = sqlite.fresh()
    world = World(url, "memory://", **of_bucket(bucket[1]))
    yield world
    world.stop()
    sqlite.drop(url)


def of_bucket(endpoint: str) -> dict[str, str]:
    return {
        "UPLOAD_S3_BUCKET": "files",
        "UPLOAD_S3_ENDPOINT": endpoint,
        "UPLOAD_S3_KEY": KEY,
        "UPLOAD_S3_SECRET": SECRET,
    }


def put(file: File, data: bytes = TEXT, **headers: str) -> int:
    sent = {**file.headers, **headers}
    return requests.put(file.presigned_url, data=data, headers=sent, timeout=20).status_code


def fetched(answer: Answer) -> requests.Response:
    assert answer.status == 302 and answer.headers["cache-control"] == "private, no-store"
    return requests.get(answer.headers["location"], timeout=20)


@pytest.mark.rule("R-08")
def test_a_file_goes_into_the_bucket_and_is_fetched_from_there(
    kept: World, bucket: tuple[str, str]
) -> None:
    gig = kept.gig()
    worker, other = kept.worker(gig), kept.worker(gig)
    kept.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    file, empty = announce(worker, filename="wren ü.txt"), announce(worker)
    signed = parse_qs(urlsplit(file.presigned_url).query)["X-Amz-SignedHeaders"]
    assert signed == ["content-length;content-type;host;if-none-match"]
    file.read(worker).refused(404)
    if bucket[0] == "signatures":
        assert put(file, **{"content-type": "text/html"}) == 403
        assert put(file, TEXT + b"!") == 403
        another = file.presigned_url.replace(file.key, empty.key)
        assert requests.put(another, data=TEXT, headers=file.headers, timeout=20).status_code == 403
    assert put(file) == 200
    if bucket[0] == "once":
        assert put(file, b"x" * len(TEXT)) == 412
    body = {"task_identifier": task["id"], "proofs": [file.url]}
    worker.post(f"{gig.path}/proofs", body)
    got = fetched(file.read(gig.owner))
    assert got.content == TEXT
    if bucket[0] == "once":
        # The other store does not do what it is asked for here.
        assert got.headers["content-type"] == "application/octet-stream"
        assert got.headers["content-disposition"].endswith("UTF-8''wren%20%C3%BC.txt")
    told = gig.owner.call("GET", f"/uploads/{file.key}", headers={"accept": "application/json"})
    assert requests.get(told.ok()["url"], timeout=20).content == TEXT
    assert told.json["filename"] == "wren ü.txt"
    file.read(other).refused(404)
    if bucket[0] == "signatures":
        plain = file.read(worker).headers["location"].partition("?")[0]
        assert requests.get(plain, timeout=20).status_code == 403
    assert kept.call("PUT", f"/uploads/{file.key}?signature=x", raw=TEXT).status in (403, 404)


@pytest.mark.rule("R-08")
def test_the_bucket_is_swept(kept: World) -> None:
    worker = kept.person("worker")
    there, never = announce(worker), announce(worker)
    assert put(there) == 200
    # Its row is told what the bucket has, by the sweep as by a reader.
    clock.advance(upload_sweep.LATE_SECONDS + 901)
    sweeping.run(kept.runtime.files)
    assert [upload_sweep.status_of(one.key) for one in (there, never)] == ["stored", None]
    link = there.read(worker).headers["location"]
    clock.advance(86_400)
    sweeping.run(kept.runtime.files)
    assert upload_sweep.status_of(there.key) is None
    assert requests.get(link, timeout=20).status_code == 404


@pytest.mark.rule("R-08")
def test_a_bucket_that_does_not_answer_loses_nothing(sqlite: Any) -> None:
    (port,) = free_ports(1)
    url = sqlite.fresh()
    world = World(url, "memory://", **of_bucket(f"http://127.0.0.1:{port}"))
    try:
        worker = world.person("worker")
        file = announce(worker)
        file.read(worker).refused(503, "uploads_unavailable")
        stored = Upload.update(status="stored").where(Upload.id == file.key)
        db.write(stored.execute)
        clock.advance(2 * 86_400)
        sweeping.run(world.runtime.files)
        # Its bytes may be there still, so its row is, until they are known to be gone.
        assert upload_sweep.status_of(file.key) == "removing"
        worker.post("/upload/presign", described())
    finally:
        world.stop()
        sqlite.drop(url)


@pytest.mark.rule("Z-05")
def test_a_bucket_without_its_key_stops_the_start_with_a_sentence() -> None:
    given = {**of_bucket("http://127.0.0.1:1"), "UPLOAD_S3_SECRET": ""}
    with pytest.raises(SettingsError, match="MUSTER_UPLOAD_S3_SECRET beside it"):
        file_stores.make(settings.load({}, given))
