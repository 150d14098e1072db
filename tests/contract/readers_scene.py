"""A gig in which everything has happened, the people in it, and the secrets of each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.db import db
from engine.models.proof import Proof
from jobs import actors
from tests.uploads.files import stored
from tests.world import Gig, Person, World, eventually

# Nothing listens there, and nothing is sent.
HIDDEN = "http://127.0.0.1:9/hidden-"
READERS = ("owner", "holder", "member", "stranger", "link", "nobody")


@dataclass
class Cast:
    """`holder` has tasks and proofs in the gig, `member` only a place, `stranger` only a key.

    `secrets` are texts that stand nowhere else, with the readers who may read them.
    """

    world: World
    people: dict[str, Person] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    # Keys of uploads, by what names them.
    files: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    proofs: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, tuple[str, set[str]]] = field(default_factory=dict)

    def secret(self, name: str, text: str, *readers: str) -> str:
        """A text that only these readers may ever be shown."""
        self.secrets[name] = (text, set(readers))
        return text

    def headers(self, reader: str) -> dict[str, str]:
        person = self.people.get(reader)
        return {} if person is None else {"x-api-key": person.key}


def of(world: World) -> Cast:
    """All of it, by calls of the API; the install has a chain and its workers run."""
    cast = Cast(world)
    gig = _gig(cast)
    _people(cast, gig)
    _planned(cast)
    _tasks(cast, gig)
    _proofs(cast, gig)
    _comments(cast, gig)
    _copies(cast)
    _files(cast, gig)
    for name in ("owner", "holder"):
        eventually(lambda person=cast.people[name]: _tried(person), what="a delivery is tried")
    return cast


def _tried(person: Person) -> bool:
    return any(one["attempts"] for one in person.get("/deliveries")["deliveries"])


def _files(cast: Cast, gig: Gig) -> None:
    """One that nothing names, one of a task that waits, and one of what the holder says of his."""
    owner, holder = cast.people["owner"], cast.people["holder"]
    unnamed, of_task, said = stored(holder), stored(owner), stored(holder)
    cast.world.task(gig, of_task.url)
    path = f"{gig.path}/tasks/{cast.tasks['in hand']}/comments"
    holder.post(path, {"body": said.url, "private": True})
    cast.files = {"unnamed": unnamed.key, "of a task": of_task.key, "of a comment": said.key}


def _gig(cast: Cast) -> Gig:
    world, secret = cast.world, cast.secret
    owner = cast.people["owner"] = world.person("the-owner")
    cast.people["stranger"] = world.person("the-stranger")
    owner.patch("/auth/me", {"display_name": "Ada"})
    wallet = owner.post(
        "/wallets", {"label": secret("a wallet's label", "label-of-the-owner", "owner")}
    )
    gig = world.gig(
        owner,
        terms="Be kind.",
        notes=secret("the gig's notes", "notes of the gig", "owner"),
        tags=["birds"],
        location="Here",
        owner_wallet=secret("owner's wallet", wallet["wallet"]["evm_address"], "owner"),
        webhook_max_price="400.01",
        webhook_daily_spend="9000.02",
        proof_webhook_url=secret("gig's proof webhook", f"{HIDDEN}gig-proofs", "owner"),
        join_webhook_url=secret("gig's join webhook", f"{HIDDEN}gig-joins", "owner"),
        review_timeout=-1,
        allow_price_offers=True,
    )
    world.fund(gig, "50")
    secret("the webhook's token", gig.token, "owner")
    secret("the gig's webhook secret", gig.secret)
    # Whoever joined with it knows it.
    secret("the invite", gig.invite, "owner", "holder", "member")
    bound = {"email": "bound@example.com", "label": "For one"}
    invite = owner.post(f"{gig.path}/invites", bound)["invite"]
    secret("an invite that is bound", invite["token"], "owner")
    secret("whom an invite is bound to", "bound@example.com", "owner")
    cast.ids |= {
        "gig_id": gig.id,
        "wallet_id": wallet["wallet"]["id"],
        "endpoint_id": owner.get("/deliveries/endpoints")["endpoints"][0]["id"],
        "token": gig.invite,
        "key_id": owner.get("/auth/keys")["keys"][0]["id"],
        "command_id": _command_of(owner),
    }
    return gig


def _command_of(owner: Person) -> str:
    with db.reading():
        sql = "SELECT id FROM command WHERE account_id = ? ORDER BY id LIMIT 1"
        return str(db.scalar(sql, (owner.id,)))


def _people(cast: Cast, gig: Gig) -> None:
    for name in ("holder", "member"):
        person = cast.people[name] = cast.world.person(f"the-{name}")
        cast.world.worker(
            gig,
            person,
            name=name.title(),
            email=cast.secret(f"{name}'s address", f"{name}@example.org", "owner", name),
            notes=cast.secret(f"{name}'s notes", f"I am the {name}.", "owner", name),
            tags=[cast.secret(f"{name}'s tags", f"tag-of-{name}", name)],
            webhook=cast.secret(f"{name}'s webhook", f"{HIDDEN}tasks-{name}", name),
            events_webhook_url=cast.secret(f"{name}'s events", f"{HIDDEN}events-{name}", name),
        )
        box: Any = person.mailbox  # type: ignore[attr-defined]
        filters = [cast.secret(f"{name}'s filter", f"filter-of-{name}", name)]
        person.patch(f"{gig.path}/mailboxes/{box['id']}", {"filter_tags": filters})
        cast.secret(f"{name}'s payout address", box["wallet_address"], "owner", name)
        cast.secret(f"{name}'s webhook secret", person.secret)  # type: ignore[attr-defined]
        (place,) = person.get("/mailboxes/mine")["mailboxes"]
        who = (name, "link") if name == "holder" else (name,)
        link = cast.secret(f"{name}'s share link", place["share_token"], *who)
        cast.ids[f"{name}'s link"] = link
    for name, person in cast.people.items():
        cast.secret(f"{name}'s login", person.email, name)
        cast.secret(f"{name}'s key", person.key)
    holder: Any = cast.people["holder"].mailbox  # type: ignore[attr-defined]
    cast.ids |= {"mailbox_id": holder["id"], "wallet": holder["wallet_address"]}


def _tasks(cast: Cast, gig: Gig) -> None:
    """What each is for is its name in the table."""
    world, owner, holder = cast.world, cast.people["owner"], cast.people["holder"]
    given = {"availability": "reserved", "reserved_for": cast.ids["mailbox_id"]}
    sent: dict[str, dict[str, Any]] = {
        "waiting": {"external_id": cast.secret("external id", "the-owners-id", "owner")},
        "draft": {"draft": "true"},
        "reserved for the holder": given,
        "kept back": {"availability": "reserved"},
        "view only": {"availability": "view_only"},
        "in hand": {"assign_to": cast.ids["mailbox_id"]},
        "given back": {"assign_to": cast.ids["mailbox_id"]},
        "priced": {"price": "1.01", "priority": 5},
    }
    bodies = {
        "draft": cast.secret("a draft's body", "body of the draft", "owner"),
        "reserved for the holder": "a reserved body",
        "given back": cast.secret("what came back", "body given back", "owner"),
    }
    for name, query in sent.items():
        tags = "" if "assign_to" in query else "feather"
        cast.tasks[name] = world.task(gig, bodies.get(name, f"a task: {name}"), tags=tags, **query)
        path = f"{gig.path}/tasks/{cast.tasks[name]}"
        readers = ("owner", "holder") if name == "in hand" else ("owner",)
        if name != "draft":
            details = cast.secret(f"private details, {name}", f"the brief of {name}", *readers)
            owner.patch(f"{path}/private-details", {"private_details": details})
    declined = cast.tasks["given back"]
    holder.post(f"{gig.path}/queue/{declined}/decline")
    mine = f"{gig.path}/tasks/{cast.tasks['in hand']}"
    for name in ("owner", "holder"):
        alias = cast.secret(f"{name}'s alias", f"{name} calls it so", name)
        cast.people[name].patch(f"{mine}/alias", {"alias": alias})
    text = cast.secret("a report", "this task is spam", "owner", "holder")
    bad = cast.tasks["reported"] = world.task(gig, "a bad task")
    holder.post(f"{gig.path}/queue/{bad}/violation", {"violation": text})
    cast.ids["task_id"] = cast.tasks["in hand"]


def _proofs(cast: Cast, gig: Gig) -> None:
    """One in each state, each with a note; a draft is its worker's alone, what is paid opens it."""
    world, owner, holder = cast.world, cast.people["owner"], cast.people["holder"]
    for name in ("paid", "rejected", "approved", "timed out", "reported", "pending", "draft"):
        sides = ("holder",) if name == "draft" else ("owner", "holder")
        task_id = world.task(gig, f"a task: {name}")
        body = {
            "task_identifier": task_id,
            "proofs": [cast.secret(f"evidence, {name}", f"evidence of {name}", *sides)],
            "tags": [cast.secret(f"a proof's tag, {name}", f"tag of {name}", *sides)],
            "private_note": cast.secret(f"private note, {name}", f"note of {name}", "holder"),
            "draft": name == "draft",
        }
        proof = holder.post(f"{gig.path}/proofs", body)["proof"]
        cast.tasks[f"with a proof, {name}"] = task_id
        cast.proofs[name] = proof["id"]
        path = f"{gig.path}/proofs/{proof['id']}"
        if name in ("paid", "approved"):
            owner.patch(path, {"action": "approve"})
        if name == "paid":
            (rollup,) = owner.post(f"{gig.path}/rollups")["rollups"]
            assert rollup["status"] == "paid"
            cast.secrets["private note, paid"][1].add("owner")
        if name == "rejected":
            feedback = cast.secret("feedback", "the feathers are missing", "owner", "holder")
            verdict = {"action": "reject", "feedback": feedback, "requeue": False}
            owner.patch(path, {**verdict, "rejection_tag": "incomplete"})
        if name in ("timed out", "reported"):
            db.write(Proof.update(timeout_at=1).where(Proof.id == proof["id"]).execute)
            actors.review()
        if name == "reported":
            why = cast.secret("a dispute", "this was not done", "owner", "holder")
            owner.post(f"{path}/report", {"reason": why})
    pending = f"{gig.path}/proofs/{cast.proofs['pending']}"
    for name in ("owner", "holder"):
        alias = cast.secret(f"{name}'s name for a proof", f"{name} names it so", name)
        cast.people[name].patch(f"{pending}/alias", {"alias": alias})
    cast.ids["proof_id"] = cast.proofs["pending"]
    cast.ids["delivery_id"] = owner.get("/deliveries")["deliveries"][0]["id"]


