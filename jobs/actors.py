"""The actors: each takes an id and makes one call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dramatiq
import structlog

from engine import (
    commands,
    counters,
    escrow_refunds,
    escrow_repair,
    fan_out,
    fan_out_steps,
    idempotency,
    letters,
    notification_list,
    order_repair,
    order_returns,
    passwords,
    proofs,
    reconcile,
    settlement,
    sweeps,
    waiting_delivery,
)
from jobs import mail, upload_sweep
from jobs.file_stores import Store

# Longer than a message ordinarily waits in a busy broker; see commands.sweep.
RESEND_SECONDS = 30

log = structlog.get_logger()


_reading_chain = threading.Lock()


def sweep() -> None:
    commands.sweep(RESEND_SECONDS)
    for look in sweeps.OF_TASKS:
        look()
    escrow_refunds.give_up_stale()
    escrow_repair.sweep()
    order_repair.sweep()
    order_returns.sweep()


def boot() -> None:
    """The first sweep after a start: whatever is due was lost with the process before."""
    commands.sweep(0)


def review() -> None:
    proofs.time_out()


def settle() -> None:
    settlement.request_all()


def read_chain() -> None:
    """One reader in a process: a chain that hangs then holds one thread of the bells, not all."""
    if _reading_chain.acquire(blocking=False):
        try:
            reconcile.run_quietly()
        finally:
            _reading_chain.release()


def reconcile_all() -> None:
    """The few-minutely look: what the chain says, and payouts that are due for another try."""
    read_chain()
    settlement.retry_stuck()


def forget() -> None:
    """Housekeeping: rows that are over."""
    counters.forget_old()
    idempotency.forget_old()
    passwords.forget_old()
    notification_list.forget_old()


def follow() -> None:
    read_chain()
    commands.sweep(RESEND_SECONDS)


JOBS: dict[str, Callable[[], None]] = {
    "boot": boot,
    "sweep": sweep,
    "review": review,
    "settle": settle,
    "reconcile": reconcile_all,
    "follow": follow,
    "forget": forget,
}


@dataclass(frozen=True)
class Actors:
    """What a process sends to. Sending never raises: a lost message costs time, not work."""

    run_command: Callable[[str], None]
    ring: Callable[[str], None]
    # By the id of a gig in which something waits that somebody may be free for.
    deliver: Callable[[str], None]


def declare(
    for_commands: dramatiq.Broker,
    for_bells: dramatiq.Broker,
    alive: Callable[[], None],
    files: Store | None,
) -> Actors:
    """Declare the actors on their brokers; the worker of each broker then knows its own.

    `alive` is called with every bell that is heard: it shows that bells reach a worker. `files` is
    where uploads are kept, if anywhere.
    """
    # The engine's commands are known by themselves, but for one that nothing there refers to;
    # sending mail is not the engine's to do.
    for kind in letters.TURN_SECONDS:
        commands.handler(kind)(mail.step)
    commands.handler(fan_out.KIND)(fan_out_steps.step)

    jobs = {**JOBS, "files": lambda: upload_sweep.run(files)}

    def run_command(command_id: str) -> None:
        _guarded("command", command_id, lambda: commands.run(command_id))

    def ring(job: str) -> None:
        _guarded("job", job, jobs[job])
        _guarded("job", "alive", alive)

    def deliver(gig_id: str) -> None:
        _guarded("waiting", gig_id, lambda: waiting_delivery.deliver(gig_id))

    command_actor: Any = dramatiq.actor(broker=for_commands, queue_name="commands")(run_command)
    ring_actor: Any = dramatiq.actor(broker=for_bells, queue_name="bells")(ring)
    waiting_actor: Any = dramatiq.actor(broker=for_commands, queue_name="commands")(deliver)
    return Actors(_sender(command_actor), _sender(ring_actor), _sender(waiting_actor))


def _guarded(kind: str, name: str, fn: Callable[[], Any]) -> None:
    """An actor that raised would be dead-lettered; its row is what is tried again."""
    try:
        fn()
    except Exception:
        log.exception("actor.failed", kind=kind, name=name)


def _sender(actor: Any) -> Callable[[str], None]:
    def send(argument: str) -> None:
        try:
            actor.send(argument)
        except Exception as error:
            # The commit stands; the sweep will ring for it once the broker is back.
            log.warning("broker.send_failed", actor=actor.actor_name, error=str(error))

    return send
