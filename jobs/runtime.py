"""The parts that do the work of a process: broker, workers, delivery loop, scheduler.

With the in-memory broker one process must be everything; with Redis each part may run alone, any
number of times.
"""

from __future__ import annotations

import os
import socket
import time

import dramatiq
import structlog

from engine import install, leases, modes, wake
from engine.settings import Settings
from jobs import broker as brokers
from jobs import file_stores, schedule, upload_sweep
from jobs.actors import declare
from jobs.http import DeliveryLoop
from jobs.schedule import Scheduler
from plugins import defaults

WORKER_LEASE = "worker"
# Held beside it by a worker that clears uploads away.
FILES_LEASE = "files"
# Bells that may go unheard before the workers count as gone.
MISSED_BELLS = 3
WORKER_LEASE_SECONDS = 30
# One may wait for the chain; the other hears what needs the database only.
BELL_THREADS = 2

log = structlog.get_logger()


class Runtime:
    """Make it once per process, start what this process is to do, and stop it at the end."""

    def __init__(self, settings: Settings) -> None:
        modes.load(defaults)
        install.configure(settings)
        self.settings = settings
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.broker = brokers.make(settings.BROKER_URL)
        # Bells go their own way, to threads of their own, so that they are heard while every
        # command waits for a chain that hangs. A broker has one worker in a process.
        self.bell_broker = brokers.make(settings.BROKER_URL)
        self.files = file_stores.make(settings)
        self.actors = declare(self.broker, self.bell_broker, self._heard, self.files)
        self.in_memory = settings.BROKER_URL.startswith("memory:")
        self._workers: list[dramatiq.Worker] = []
        self._deliveries: DeliveryLoop | None = None
        self._scheduler: Scheduler | None = None
        wake.on("command", self.actors.run_command)
        wake.on("waiting", self.actors.deliver)
        # Whoever has the delivery loop is rung directly; a process without it leaves the delivery
        # to the loops of the others, which look once a second.
        wake.on("delivery", lambda _: None)

    def start_workers(self) -> None:
        """Run commands and bells, and send webhooks."""
        settings = self.settings
        upload_sweep.warn_if_off(self.files)
        self._deliveries = DeliveryLoop(
            header_prefix=settings.WEBHOOK_HEADER_PREFIX,
            ports=settings.webhook_ports,
            allow=settings.webhook_allow,
        )
        deliveries = self._deliveries
        deliveries.start()
        wake.on("delivery", lambda _: deliveries.wake())
        each = ((self.bell_broker, BELL_THREADS), (self.broker, settings.WORKER_THREADS))
        for broker, threads in each:
            # Middleware learn of a worker process only so, when the worker is embedded.
            broker.emit_after("process_boot")
            worker = dramatiq.Worker(broker, worker_threads=threads, worker_timeout=100)
            worker.start()
            self._workers.append(worker)

    def start_scheduler(self) -> None:
        self._scheduler = Scheduler(self.settings, self.name, self.actors.ring)
        self._scheduler.start()

    def start_everything(self) -> None:
        self.start_workers()
        self.start_scheduler()

    def stop(self) -> None:
        """Stop ringing, then finish what is being worked on; rows keep the rest."""
        if self._scheduler is not None:
            self._scheduler.stop()
        for worker in self._workers:
            worker.stop()
        if self._deliveries is not None:
            self._deliveries.stop()
        wake.silence()
        self.bell_broker.close()
        self.broker.close()
        install.close()

    def broker_answers(self) -> bool:
        return brokers.reachable(self.broker)

    def leader(self) -> str | None:
        """The scheduler that leads, wherever it runs."""
        return leases.holder_of(schedule.LEASE)

    def _heard(self) -> None:
        seconds = max(WORKER_LEASE_SECONDS, MISSED_BELLS * self.settings.SWEEP_SECONDS)
        names = [WORKER_LEASE] if self.files is None else [WORKER_LEASE, FILES_LEASE]
        leases.hold_each(names, self.name, seconds)

    def worker(self) -> str | None:
        """A worker that has heard the scheduler's bell of late, wherever it runs."""
        return leases.holder_of(WORKER_LEASE)

    def files_trouble(self) -> str | None:
        """What is wrong with how uploads are kept, in words for whoever looks after the install."""
        if self.files is None:
            return None
        told = self.files.trouble()
        if told is None and self.worker() and leases.holder_of(FILES_LEASE) is None:
            return "no worker clears them away: give workers the MUSTER_UPLOAD_… settings too"
        return told


def wait_until_told(flag: list[bool]) -> None:
    """Sleep until a signal handler sets the flag."""
    while not flag:
        time.sleep(0.2)