def _comments(cast: Cast, gig: Gig) -> None:
    """Of the task in hand two speak in private; of the waiting one all do, and two aside."""
    owner, holder, member = (cast.people[name] for name in ("owner", "holder", "member"))

    def say(who: Person, task: str, body: str, **more: Any) -> str:
        path = f"{gig.path}/tasks/{cast.tasks[task]}/comments"
        comment_id: str = who.post(path, {"body": body, **more})["comment"]["id"]
        return comment_id

    asked = cast.secret("a private question", "may I ask you", "owner", "holder")
    first = say(holder, "in hand", asked)
    told = cast.secret("a private answer", "you may indeed", "owner", "holder")
    say(owner, "in hand", told, parent_id=first)
    waiting = f"{gig.path}/tasks/{cast.tasks['waiting']}"
    owner.patch(f"{waiting}/comments-policy", {"policy": "public"})
    said = cast.secret("a public comment", "hear me all", "owner", "holder", "member")
    first = say(member, "waiting", said)
    aside = cast.secret("a reply to one", "between us two", "holder", "member")
    say(holder, "waiting", aside, parent_id=first, private=True)
    mine = cast.secret("a word to the owner", "for you alone", "owner", "member")
    say(member, "waiting", mine, private=True)


def _copies(cast: Cast) -> None:
    """A gig of the other queue, in which the holder has a copy."""
    solo = cast.world.gig(cast.people["owner"], title="Solo", distribution="queue_solo")
    for name in ("holder", "member"):
        cast.people[name].post(f"{solo.path}/mailboxes", {"invite": solo.invite})
    cast.tasks["template"] = cast.world.task(solo, "a template")
    (copy,) = cast.people["holder"].post(f"{solo.path}/queue/poll")["tasks"]
    cast.tasks["copy"], cast.ids["solo"] = copy["id"], solo.id
    for name, what in ((solo.token, "token"), (solo.secret, "secret")):
        cast.secret(f"the solo gig's {what}", name, *(("owner",) if what == "token" else ()))


