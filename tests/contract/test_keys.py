"""Who may call what: keys, roles and tokens (H-02, G-04)."""

from __future__ import annotations

import pytest

from engine.db import db
from engine.models.access import Counter
from engine.models.account import ApiKey
from tests.contract.scene import Scene, all_hold, everything, routes
from tests.world import ADMIN_KEY, Person, World

CALLERS = ("nobody", "bad key", "stranger", "worker elsewhere", "worker", "owner")
# Every route, in the order of the calls: the status for each caller, in the order above. In this
# install there is no chain, so what needs one answers 503 to whoever may ask for it.
AUTHORITY = {
    "install.health": "200 200 200 200 200 200",
    "install.ready": "503 503 503 503 503 503",
    "install.list_modes": "200 200 200 200 200 200",
    "install.provision": "401 401 401 401 401 401",
    "access.send_code": "200 200 200 200 200 200",
    "access.verify_code": "403 403 403 403 403 403",
    "access.me": "401 401 200 200 200 200",
    "access.change_me": "401 401 200 200 200 200",
    "access.list_keys": "401 401 200 200 200 200",
    "access.create_key": "401 401 201 201 201 201",
    "access.revoke_key": "401 401 404 404 404 200",
    "gigs.browse": "410 410 410 410 410 410",
    "gigs.mine": "401 401 200 200 200 200",
    "mailboxes.mine": "401 401 200 200 200 200",
    "gigs.create": "401 401 201 201 201 201",
    # By invite: nobody is told that it exists, and an account that it is not joined.
    "gigs.read": "404 401 403 403 200 200",
    "gigs.update": "401 401 403 403 403 200",
    "mailboxes.of_gig": "401 401 403 403 403 200",
    "mailboxes.update": "401 401 403 403 200 200",
    # Somebody else's mailbox is hidden, from its gig's owner too.
    "mailboxes.inbound": "401 401 404 404 200 404",
    "mailboxes.available": "401 401 200 200 200 200",
    "dashboard.read": "401 401 403 403 403 200",
    "gigs.list_events": "401 401 403 403 200 200",
    "invites.listed": "401 401 403 403 403 200",
    "invites.add": "401 401 403 403 403 201",
    # Without an invite; the worker is in already.
    "mailboxes.join": "401 401 403 403 200 403",
    # The token in the query is all that it takes.
    "inbound.submit": "200 200 200 200 200 200",
    # This install takes no mail.
    "inbound_email.take": "503 503 503 503 503 503",
    "drafts.list_drafts": "401 401 403 403 403 200",
    "drafts.change": "401 401 403 403 403 200",
    "drafts.rewrite": "401 401 403 403 403 200",
    "drafts.publish": "401 401 403 403 403 200",
    # Only an order is quoted.
    "order_quotes.quote": "401 401 403 403 403 409",
    # By then it is published.
    "drafts.delete": "401 401 403 403 403 409",
    # Without a body it is no file of either kind.
    "bulk.send": "401 401 403 403 403 415",
    "exports.as_csv": "401 401 403 403 403 200",
    "exports.as_json_lines": "401 401 403 403 403 200",
    "queues.queue": "401 401 403 403 200 200",
    "tasks.read": "401 401 403 403 200 200",
    "tasks.give_alias": "401 401 403 403 200 200",
    "tasks.reserved": "401 401 403 403 200 200",
    "comments.list_comments": "401 401 403 403 200 200",
    "comments.post": "401 401 403 403 201 201",
    # The worker's own, which the owner reads; again changes nothing.
    "comments.delete": "401 401 403 403 200 200",
    "comments.set_policy": "401 401 403 403 403 200",
    "changes.priority": "401 401 403 403 403 200",
    "changes.price": "401 401 403 403 403 200",
    "changes.tags": "401 401 403 403 403 200",
    "changes.private_details": "401 401 403 403 403 200",
    "changes.change_availability": "401 401 403 403 403 200",
    "changes.priorities": "401 401 403 403 403 200",
    "changes.prices": "401 401 403 403 403 200",
    "changes.tags_of_many": "401 401 403 403 403 200",
    "holding.decline": "401 401 403 403 200 403",
    "holding.report": "401 401 403 403 200 403",
    # Whoever has the link of a mailbox acts as its worker, who has passed on it by now.
    "public.decline": "200 200 200 200 200 200",
    "public.report": "200 200 200 200 200 200",
    # Nobody holds it.
    "holding.heartbeat": "401 401 403 403 409 403",
    # He has passed on it by now.
    # A queue has no verbs of its own.
    "verbs.use": "401 401 404 404 404 404",
    # He has passed on it by now.
    "offers.accept": "401 401 403 403 410 403",
    "offers.reject": "401 401 403 403 200 403",
    "holding.extend": "401 401 403 403 403 409",
    "holding.recycle": "401 401 403 403 403 409",
    "queues.poll": "401 401 403 403 200 403",
    "claim_links.claim": "401 401 403 403 200 403",
    "proofs.hand_in": "401 401 403 403 201 403",
    "proofs.edit": "401 401 403 403 200 403",
    "proofs.submit": "401 401 403 403 200 403",
    # By then it is handed in.
    "proofs.delete": "401 401 403 403 409 403",
    "public.submit_proof": "409 409 409 409 409 409",
    "reviews.list_proofs": "401 401 403 403 200 200",
    "reviews.read_proof": "401 401 403 403 200 200",
    "reviews.change_tags": "401 401 403 403 200 200",
    "reviews.give_alias": "401 401 403 403 200 200",
    "reviews.review": "401 401 403 403 403 200",
    "reviews.bulk_review": "401 401 403 403 403 200",
    # There is a verdict by now.
    "proofs.withdraw": "401 401 403 403 409 403",
    # The clock did not approve it.
    "reviews.report": "401 401 403 403 403 409",
    # They are kept.
    "reviews.delete_all": "401 401 403 403 403 409",
    "wallets.create": "401 401 201 201 201 201",
    "wallets.mine": "401 401 200 200 200 200",
    "wallets.balances": "401 401 404 404 404 503",
    # The owner's is a hot one, which is proven already.
    "wallets.challenge": "401 401 404 404 404 409",
    "wallets.verify": "401 401 404 404 404 409",
    "wallets.transfer": "401 401 404 404 404 503",
    "wallets.claim": "401 401 404 404 404 503",
    "wallets.delete": "401 401 404 404 404 503",
    "funds.deposit": "401 401 403 403 403 503",
    "funds.settle": "401 401 403 403 403 503",
    "funds.list_rollups": "401 401 403 403 200 200",
    "funds.my_rollups": "401 401 200 200 200 200",
    "order_undoing.withdraw": "401 401 403 403 403 409",
    # Whoever has the admin key rules; here it is never named.
    "order_undoing.resolve": "401 401 401 401 401 401",
    "purchases.list_orders": "401 401 200 200 200 200",
    "purchases.list_deposits": "401 401 403 403 403 409",
    "funds.command_state": "401 401 404 404 404 404",
    "deliveries.list_deliveries": "401 401 200 200 200 200",
    "deliveries.redeliver": "401 401 404 404 404 200",
    "deliveries.replay": "401 401 404 404 404 200",
    "deliveries.list_endpoints": "401 401 200 200 200 200",
    "deliveries.enable": "401 401 404 404 404 200",
    "deliveries.rotate_of_gig": "401 401 403 403 403 200",
    "deliveries.rotate_of_mailbox": "401 401 403 403 200 403",
    "notifications.list_notifications": "401 401 200 200 200 200",
    "notifications.summary": "401 401 200 200 200 200",
    "notifications.see": "401 401 200 200 200 200",
    "planning.schedule": "401 401 200 200 200 200",
    "planning.change_schedule": "401 401 200 200 200 200",
    "planning.assignees": "401 401 200 200 200 200",
    "desk_incoming.listed": "401 401 200 200 200 200",
    # Without the headers that these need.
    "desk_incoming.plan": "401 401 428 428 428 428",
    "desk_incoming.start": "401 401 428 428 428 428",
    "desk_incoming.complete": "401 401 428 428 428 428",
    "desk_incoming.reassign": "401 401 428 428 428 428",
    "reputation.list_events": "200 200 200 200 200 200",
    # So is the token of the link.
    "public.invite_info": "200 200 200 200 200 200",
    "public.mailbox_info": "200 200 200 200 200 200",
    "public.task": "200 200 200 200 200 200",
    "public.order": "200 200 200 200 200 200",
    "uploads.presign": "401 401 201 201 201 201",
    "uploads.presign_by_link": "201 201 201 201 201 201",
    # It is put, for good.
    "uploads.put": "409 409 409 409 409 409",
    "uploads.read": "401 401 404 404 200 200",
    # So is the signature of the address.
    "uploads.fetch": "200 200 200 200 200 200",
    "uploads.read_by_link": "200 200 200 200 200 200",
    # From here on that token is dead.
    "share_links.regenerate": "401 401 403 403 200 403",
    "dev.advance": "200 200 200 200 200 200",
    "dev.faucet": "503 503 503 503 503 503",
    "dev.mine": "503 503 503 503 503 503",
    "changes.assign": "401 401 403 403 403 200",
    # The worker holds it by now.
    "changes.delete": "401 401 403 403 403 409",
    "changes.delete_one": "401 401 403 403 403 409",
    "changes.delete_queued": "401 401 403 403 403 200",
    "changes.delete_inbound": "401 401 403 403 403 200",
    # He leaves, and is a member still.
    "mailboxes.leave": "401 401 403 403 200 403",
    "gigs.rotate_token": "401 401 403 403 403 200",
    "invites.revoke": "401 401 403 403 403 200",
    "gigs.close": "401 401 403 403 403 200",
    # Without a chain there is nothing to give back.
    "gigs.cancel": "401 401 403 403 403 200",
    # The key that was used is no more.
    "access.rotate_key": "401 401 200 200 200 200",
}


