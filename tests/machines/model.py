"""What must come of it all, by nothing but what the API said yes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.world import Gig, Person

DOLLARS_TO_UNITS = 1_000_000


@dataclass
class Place:
    """A gig, its workers, and what it was told."""

    gig: Gig
    escrow: bool
    min_payout_units: int
    workers: list[Person] = field(default_factory=list)
    cancelled: bool = False
    # Of each pot deposit that was asked for: the command, and base units.
    deposits: dict[str, int] = field(default_factory=dict)


@dataclass
class Work:
    """A proof: whose, in which gig, its status, and what it pays.

    `locked_units` is the price of its task, `asking_units` what its worker asks for instead.
    """

    place: Place
    worker: Person
    task_id: str
    locked_units: int
    asking_units: int | None = None
    units: int = 0
    verdict: str = "pending"


@dataclass
class Model:
    places: list[Place] = field(default_factory=list)
    # The price of each task that was sent.
    prices: dict[str, int] = field(default_factory=dict)
    works: dict[str, Work] = field(default_factory=dict)

    def approved(self) -> dict[str, Work]:
        """What is to be paid."""
        payable = ("approved", "timeout_approved")
        return {key: work for key, work in self.works.items() if work.verdict in payable}

    def addresses(self) -> list[str]:
        """Of all workers, each once."""
        found = [address_of(worker) for place in self.places for worker in place.workers]
        return list(dict.fromkeys(found))

    def earned(self, skipped: set[str]) -> dict[str, int]:
        """What each address must have got for approved work, the skipped proofs left out."""
        units = dict.fromkeys(self.addresses(), 0)
        for proof_id, work in self.approved().items():
            if proof_id not in skipped:
                units[address_of(work.worker)] += work.units
        return units


def address_of(worker: Person) -> str:
    address: str = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    return address


def dollars(units: int) -> str:
    return f"{units // DOLLARS_TO_UNITS}.{units % DOLLARS_TO_UNITS:06d}"