def _planned(cast: Cast) -> None:
    """A gig of planned work, in which the holder has done what was routed to him."""
    world, owner, holder = cast.world, cast.people["owner"], cast.people["holder"]
    planned = world.gig(owner, title="Planned", distribution="incoming", price="0")
    for name in ("holder", "member"):
        place = cast.people[name].post(f"{planned.path}/mailboxes", {"invite": planned.invite})
        cast.ids[f"{name}'s desk"] = place["mailbox"]["id"]
    holder.patch("/v1/me/schedule", {"hours": {"mon": [["09:00", "17:00"]]}})
    cast.secret("the planned gig's token", planned.token, "owner")
    cast.secret("the planned gig's secret", planned.secret)
    title = cast.secret("what is routed", "routed to the holder", "owner", "holder")
    response = cast.secret("a response", "the holder responds", "owner", "holder")
    sent = {"subject": title, "assign_to": cast.ids["holder's desk"]}
    cast.tasks["routed"], cast.ids["planned"] = world.task(planned, "x", **sent), planned.id
    headers = {"if-match": "*"}
    (item,) = holder.get("/v1/incoming")
    for verb, body in (("start", {}), ("complete", {"response": response})):
        keyed = {**headers, "idempotency-key": verb}
        holder.call("POST", f"/v1/incoming/{item['id']}/{verb}", body, headers=keyed).ok()
    world.task(planned, "x", **sent)