@pytest.mark.rule("H-02")
@pytest.mark.rule("H-05")
def test_every_route_answers_every_kind_of_caller_as_it_should(world: World) -> None:
    scene = Scene.of(world)
    known = {route.endpoint: route for route in routes(world.app)}
    assert set(known) == set(AUTHORITY), "say here who may call a new route"
    keys = [
        None,
        "mk_wrong",
        scene.stranger.key,
        scene.other.key,
        scene.worker.key,
        scene.owner.key,
    ]

    def answers(endpoint: str) -> None:
        route = known[endpoint]
        told = []
        # How often a token or an address may ask is for others to say.
        db.write(lambda: Counter.delete().execute())
        for key in keys:
            headers = {} if key is None else {"x-api-key": key}
            body = None if route.takes_payload else scene.body(route)
            told.append(world.call(route.method, scene.path(route), body, headers=headers).status)
        wanted = [int(status) for status in AUTHORITY[endpoint].split()]
        assert dict(zip(CALLERS, told, strict=True)) == dict(zip(CALLERS, wanted, strict=True))

    all_hold(AUTHORITY, answers)


@pytest.mark.rule("H-02")
def test_without_a_good_key_nothing_of_the_request_is_read(world: World) -> None:
    """401 comes before what is wrong with the body, the query or the id."""
    keyed = {name for name, told in AUTHORITY.items() if told.startswith("401 401")}
    scene = Scene.of(world)
    before = everything()
    for route in routes(world.app):
        if route.endpoint in keyed:
            for key in ({}, {"x-api-key": "wrong"}):
                path = f"{scene.path(route, gig_id='none')}?nonsense=1"
                headers = {**key, "content-type": "text/plain"}
                answer = world.call(route.method, path, raw=b"{", headers=headers)
                answer.refused(401)
                assert answer.headers["www-authenticate"]
    assert everything() == before


