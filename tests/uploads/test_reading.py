"""Who reads a file: whoever put it, and whoever may read a part that names it, just now (R-08)."""

from __future__ import annotations

import pytest

from engine import clock, proofs
from engine.db import db
from engine.models.proof import Proof
from tests.contract.shares import Share, regenerate, token_of
from tests.shop import shop
from tests.uploads.files import TEXT, File, described, stored
from tests.world import Answer, Gig, Person, World


def take(gig: Gig, worker: Person) -> str:
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    task_id: str = task["id"]
    return task_id


def by_link(world: World, file: File, token: str, order: str = "") -> Answer:
    return world.call("GET", f"/public/upload?key={file.key}&token={token}{order}")


@pytest.mark.rule("R-08")
@pytest.mark.rule("R-06")
def test_a_proofs_files_open_with_the_parts_that_name_them(world: World) -> None:
    gig = world.gig()
    worker, other, stranger = world.worker(gig), world.worker(gig), world.person()
    world.task(gig)
    task_id = take(gig, worker)
    file, note, unnamed = stored(worker), stored(worker), stored(worker)
    body = {"task_identifier": task_id, "proofs": [f"see {file.url}."], "draft": True}
    proof = worker.post(f"{gig.path}/proofs", {**body, "private_note": note.url})["proof"]
    path = f"{gig.path}/proofs/{proof['id']}"
    # A draft is its worker's alone.
    assert not file.opens(gig.owner) and file.opens(worker)
    worker.post(f"{path}/submit")
    assert file.opens(gig.owner)
    for closed in (note, unnamed):
        assert not closed.opens(gig.owner)
    for one in (file, note):
        assert not one.opens(other) and not one.opens(stranger)
    gig.owner.patch(path, {"action": "approve"})
    assert not note.opens(gig.owner)
    # As the chain's own word brings it about.
    paid = Proof.update(paid_out_at=clock.now()).where(Proof.id == proof["id"])
    db.write(paid.execute)
    assert note.opens(gig.owner) and not note.opens(other)
    gone = Proof.update(paid_out_at=None).where(Proof.id == proof["id"])
    db.write(gone.execute)
    assert not note.opens(gig.owner)


