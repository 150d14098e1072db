"""Files beside a proof, in a real browser (R-08)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.chromium import Tab
from tests.pages.visiting import share_path, visit
from tests.processes import SQLITE, Stack, Starter
from tests.world import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def site(start_stack: Starter, tmp_path: Path) -> Stack:
    return start_stack(SQLITE, UPLOAD_DIR=str(tmp_path / "files"), UPLOAD_MAX_BYTES="2000000")


def choose(tab: Tab, into: str, *files: Path) -> None:
    """As somebody does who picks files in the dialogue of his system."""
    found = tab.ask("Runtime.evaluate", expression=f"document.getElementById('{into}-files')")
    names = [str(one) for one in files]
    tab.ask("DOM.setFileInputFiles", files=names, objectId=found["result"]["objectId"])


@pytest.mark.rule("R-07")
@pytest.mark.rule("R-08")
def test_files_are_put_beside_a_proof_and_handed_in_with_it(
    site: Stack, tab: Tab, tmp_path: Path
) -> None:
    gig = site.gig()
    worker = site.worker(gig)
    task_id = site.task(gig, "name the bird")
    tab.size(390, 844, mobile=True)
    visit(tab, site, f"{share_path(worker)}?task={task_id}", None, "Add files to your proof")
    wren, note, big = tmp_path / "a wren.txt", tmp_path / "note.bin", tmp_path / "big.bin"
    wren.write_text("a wren")
    note.write_bytes(bytes(1_500_000))
    big.write_bytes(bytes(2_000_001))
    tab.type("proofs", "A wren.")
    choose(tab, "proofs", big)
    tab.wait("big.bin: content_length: a file has 1 to 2000000 bytes")
    choose(tab, "proofs", wren)
    tab.wait("It is there.")
    choose(tab, "note", note)
    eventually(lambda: "/api/uploads/" in tab.run("document.getElementById('note').value"))
    tab.picture(tmp_path / "files-390.png")
    tab.size(1280, 900)
    tab.picture(tmp_path / "files-1280.png")
    tab.press("Hand in")
    tab.wait("Your proof is handed in.")
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    words, address = proof["proofs"]
    assert words == "A wren." and proof["private_note_locked"]
    assert gig.owner.call("GET", address.partition("/api")[2]).text == "a wren"


@pytest.mark.rule("R-08")
def test_the_file_of_a_task_is_fetched_from_its_page(site: Stack, tab: Tab, tmp_path: Path) -> None:
    gig = site.gig()
    worker = site.worker(gig)
    told = {"filename": "bird ü.txt", "content_type": "text/plain", "content_length": 4}
    made = gig.owner.post("/upload/presign", told)
    path = made["presigned_url"].partition("/api")[2]
    site.call("PUT", path, raw=b"bird", headers=made["headers"]).ok()
    here = f"http://127.0.0.1:{site.serves[0].port}/api/uploads/{made['key']}"
    task_id = site.task(gig, f"name this: {here}")
    folder = tmp_path / "downloads"
    tab.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    shared = f"{share_path(worker)}?task={task_id}"
    for page, who in ((shared, None), (f"/task/{gig.id}/{task_id}", worker)):
        visit(tab, site, page, who, "name this:")
        tab.run("document.querySelector('pre a').click()")
        found = folder / "bird ü.txt"
        eventually(found.exists)
        assert eventually(found.read_text) == "bird"
        found.unlink()
