"""What a shared queue should be: plain Python, no clever statement, one thing after another."""

from __future__ import annotations

from dataclasses import dataclass, field

TIMEOUT_SECONDS = 600
WINDOW_SECONDS = 3600
MAX_OPEN = 4
MAX_TAKES = 12
TERMINAL = ("approved", "rejected", "cancelled")


@dataclass
class Job:
    """A task as everybody should find it."""

    id: str
    number: int
    priority: int
    status: str = "queued"
    holder: int | None = None
    assigned: bool = False
    availability: str = "open"
    reserved_for: int | None = None
    expires_at: float | None = None
    excluded: set[int] = field(default_factory=set)
    # To whom it was lost by time or by its owner's hand: he can only be assigned it.
    lost: set[int] = field(default_factory=set)
    # Who handed in a proof that was rejected, and may not take it by its link.
    proved: set[int] = field(default_factory=set)
    proof_id: str | None = None
    # Its holder has a draft of a proof of it.
    draft: bool = False

    def forgive(self, worker: int) -> None:
        """Its owner names him for it."""
        self.excluded.discard(worker)
        self.lost.discard(worker)
        self.proved.discard(worker)

    def lose(self) -> None:
        assert self.holder is not None
        self.lost.add(self.holder)
        self.excluded.add(self.holder)
        self.let_go()

    def let_go(self) -> None:
        """Where it goes when its holder no longer has it."""
        self.status = "unassigned" if self.assigned else "queued"
        self.holder, self.expires_at = None, None
        self.assigned = self.draft = False
        self.reserved_for = None


@dataclass
class Queue:
    """A gig's tasks and workers. `now` is in seconds and only the machine moves it."""

    order: str
    now: float = 0
    jobs: dict[str, Job] = field(default_factory=dict)
    takes: dict[int, list[float]] = field(default_factory=dict)

    def add(self, task_id: str, priority: int) -> Job:
        job = Job(task_id, len(self.jobs), priority)
        self.jobs[task_id] = job
        return job

    def held_by(self, worker: int) -> list[Job]:
        return [j for j in self.jobs.values() if j.status == "claimed" and j.holder == worker]

    def allowance(self, worker: int) -> int:
        """How many the worker may take now (M-05)."""
        return max(0, min(self.open_left(worker), self.takes_left(worker)))

    def open_left(self, worker: int) -> int:
        return MAX_OPEN - len(self.held_by(worker))

    def takes_left(self, worker: int) -> int:
        recent = [at for at in self.takes.get(worker, []) if at > self.now - WINDOW_SECONDS]
        return MAX_TAKES - len(recent)

    def offered(self, worker: int) -> tuple[list[Job], list[Job]]:
        """The worker's own reservations, and what the shared queue has for him, each in order."""
        waiting = [
            job
            for job in self.jobs.values()
            if job.status == "queued" and worker not in job.excluded
        ]
        key = lambda job: (job.priority, job.number)  # noqa: E731
        backwards = self.order == "lifo"
        mine = [j for j in waiting if j.availability == "reserved" and j.reserved_for == worker]
        shared = [job for job in waiting if job.availability == "open"]
        return sorted(mine, key=key, reverse=backwards), sorted(shared, key=key, reverse=backwards)

    def take(self, worker: int, job: Job) -> None:
        assert job.status == "queued", job
        job.status, job.holder = "claimed", worker
        job.expires_at = self.now + TIMEOUT_SECONDS
        self.takes.setdefault(worker, []).append(self.now)

    def assign(self, worker: int, job: Job) -> None:
        job.forgive(worker)
        # His own stays, and another's goes with the task.
        job.draft = job.draft and job.holder == worker
        job.status, job.holder, job.assigned = "claimed", worker, True
        job.availability, job.reserved_for = "open", None
        job.expires_at = self.now + TIMEOUT_SECONDS

    def expire(self) -> list[Job]:
        """The claims that have run out go back, and not to whom had them (Q-07)."""
        out = [
            job
            for job in self.jobs.values()
            if job.status == "claimed" and job.expires_at is not None and job.expires_at <= self.now
        ]
        for job in out:
            job.lose()
        return out
