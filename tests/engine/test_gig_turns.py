"""Whoever wants a gig alone gets his turn, however many keep sharing it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from engine import gigs
from engine.db import db
from tests.world import World

SHARERS = 6
# Each holds on for so long, and comes again at once.
SHARE_SECONDS = (0.05, 0.2)
PATIENCE_SECONDS = 30


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
@pytest.mark.parametrize("share", [gigs.held, gigs.share], ids=["held", "share"])
@pytest.mark.rule("G-08")
def test_an_owner_is_not_passed_by_for_ever(world: World, share: Callable[[str], object]) -> None:
    gig, ended = world.gig(), threading.Event()

    def keep_sharing() -> None:
        def hold() -> None:
            share(gig.id)
            time.sleep(random.uniform(*SHARE_SECONDS))

        while not ended.is_set():
            db.write(hold)

    def end() -> None:
        gig.owner.patch(gig.path, {"status": "closed"})
        gig.owner.post(f"{gig.path}/cancel")

    sharers = [threading.Thread(target=keep_sharing) for _ in range(SHARERS)]
    owner = threading.Thread(target=end)
    for thread in (*sharers, owner):
        thread.start()
    owner.join(PATIENCE_SECONDS)
    waits = owner.is_alive()
    ended.set()
    for thread in (*sharers, owner):
        thread.join()
    assert not waits
    assert gig.owner.get(gig.path)["gig"]["status"] == "cancelled"
