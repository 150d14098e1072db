"""A process that sends many tasks to a gig that pushes: `push_many DATABASE_URL GIG TOKEN COUNT`.

Prints a line for each: the turn that it was, who got it, and all who could have been given it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from engine import install, modes, push_candidates, settings, submissions, turns
from engine.forms import Form
from engine.push_candidates import Candidate
from plugins import defaults


class Watch:
    """What the transaction that committed last has seen."""

    def __init__(self) -> None:
        self.turn = 0
        self.ordered: list[str] = []
        self._take, self._in_order = turns.take, push_candidates.in_order
        turns.take, push_candidates.in_order = self.take, self.in_order

    def take(self, gig_id: str) -> int:
        self.turn = self._take(gig_id)
        return self.turn

    def in_order(self, candidates: Sequence[Candidate], pick: str) -> list[Candidate]:
        found = self._in_order(candidates, pick)
        self.ordered = [one.id for one in found]
        return found


def main(url: str, gig_id: str, token: str, count: str) -> None:
    modes.load(defaults)
    install.configure(settings.load({}, {"STAGE": "dev", "DATABASE_URL": url}))
    watch = Watch()
    for number in range(int(count)):
        answer = submissions.submit(gig_id, token, Form(f"task {number}", "text/plain")).answer
        assert answer is not None and answer["status"] == "forwarded", answer
        chosen = answer["mailbox_id"]
        # Who comes before him in the order has paused at that very moment.
        able = watch.ordered[watch.ordered.index(chosen) :]
        print(watch.turn, chosen, ",".join(sorted(able)), flush=True)
    install.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