@pytest.mark.rule("H-02")
def test_a_key_is_taken_in_either_header_and_in_no_other_way(world: World) -> None:
    person = world.person()
    key = person.key

    def status(headers: dict[str, str], path: str = "/auth/me") -> int:
        return world.call("GET", path, headers=headers).status

    for good in (
        {"x-api-key": key},
        {"X-API-KEY": key},
        {"authorization": f"Bearer {key}"},
        {"Authorization": f"bearer {key}"},
        {"AUTHORIZATION": f"BEARER   {key} "},
        {"x-api-key": key, "authorization": "Bearer wrong"},
    ):
        assert status(good) == 200, good
    for bad in (
        {"x-api-key": ""},
        {"x-api-key": " "},
        {"x-api-key": key.upper()},
        {"x-api-key": key[:-1]},
        {"x-api-key": f"{key},{key}"},
        {"x-api-key": f"{key} x"},
        {"x-api-key": f"Bearer {key}"},
        {"x-api-key": key.replace("mk_", "")},
        {"x-api-key": "x" * 100_000},
        {"x-api-key": "\xe9\xff"},
        {"x-api-key": "' OR 1=1 --"},
        {"x-api-key": "wrong", "authorization": f"Bearer {key}"},
        {"authorization": key},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {key}"},
        {"authorization": f"Token {key}"},
        {"authorization": "\xff" * 50},
        {"x-apikey": key},
        {"cookie": f"x-api-key={key}"},
        {"x-admin-key": ADMIN_KEY},
    ):
        assert status(bad) == 401, bad
    assert status({}, f"/auth/me?x-api-key={key}") == 401
    assert status({}, f"/auth/me?api_key={key}") == 401


