"""Files are announced, and put once (R-08)."""

from __future__ import annotations

import pytest

from tests.uploads.files import TEXT, announce, stored
from tests.world import World


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


@pytest.mark.rule("R-08")
def test_a_proofs_file_is_read_by_whoever_reads_the_proof(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    file, note = stored(worker), stored(worker)
    assert not file.opens(gig.owner)
    body = {"task_identifier": task["id"], "proofs": [file.url], "private_note": note.url}
    worker.post(f"{gig.path}/proofs", body)
    assert file.opens(gig.owner) and not file.opens(other)
    assert not note.opens(gig.owner)
    file.read(None).refused(401)