@pytest.mark.rule("R-08")
def test_what_is_edited_or_taken_back_closes_and_what_is_named_anew_opens(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    world.task(gig)
    task_id = take(gig, worker)
    first, second = stored(worker), stored(worker)
    body = {"task_identifier": task_id, "proofs": [first.url]}
    proof = worker.post(f"{gig.path}/proofs", body)["proof"]
    path = f"{gig.path}/proofs/{proof['id']}"
    assert first.opens(gig.owner)
    worker.post(f"{path}/withdraw")
    assert not first.opens(gig.owner)
    worker.patch(f"{path}/draft", {"proofs": [second.url.replace("/", "\\/")]})
    worker.post(f"{path}/submit")
    assert second.opens(gig.owner) and not first.opens(gig.owner)


@pytest.mark.rule("R-08")
def test_nobody_opens_a_strangers_file_by_naming_it(world: World) -> None:
    gig = world.gig(default_comments_policy="public")
    worker, stranger = world.worker(gig), world.worker(gig)
    secret = stored(stranger)
    world.task(gig)
    proof = {"task_identifier": take(gig, worker), "proofs": [secret.url]}
    worker.post(f"{gig.path}/proofs", {**proof, "private_note": secret.url})
    task_id = world.task(gig, secret.url)
    path = f"{gig.path}/tasks/{task_id}"
    gig.owner.patch(f"{path}/private-details", {"private_details": secret.url})
    gig.owner.post(f"{path}/comments", {"body": secret.url})
    for person in (worker, gig.owner):
        assert not secret.opens(person)
    # An address of the same length that is none opens nothing, and neither does a path.
    for key in (secret.key[:-1] + "_", "..%2f..%2fmuster.db", "%00", "proofs_", secret.key + "/"):
        answer = worker.call("GET", f"/uploads/{key}")
        assert answer.status in (400, 404), answer.text


@pytest.mark.rule("R-08")
def test_a_tasks_files_open_for_whom_its_parts_are_shown(world: World) -> None:
    gig = world.gig()
    holder, other, stranger = world.worker(gig), world.worker(gig), world.person()
    body, details, draft = stored(gig.owner), stored(gig.owner), stored(gig.owner)
    task_id = world.task(gig, f'{{"photo": "{body.url}"}}')
    draft_id = world.task(gig, draft.url, draft="true")
    take(gig, holder)
    path = f"{gig.path}/tasks/{task_id}"
    gig.owner.patch(f"{path}/private-details", {"private_details": f"see {details.url}"})
    assert body.opens(holder) and body.opens(other) and not body.opens(stranger)
    assert details.opens(holder) and not details.opens(other)
    # Who has the share link of the holder's mailbox is shown the task, and nothing private.
    token = token_of(holder)
    assert by_link(world, body, token).text == TEXT.decode()
    by_link(world, details, token).refused(404)
    regenerate(gig, holder).ok()
    by_link(world, body, token).refused(404)
    gig.owner.patch(f"{path}/private-details", {"private_details": None})
    assert not details.opens(holder)
    assert not draft.opens(holder)
    gig.owner.post(f"{gig.path}/tasks/{draft_id}/publish")
    assert draft.opens(holder)
    # A worker whose place is closed reads nothing in the gig any more.
    change = {"status": "inactive"}
    gig.owner.patch(f"{gig.path}/mailboxes/{other.mailbox['id']}", change)  # type: ignore[attr-defined]
    assert not body.opens(other)


@pytest.mark.rule("R-08")
@pytest.mark.rule("S-01")
def test_each_holder_of_a_copy_reads_the_templates_files(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker, other = world.worker(gig), world.worker(gig)
    body, details = stored(gig.owner), stored(gig.owner)
    template = world.task(gig, body.url)
    path = f"{gig.path}/tasks/{template}/private-details"
    gig.owner.patch(path, {"private_details": details.url})
    take(gig, worker)
    assert body.opens(worker) and details.opens(worker)
    assert not details.opens(other)


@pytest.mark.rule("R-08")
@pytest.mark.rule("T-09")
def test_a_comments_file_opens_for_whom_it_is_for_until_it_is_deleted(world: World) -> None:
    gig = world.gig(default_comments_policy="private")
    holder, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    take(gig, holder)
    path = f"{gig.path}/tasks/{task_id}/comments"
    file = stored(holder, prefix="comments")
    said = holder.post(path, {"body": f"Like this? {file.url}"})["comment"]
    assert file.opens(gig.owner) and not file.opens(other)
    holder.call("DELETE", f"{path}/{said['id']}").ok()
    assert not file.opens(gig.owner) and file.opens(holder)


@pytest.mark.rule("R-08")
@pytest.mark.rule("R-07")
def test_what_comes_by_a_share_link_is_the_workers_and_opens_with_his_proof(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id, share = world.task(gig), Share.of(worker)
    given = {"share_token": share.token, **described()}
    made = world.call("POST", "/public/upload-presign", given).ok()
    file = File(world, made["key"], made["url"], made["presigned_url"], made["headers"])
    file.put().ok()
    assert file.opens(worker) and not file.opens(gig.owner)
    share.prove(task_id, proofs=[file.url]).ok()
    assert file.opens(gig.owner)
    # By the link that it came by too, also before it is named; by no other, and not without it.
    assert by_link(world, file, share.token).text == TEXT.decode()
    own = stored(worker)
    by_link(world, own, share.token).refused(404)
    by_link(world, file, token_of(world.worker(gig))).refused(404)
    regenerate(gig, worker).ok()
    by_link(world, file, share.token).refused(404)
    world.call("POST", "/public/upload-presign", {**given, "share_token": "SHARE_x"}).refused(404)


@pytest.mark.rule("R-08")
@pytest.mark.rule("O-04")
def test_an_orders_files_open_for_its_two_sides_and_by_its_public_link(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    brief, details, preview, note, talk = (
        stored(one) for one in (buyer, buyer, place.vendor, place.vendor, place.vendor)
    )
    task_id = place.draft(buyer, f"a haiku like {brief.url}")
    path = f"{place.path}/tasks/{task_id}"
    buyer.patch(f"{path}/private-details", {"private_details": details.url})
    assert not brief.opens(other) and not details.opens(other)
    for one in (brief, details):
        assert one.opens(place.vendor)
    shared = buyer.patch(f"{path}/comments-policy", {"policy": "public"})["public_token"]
    order = f"&gig={place.gig.id}&task={task_id}"
    assert by_link(world, brief, shared, order).text == TEXT.decode()
    by_link(world, details, shared, order).refused(404)
    by_link(world, brief, shared).refused(404)
    by_link(world, brief, shared, f"&gig={place.gig.id}").refused(400)
    place.publish(buyer, task_id).ok()
    place.vendor.post(f"{path}/comments", {"body": talk.url})
    assert talk.opens(buyer) and by_link(world, talk, shared, order).status == 200
    proof_id = place.deliver(task_id, note.url, proofs=[preview.url])
    assert preview.opens(buyer) and not preview.opens(other) and not note.opens(buyer)
    by_link(world, preview, shared, order).refused(404)
    place.rule(buyer, proof_id).ok()
    assert note.opens(buyer) and not note.opens(other)
    buyer.patch(f"{path}/comments-policy", {"policy": "private"})
    by_link(world, brief, shared, order).refused(404)


@pytest.mark.rule("R-08")
def test_a_deleted_draft_order_closes_its_files(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    brief = stored(buyer)
    task_id = place.draft(buyer, brief.url)
    assert brief.opens(place.vendor)
    buyer.call("DELETE", f"{place.path}/tasks/{task_id}/draft").ok()
    assert not brief.opens(place.vendor) and brief.opens(buyer)


@pytest.mark.rule("R-08")
@pytest.mark.rule("R-04")
def test_the_files_of_a_verdicts_words_open_with_them_and_open_no_note(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    take(gig, worker)
    note, sketch, again = stored(worker), stored(gig.owner), stored(gig.owner)
    body = {"task_identifier": task_id, "proofs": ["a wren"], "private_note": note.url}
    proof_id = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    path = f"{gig.path}/proofs/{proof_id}"
    said = f"Not like {note.url}, but like {sketch.url}"
    gig.owner.patch(path, {"action": "reject", "feedback": said, "requeue": False})
    # Whoever has seen the address of a note's file does not open it by writing it down himself.
    assert not note.opens(gig.owner)
    assert sketch.opens(worker) and not sketch.opens(other)
    # The page of his link tells him why it was rejected.
    assert by_link(world, sketch, token_of(worker)).text == TEXT.decode()
    by_link(world, sketch, token_of(other)).refused(404)
    gig.owner.patch(path, {"action": "reject", "feedback": f"Like this: {again.url}"})
    assert again.opens(worker) and not sketch.opens(worker)


@pytest.mark.rule("R-08")
@pytest.mark.rule("R-05")
def test_the_file_of_a_report_opens_for_the_worker(world: World) -> None:
    gig = world.gig(review_timeout=3600)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    take(gig, worker)
    body = {"task_identifier": task_id, "proofs": ["a wren"]}
    proof_id = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    clock.advance(3601)
    proofs.time_out()
    file = stored(gig.owner)
    gig.owner.post(f"{gig.path}/proofs/{proof_id}/report", {"reason": f"It is this: {file.url}"})
    assert file.opens(worker) and not file.opens(other)


JSON = {"accept": "application/json"}


@pytest.mark.rule("R-08")
def test_whoever_may_read_a_file_is_told_where_it_is_fetched_for_a_minute_without_a_key(
    world: World,
) -> None:
    gig = world.gig()
    worker, stranger = world.worker(gig), world.person()
    file, other = stored(gig.owner, filename="a wren.txt"), stored(gig.owner)
    world.task(gig, file.url)
    path = f"/uploads/{file.key}"
    stranger.call("GET", path, headers=JSON).refused(404)
    told = worker.call("GET", path, headers=JSON).ok()
    assert (told["filename"], told["bytes"]) == ("a wren.txt", len(TEXT))
    address = told["url"].partition("/api")[2]
    answer = world.call("GET", address)
    assert answer.text == TEXT.decode()
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    # A client that takes anything is given the file.
    for anything in ("*/*", "application/json, text/plain, */*"):
        given = worker.call("GET", path, headers={"accept": anything})
        assert given.text == TEXT.decode()
    until = address.partition("until=")[2].partition("&")[0]
    for wrong in (
        address.replace(file.key, other.key),
        address.replace(until, str(int(until) + 1)),
        address[:-1],
        f"{path}/file?until={until}&signature={file.put_path.rpartition('=')[2]}",
    ):
        world.call("GET", wrong).refused(403, "wrong_signature")
    # What lets fetch a file lets nobody put one.
    signature = address.rpartition("=")[2]
    put = f"{path}?signature={signature}"
    world.call("PUT", put, raw=TEXT, headers=file.headers).refused(403, "wrong_signature")
    clock.advance(60)
    world.call("GET", address).refused(403, "upload_expired")
    by_token = f"/public/upload?key={file.key}&token={token_of(worker)}"
    shared = world.call("GET", by_token, headers=JSON).ok()["url"].partition("/api")[2]
    assert world.call("GET", shared).text == TEXT.decode()


@pytest.mark.rule("R-08")
@pytest.mark.rule("I-03")
def test_a_key_that_completes_what_is_routed_puts_files_and_reads_none(world: World) -> None:
    worker = world.person("worker")

    def with_scope(scope: str) -> dict[str, str]:
        made = worker.post("/auth/keys", {"label": scope, "scopes": [scope]})
        return {"x-api-key": made["key"]}

    updates, reads = with_scope("tasks:update"), with_scope("tasks:read")
    made = world.call("POST", "/upload/presign", described(), headers=updates).ok()
    world.call("POST", "/upload/presign", described(), headers=reads).refused(403)
    file = File(world, made["key"], made["url"], made["presigned_url"], made["headers"])
    file.put().ok()
    world.call("GET", f"/uploads/{file.key}", headers=updates).refused(403)
    assert file.opens(worker)