@pytest.mark.rule("H-02")
def test_a_key_that_is_revoked_expired_or_of_other_scopes_opens_nothing(world: World) -> None:
    person = world.person()
    undone = {"revoked_at": None, "expires_at": None, "scopes": ["all"]}
    states = ({"revoked_at": 1}, {"expires_at": 1}, {"scopes": ["tasks:read"]}, {"scopes": []})
    for change, status in zip(states, (401, 401, 403, 403), strict=True):
        db.write(lambda one=change: ApiKey.update(**one).execute())
        person.call("GET", "/auth/me").refused(status)
        person.call("POST", "/gigs", {"title": "A gig"}).refused(status)
        db.write(lambda: ApiKey.update(**undone).execute())
        person.get("/auth/me")


@pytest.mark.rule("H-14")
def test_only_the_admin_key_makes_accounts(world: World) -> None:
    owner = world.person()
    before = everything()
    path, body = "/admin/users/provision", {"email": "new@example.com"}
    for key in ("", "wrong", ADMIN_KEY.upper(), f"{ADMIN_KEY} x", "\xe9", owner.key, "x" * 10_000):
        world.call("POST", path, body, headers={"x-admin-key": key}).refused(403, "wrong_admin_key")
    owner.call("POST", path, body).refused(401, "no_admin_key")
    owner.call("POST", path, {"nonsense": 1}).refused(401, "no_admin_key")
    assert everything() == before
    admin = {"x-admin-key": ADMIN_KEY}
    made = world.call("POST", path, body, headers=admin)
    assert (made.status, made.json["created"]) == (201, True)
    again = world.call("POST", path, {"email": "NEW@example.com"}, headers=admin)
    assert (again.status, again.json["created"]) == (200, False)
    assert again.json["user_id"] == made.json["user_id"] and "api_key" not in again.json
    more = world.call("POST", path, {**body, "new_key": True}, headers=admin)
    assert more.json["api_key"] != made.json["api_key"]
    for key in (more.json["api_key"], made.json["api_key"]):
        assert world.call("GET", "/auth/me", headers={"x-api-key": key}).status == 200


@pytest.mark.rule("G-04")
@pytest.mark.rule("T-01")
def test_a_task_is_taken_in_with_the_gigs_own_token_only(world: World) -> None:
    gig, other = world.gig(), world.gig()
    before = everything()
    for query, status in (
        ("", 400),
        ("?token=", 400),
        (f"?Token={gig.token}", 400),
        (f"?token={gig.token}&token={gig.token}", 400),
        (f"?token={'x' * 101}", 400),
        ("?token=wrong", 403),
        ("?token=%C3%A9", 403),
        (f"?token={other.token}", 403),
        (f"?token={gig.token.swapcase()}", 403),
        (f"?token={gig.token}%20", 403),
        (f"?token={gig.token[:-1]}", 403),
        (f"?token={gig.invite}", 403),
    ):
        for person in (gig.owner, None):
            headers = {"x-api-key": person.key} if person else {}
            path = f"/inbound/webhook/{gig.id}{query}"
            told = world.call("POST", path, raw=b"x", headers=headers).refused(status)
            assert status == 403 or "token" in told["error"].lower(), query
    assert everything() == before
    rotated = gig.owner.post(f"{gig.path}/rotate-token")["gig"]["webhook"].rpartition("=")[2]
    assert len(rotated) == 24 and rotated != gig.token
    world.send(gig).refused(403, "wrong_token")
    gig.token = rotated
    world.send(gig).ok()


@pytest.mark.rule("G-02")
@pytest.mark.rule("M-02")
def test_what_is_for_one_role_is_in_no_answer_to_another(world: World) -> None:
    gig = world.gig(join_policy="open", notes="the owner's notes", owner_wallet="0x" + "1" * 40)
    told = {"tags": ["the worker's tag"], "events_webhook_url": "http://127.0.0.1/w"}
    worker = world.worker(gig, **told)
    colleague = world.worker(gig)

    def texts(person: Person | None, paths: list[str]) -> str:
        headers = {"x-api-key": person.key} if person else {}
        return "".join(world.call("GET", path, headers=headers).text for path in paths)

    world.task(gig, external_id="the owner's id")
    everywhere = [
        gig.path,
        *(f"{gig.path}/{n}" for n in ("mailboxes", "queue", "proofs", "events")),
    ]
    owners = texts(gig.owner, everywhere)
    assert gig.token in owners and "the owner's notes" in owners and "the owner's id" in owners
    assert "the worker's tag" not in owners and "http://127.0.0.1/w" not in owners
    for person in (worker, colleague, world.person(), None):
        read = texts(person, everywhere)
        for hidden in (gig.token, "the owner's notes", "the owner's id", "0x1111"):
            assert hidden not in read
        assert gig.secret not in read
    assert worker.mailbox["id"] not in texts(colleague, everywhere)  # type: ignore[attr-defined]
