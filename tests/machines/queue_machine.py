"""Rules by which Hypothesis plays with a shared queue, beside the model of what should happen."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine import clock, holds
from engine.db import db
from tests.machines.queue_model import (
    MAX_OPEN,
    MAX_TAKES,
    TIMEOUT_SECONDS,
    WINDOW_SECONDS,
    Job,
    Queue,
)
from tests.services import Postgres, Sqlite
from tests.world import Answer, Gig, Person, World, at_once

WORKERS = 3
STORM = 16
PRIORITIES = st.sampled_from([0, 1, 5, 1000, 1000, 1000, 9_999_999_999])
WHO = st.integers(0, WORKERS - 1)
# Mostly whoever holds it.
HOLDER = st.sampled_from([None] * 6 + list(range(WORKERS)))
AVAILABILITIES = st.sampled_from(["open", "reserved", "view_only"])
PICK = st.integers(0, 1_000_000)


class QueueMachine(RuleBasedStateMachine):
    """One gig, three workers, any number of tasks."""

    databases: Sqlite | Postgres
    seen: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.url = self.databases.fresh()
        self.world = World(self.url, "memory://")
        self.world.start()

    def teardown(self) -> None:
        self.world.stop()
        db.close()
        self.databases.drop(self.url)

    @initialize(order=st.sampled_from(["fifo", "lifo", "priority", "random"]))
    def open(self, order: str) -> None:
        self.queue = Queue(order)
        self.gig: Gig = self.world.gig(
            queue_order=order,
            task_timeout=TIMEOUT_SECONDS,
            default_max_open_tasks=MAX_OPEN,
            default_rate_limit_count=MAX_TAKES,
            default_rate_limit_minutes=WINDOW_SECONDS // 60,
            review_timeout=-1,
        )
        self.people: list[Person] = [self.world.worker(self.gig) for _ in range(WORKERS)]
        self.mailboxes: list[str] = [one.mailbox["id"] for one in self.people]  # type: ignore[attr-defined]

    # -- the owner ---------------------------------------------------------------------------

    @rule(priorities=st.lists(PRIORITIES, min_size=1, max_size=6))
    def submit(self, priorities: list[int]) -> None:
        for priority in priorities:
            self.queue.add(self.world.task(self.gig, "work", priority=priority), priority)

    @rule(who=WHO)
    def submit_for(self, who: int) -> None:
        sent = self.world.send(self.gig, "work", assign_to=self.mailboxes[who]).ok()
        self.queue.assign(who, self.queue.add(sent["message_id"], 1000))

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK, priority=PRIORITIES)
    def reprioritise(self, pick: int, priority: int) -> None:
        job = self._any(pick)
        answer = self._owner("PATCH", job, "priority", {"priority": priority})
        if job.status == "queued":
            answer.ok()
            job.priority = priority
        else:
            assert answer.status in (404, 409), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK, who=WHO)
    def assign(self, pick: int, who: int) -> None:
        job = self._any(pick)
        answer = self._owner("POST", job, "assign", {"assign_to": self.mailboxes[who]})
        if job.status in ("queued", "unassigned", "claimed"):
            unchanged = job.status == "claimed" and job.holder == who
            assert answer.ok()["unchanged"] is unchanged
            if unchanged:
                job.assigned = True
            else:
                self.queue.assign(who, job)
            self.seen["assigned"] += 1
        else:
            assert answer.status in (404, 409), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(
        pick=PICK,
        who=st.none() | WHO,
        availability=st.sampled_from(["open", "reserved", "view_only"]),
    )
    def reserve(self, pick: int, who: int | None, availability: str) -> None:
        job = self._any(pick)
        body: dict[str, Any] = {"availability": availability}
        if availability == "reserved" and who is not None:
            body["reserved_for"] = self.mailboxes[who]
        answer = self._owner("PATCH", job, "availability", body)
        if job.status == "queued":
            answer.ok()
            job.availability = availability
            job.reserved_for = who if availability == "reserved" else None
            if job.reserved_for is not None:
                job.forgive(job.reserved_for)
        else:
            assert answer.status in (404, 409), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK)
    def recycle(self, pick: int) -> None:
        job = self._any(pick)
        answer = self._owner("POST", job, "recycle", {})
        if job.status == "claimed":
            answer.ok()
            job.lose()
            self.seen["recycled"] += 1
        else:
            assert answer.status in (404, 409), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        job = self._any(pick)
        answer = self.gig.owner.call("DELETE", f"{self.gig.path}/tasks/{job.id}")
        if job.status in ("queued", "unassigned"):
            answer.ok()
            job.status = "cancelled"
        else:
            assert answer.status in (404, 409), answer.text

    # -- workers -----------------------------------------------------------------------------

    @rule(who=WHO, count=st.integers(1, 20))
    def poll(self, who: int, count: int) -> None:
        mine, shared = self.queue.offered(who)
        allowed = self.queue.allowance(who)
        answer = self._poll(who, count)
        if allowed == 0:
            answer.refused(429)
            self.seen["limited"] += 1
            return
        body = answer.ok()
        got = [task["id"] for task in body["tasks"]]
        due = min(count, allowed)
        wanted = [job.id for job in [*mine, *shared][:due]]
        if self.queue.order == "random":
            assert got[: len(mine)] == wanted[: len(mine)]
            assert len(got) == len(wanted) and len(set(got)) == len(got)
            assert set(got) <= {job.id for job in [*mine, *shared]}
        else:
            assert got == wanted
        named = [task["id"] for task in body["tasks"] if task["reserved_for_me"]]
        assert named == [job.id for job in mine[:due]]
        for task_id in got:
            self.queue.take(who, self.queue.jobs[task_id])
        assert body["open_tasks"]["remaining"] == self.queue.open_left(who)
        assert body["rate_limit"]["remaining"] == self.queue.takes_left(who)
        self.seen["claimed"] += len(got)

    @rule(who=WHO)
    def storm(self, who: int) -> None:
        """The same worker polls from many places at once: no limit is passed (M-05)."""
        mine, shared = self.queue.offered(who)
        allowed = self.queue.allowance(who)
        answers = at_once(STORM, lambda _: self._poll(who, 2))
        got = [task["id"] for one in answers if one.status == 200 for task in one.json["tasks"]]
        assert all(one.status in (200, 429) for one in answers)
        assert len(got) == len(set(got)) == min(allowed, len(mine) + len(shared))
        for task_id in got:
            self.queue.take(who, self.queue.jobs[task_id])
        self.seen["storms"] += 1

    @rule()
    def rush(self) -> None:
        """All workers poll at once: nobody gets what another got, and nothing is left lying."""
        before = {who: self.queue.allowance(who) for who in range(WORKERS)}
        answers = at_once(WORKERS, lambda who: self._poll(who, 3))
        got = [
            (who, task["id"])
            for who, one in enumerate(answers)
            if one.status == 200
            for task in one.json["tasks"]
        ]
        assert len({task_id for _, task_id in got}) == len(got)
        for who, task_id in got:
            job = self.queue.jobs[task_id]
            assert who not in job.excluded
            assert job.availability == "open" or job.reserved_for == who
            self.queue.take(who, job)
        for who, one in enumerate(answers):
            assert (one.status == 429) is (before[who] == 0)

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK, who=WHO)
    def claim(self, pick: int, who: int) -> None:
        """By link, whatever the order: only what is on offer to him."""
        job = self._any(pick)
        held = job.status == "claimed" and job.holder == who
        free = job.status == "queued" and job.availability != "view_only"
        free = free and job.reserved_for in (None, who)
        answer = self._worker(who, "POST", f"queue/{job.id}/claim", {})
        if held:
            assert answer.ok()["already_held"] is True
        elif free and who in job.lost:
            answer.refused(410, "claim_lost")
        elif free and who in job.proved:
            answer.refused(409, "already_proven")
        elif free and self.queue.allowance(who) == 0:
            answer.refused(429)
        elif free:
            answer.ok()
            self.queue.take(who, job)
            self.seen["linked"] += 1
        else:
            assert answer.status in (404, 409), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK, who=WHO, of_his_own=st.booleans())
    def decline(self, pick: int, who: int, of_his_own: bool) -> None:
        job = self._any(pick)
        held = self.queue.held_by(who)
        if of_his_own and held:
            job = held[pick % len(held)]
        answer = self._worker(who, "POST", f"queue/{job.id}/decline", {})
        if job.status in ("submitted", "approved", "rejected", "cancelled", "unassigned"):
            assert answer.status in (200, 404, 409, 410), answer.text
            if answer.status == 200:
                job.excluded.add(who)
            return
        if answer.status == 410:
            assert who in job.excluded
            return
        if job.status == "claimed" and job.assigned and job.holder != who:
            # What was given to another is not his to see; saying it again changes nothing.
            assert (answer.status == 404) is (who not in job.excluded), answer.text
            return
        answer.ok()
        if job.status == "claimed" and job.holder == who:
            job.excluded.add(who)
            job.let_go()
            self.seen["declined"] += 1
        else:
            job.excluded.add(who)
            if job.status == "queued" and job.reserved_for == who:
                job.reserved_for = None

    @rule(pick=PICK, who=WHO)
    def prove(self, pick: int, who: int) -> None:
        held = [job for job in self.queue.jobs.values() if job.status == "claimed"]
        if not held:
            return
        job = held[pick % len(held)]
        answer = self._worker(who, "POST", "proofs", {"task_identifier": job.id, "proofs": ["x"]})
        if job.holder == who and job.draft:
            assert answer.refused(409, "draft_exists")["proof_id"] == job.proof_id
        elif job.holder == who:
            job.proof_id = answer.ok()["proof"]["id"]
            job.status = "submitted"
            self.seen["proven"] += 1
        else:
            assert answer.status in (409, 410), answer.text

    @precondition(lambda self: self.queue.jobs)
    @rule(pick=PICK, who=WHO)
    def draft(self, pick: int, who: int) -> None:
        """Of what he holds, or of what waits, which he takes with it."""
        job = self._any(pick)
        held = job.status == "claimed" and job.holder == who
        free = job.status == "queued" and job.availability != "view_only"
        free = free and job.reserved_for in (None, who) and who not in job.excluded
        body = {"task_identifier": job.id, "draft": True}
        answer = self._worker(who, "POST", "proofs", body)
        if free and self.queue.allowance(who) == 0:
            answer.refused(429)
        elif free or (held and not job.draft):
            job.proof_id = answer.ok()["proof"]["id"]
            if free:
                self.queue.take(who, job)
            job.draft = True
            self.seen["drafted"] += 1
        elif held:
            answer.refused(409, "draft_exists")
        elif job.status != "queued":
            assert answer.status in (404, 409, 410), answer.text
        else:
            # One that he passed on may be taken so; one that he lost or proved may not.
            assert answer.status in (201, 409, 410, 429), answer.text
            if answer.status == 201:
                job.proof_id = answer.ok()["proof"]["id"]
                self.queue.take(who, job)
                job.draft = True

    @rule(pick=PICK, who=HOLDER, what=st.sampled_from(["submit", "submit", "delete", "edit"]))
    def finish_draft(self, pick: int, who: int | None, what: str) -> None:
        drafted = [job for job in self.queue.jobs.values() if job.draft]
        if not drafted:
            return
        job = drafted[pick % len(drafted)]
        who = self._or_holder(who, job)
        path = f"proofs/{job.proof_id}"
        method, path, body = {
            "submit": ("POST", f"{path}/submit", None),
            "delete": ("DELETE", path, None),
            "edit": ("PATCH", f"{path}/draft", {"tags": ["x"]}),
        }[what]
        answer = self._worker(who, method, path, body)
        if job.holder != who:
            answer.refused(404)
            return
        answer.ok()
        if what != "edit":
            job.draft = False
        if what == "submit":
            job.status = "submitted"
            self.seen["submitted"] += 1

    @rule(pick=PICK, who=HOLDER)
    def withdraw(self, pick: int, who: int | None) -> None:
        proven = [job for job in self.queue.jobs.values() if job.status == "submitted"]
        if not proven:
            return
        job = proven[pick % len(proven)]
        who = self._or_holder(who, job)
        answer = self._worker(who, "POST", f"proofs/{job.proof_id}/withdraw", None)
        if job.holder != who:
            answer.refused(404)
        elif job.expires_at is not None and job.expires_at <= self.queue.now:
            answer.refused(409, "time_over")
        elif self.queue.open_left(who) <= 0:
            answer.refused(429, "open_tasks_reached")
        else:
            answer.ok()
            job.status, job.draft = "claimed", True
            self.seen["withdrawn"] += 1

    @rule(pick=PICK, verdict=st.sampled_from(["approve", "return", "reject"]))
    def review(self, pick: int, verdict: str) -> None:
        proven = [job for job in self.queue.jobs.values() if job.status == "submitted"]
        if not proven:
            return
        job = proven[pick % len(proven)]
        assert job.holder is not None
        body: dict[str, Any] = {"action": "approve"}
        if verdict != "approve":
            again = verdict == "return"
            body = {"action": "reject", "rejection_tag": "incomplete", "requeue": again}
        self.gig.owner.patch(f"{self.gig.path}/proofs/{job.proof_id}", body)
        if verdict == "return":
            job.excluded.add(job.holder)
            job.proved.add(job.holder)
            job.let_go()
            self.seen["returned"] += 1
        else:
            job.status = "approved" if verdict == "approve" else "rejected"

    # -- time --------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 60, 300, TIMEOUT_SECONDS, WINDOW_SECONDS]))
    def wait(self, seconds: int) -> None:
        clock.advance(seconds)
        self.queue.now += seconds
        at_once(2, lambda _: holds.expire())
        self.seen["expired"] += len(self.queue.expire())

    # -- what holds at every moment ------------------------------------------------------------

    @invariant()
    def everything_is_where_it_should_be(self) -> None:
        if not hasattr(self, "gig"):
            return
        with db.reading():
            found = db.rows(
                "SELECT task.id, status, mailbox_id, availability, reserved_for, entry.shelf "
                "FROM task LEFT JOIN queue_entry AS entry ON entry.task_number = task.number"
            )
            live = db.rows(
                "SELECT task_id, id, mailbox_id, status FROM proof "
                "WHERE status IN ('draft', 'pending', 'approved')"
            )
        assert {row[0] for row in found} == set(self.queue.jobs)
        assert sorted(live) == sorted(
            (job.id, job.proof_id, self._mailbox(job.holder), self._proof_state(job))
            for job in self.queue.jobs.values()
            if self._proof_state(job) is not None
        )
        for task_id, status, holder, availability, reserved_for, shelf in found:
            job = self.queue.jobs[task_id]
            wanted = (job.status, job.availability, self._mailbox(job.reserved_for))
            assert (status, availability, reserved_for) == wanted, job
            if status in ("claimed", "submitted", "approved"):
                assert holder == self._mailbox(job.holder), job
            assert shelf == self._shelf(job), job

    def _or_holder(self, who: int | None, job: Job) -> int:
        assert job.holder is not None
        return job.holder if who is None else who

    def _proof_state(self, job: Job) -> str | None:
        if job.draft:
            return "draft"
        return {"submitted": "pending", "approved": "approved"}.get(job.status)

    def _shelf(self, job: Job) -> str | None:
        if job.status != "queued" or job.availability == "view_only":
            return None
        return self.gig.id if job.availability == "open" else self._mailbox(job.reserved_for)

    def _mailbox(self, who: int | None) -> str | None:
        return None if who is None else self.mailboxes[who]

    def _any(self, pick: int) -> Job:
        return list(self.queue.jobs.values())[pick % len(self.queue.jobs)]

    def _poll(self, who: int, count: int) -> Answer:
        return self._worker(who, "POST", "queue/poll", {"count": count})

    def _worker(self, who: int, method: str, path: str, body: Any) -> Answer:
        return self._sound(self.people[who].call(method, f"{self.gig.path}/{path}", body))

    def _owner(self, method: str, job: Job, verb: str, body: Any) -> Answer:
        path = f"{self.gig.path}/tasks/{job.id}/{verb}"
        return self._sound(self.gig.owner.call(method, path, body))

    def _sound(self, answer: Answer) -> Answer:
        assert answer.status < 500, f"{answer.status}: {answer.text}"
        return answer


def machine(databases: Sqlite | Postgres, seen: Counter[str]) -> type[QueueMachine]:
    return type("Machine", (QueueMachine,), {"databases": databases, "seen": seen})
