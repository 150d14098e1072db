"""All that the people of a gig can do, each as one step of a play."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine import (
    acting,
    assigning,
    cancellation,
    declining,
    deletions,
    desks,
    gig_changes,
    handing_in,
    holds,
    joining,
    leaving,
    mailbox_settings,
    offers,
    order_publishing,
    polls,
    proofs,
    submissions,
    violations,
)
from engine.conformance import schemas
from engine.conformance.played_gig import PlayedGig
from engine.conformance.site import Person, Site
from engine.errors import Refused
from engine.forms import Form
from engine.models.proof import Proof
from engine.modes import Mode
from engine.order_publishing import Payment
from engine.plans import Verb
from engine.rules import json_shapes

# What a verb is used with: a body, or what makes one of the play.
Bodies = Mapping[str, Mapping[str, Any] | Callable[["Play"], Mapping[str, Any]]]
TIMEOUT_SECONDS = 3600
ACCEPT_SECONDS = 60
WORKERS = 3


class Play(PlayedGig):
    """One gig, from its opening to its end. `said` and `bodies` as in `ModeSuite`."""

    def __init__(
        self,
        site: Site,
        mode: Mode,
        implementation: object,
        *,
        said: Mapping[str, Any],
        bodies: Bodies,
    ) -> None:
        super().__init__(site, mode, implementation)
        self.said, self.bodies = said, bodies

    def open(self, name: str, given: Mapping[str, Any]) -> None:
        """The gig and its people, who have all joined it."""
        self.owner = self.site.person("the owner")
        usual = {
            "title": "A gig",
            "join_policy": "open",
            "price_units": 2_500_000,
            "task_timeout_seconds": TIMEOUT_SECONDS,
        }
        if self.mode.info.orders:
            usual["list_price_units"] = 0
        pinned = {key for key, shape in self.mode.info.settings.items() if "const" in shape}
        usual = {key: value for key, value in usual.items() if key not in pinned}
        values = {**usual, "distribution": name, **given}
        made = self.do(
            f"the owner opens a gig with {values}",
            lambda: gig_changes.create(self.owner.caller, dict(values)),
        )
        if isinstance(made, Refused):
            self.fail(
                f"no gig of it could be opened: {made.message} Give what it needs as `settings` "
                "in the class of your tests"
            )
        self.gig = made[0]
        self.owner.mailbox_id = self.gig.owner_mailbox_id or ""
        self.workers = [self.site.person(f"worker {number + 1}") for number in range(WORKERS)]
        for worker in self.workers:
            self.join(worker)

    def join(self, worker: Person) -> None:
        address = f"0x{abs(hash(worker.email)):040x}"
        got = self.do(
            f"{worker.name} joins",
            lambda: joining.join(worker.caller, self.gig.id, {"wallet_address": address}),
        )
        if not isinstance(got, Refused):
            worker.mailbox_id = got[0].id

    def send(self, *, to: Person | None = None) -> str | None:
        """A new task's id; None where the mode takes none in this way."""
        client = self.client()
        form = Form(
            payload="Do this.",
            content_type="text/plain",
            subject="A task",
            assign_to=None if to is None else to.mailbox_id,
            draft=self.mode.info.orders,
            own=self.said,
        )
        who = "nobody in particular" if to is None else to.name
        got = self.do(
            f"{client.name} sends a task for {who}",
            lambda: submissions.submit(
                self.gig.id, self.gig.token, form, who=lambda: client.caller
            ),
        )
        if isinstance(got, Refused):
            return None
        if got.answer is None:
            self.fail("a task that was sent has no answer yet")
        task_id = str(got.answer["message_id"])
        self.sent.append(task_id)
        if self.mode.info.orders:
            self.do(
                f"{client.name} publishes his order",
                lambda: order_publishing.publish(client.caller, self.gig.id, task_id, Payment()),
            )
        return task_id

    def poll(self, worker: Person) -> Any:
        return self.do(
            f"{worker.name} polls", lambda: polls.poll(worker.caller, self.gig.id, count=20)
        )

    def hand_in(self, worker: Person, task_id: str) -> Proof | None:
        given = handing_in.HandIn(task_id, None, ["done"], [], "")
        got = self.do(
            f"{worker.name} hands in his work",
            lambda: handing_in.submit(worker.caller, self.gig.id, given),
        )
        return None if isinstance(got, Refused) else got.proof

    def decide(self, task_id: str, what: str, act: Callable[[], Any]) -> Any:
        """The same as `do`, for what may end the task; where it is refused it may not."""
        before = task_id in self.may_end
        self.over(task_id)
        got = self.do(what, act)
        if isinstance(got, Refused) and not before:
            self.may_end.discard(task_id)
        return got

    def review(self, proof: Proof, *, approve: bool, requeue: bool | None = None) -> Any:
        client = self.client()
        word = "approves" if approve else f"rejects, with requeue={requeue},"
        verdict = proofs.Verdict(approve, requeue=requeue)
        return self.decide(
            proof.task_id,
            f"{client.name} {word} the work",
            lambda: proofs.review(client.caller, self.gig.id, proof.id, verdict),
        )

    def decline(self, worker: Person, task_id: str) -> Any:
        return self.do(
            f"{worker.name} declines the task",
            lambda: declining.decline(worker.caller, self.gig.id, task_id),
        )

    def report(self, worker: Person, task_id: str) -> Any:
        return self.do(
            f"{worker.name} reports the task as a bad one",
            lambda: violations.report(worker.caller, self.gig.id, task_id, "It is bad."),
        )

    def accept(self, worker: Person, task_id: str) -> Any:
        return self.do(
            f"{worker.name} accepts the task",
            lambda: offers.accept(worker.caller, self.gig.id, task_id),
        )

    def turn_down(self, worker: Person, task_id: str) -> Any:
        return self.do(
            f"{worker.name} turns the task down",
            lambda: offers.reject(worker.caller, self.gig.id, task_id),
        )

    def recycle(self, task_id: str) -> Any:
        return self.do(
            "the owner takes the task from its holder",
            lambda: holds.recycle(self.owner.caller, self.gig.id, task_id),
        )

    def assign(self, worker: Person, task_id: str) -> Any:
        return self.do(
            f"the owner assigns the task to {worker.name}",
            lambda: assigning.assign(self.owner.caller, self.gig.id, task_id, worker.mailbox_id),
        )

    def delete(self, task_id: str) -> Any:
        return self.decide(
            task_id,
            "the owner deletes the task",
            lambda: deletions.delete(self.owner.caller, self.gig.id, task_id),
        )

    def leave(self, worker: Person) -> Any:
        return self.do(
            f"{worker.name} leaves the gig",
            lambda: leaving.leave(worker.caller, self.gig.id, worker.mailbox_id),
        )

    def pause(self, worker: Person, paused: bool) -> Any:
        return self.do(
            f"{worker.name} {'pauses' if paused else 'goes on'}",
            lambda: mailbox_settings.update(
                worker.caller, self.gig.id, worker.mailbox_id, {"paused": paused}
            ),
        )

    def act(self, who: Person, task_id: str, verb: str, body: Mapping[str, Any]) -> Any:
        return self.decide(
            task_id,
            f"{who.name} uses the verb {verb!r} with {dict(body)}",
            lambda: acting.act(who.caller, self.gig.id, task_id, verb, dict(body)),
        )

    def cancel(self) -> Any:
        for task in self.tasks():
            self.over(task.id)
        return self.do(
            "the owner cancels the gig",
            lambda: cancellation.request(self.owner.caller, self.gig.id),
        )

    def read_desk(self, worker: Person) -> Any:
        desk = self.mode.info.desk
        flags = () if desk is None else tuple(desk.flags)
        return self.do(
            f"{worker.name} reads his desk",
            lambda: desks.listed(worker.caller, self.gig.distribution, flags),
        )

    def act_at_desk(self, worker: Person, task_id: str, verb: Verb) -> Any:
        """None where the task is on no desk; True where the verb was used."""
        item, body = self.item(task_id), dict(self.body(verb.name))
        if item is None:
            return None
        name, number = self.gig.distribution, item.number

        def use() -> bool:
            given = json_shapes.read(body, verb.fields, verb.required)
            desks.act_on(worker.caller, name, number, verb, given, None)
            return True

        return self.decide(
            task_id,
            f"{worker.name} uses the verb {verb.name!r} at his desk, with {body}",
            use,
        )

    def body(self, name: str) -> Mapping[str, Any]:
        """What fits the verb: the author's own, or the first that its schema allows."""
        if name in self.bodies:
            given = self.bodies[name]
            return given(self) if callable(given) else given
        (verb,) = [one for one in self.mode.info.verbs if one.name == name]
        return {
            field: schemas.sample(schema, inside=False) for field, schema in verb.fields.items()
        }
