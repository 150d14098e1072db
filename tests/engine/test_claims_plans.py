"""Each part of PostgreSQL's claiming statement reads through the index that its comment names."""

from __future__ import annotations

import itertools
import re

import pytest

from engine import claims_postgres
from engine.claim_requests import CLASSES, CURSOR, DRAWN, SHUFFLED, ClaimRequest
from engine.db import db
from engine.facets import Wanted
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from tests.world import World

KEY = "queue_entry_pkey"
NUMBER = "queue_entry_task_number"
ALWAYS = {KEY, NUMBER, "task_pkey", "exclusion_pkey"}
INDEXES = {
    CURSOR: ALWAYS | {"queue_entry_shelf_enqueued_sort_key"},
    CLASSES: ALWAYS | {"queue_entry_shelf_facet_id_sort_key_task_number", "facet_gig_id_key"},
    DRAWN: ALWAYS - {"exclusion_pkey"},
    SHUFFLED: ALWAYS,
}


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
@pytest.mark.parametrize("source", INDEXES)
@pytest.mark.rule("Q-02")
def test_no_part_reads_a_whole_table(world: World, source: str) -> None:
    request = ClaimRequest(
        Gig(id="GIG_1", price_units=1), Mailbox(id="MBX_1"), 2, source, Wanted(price_min_units=1)
    )
    text, _ = claims_postgres._statement(request, {})
    numbers = itertools.count(1)
    asked = re.sub(r"\?", lambda _: f"${next(numbers)}", text)

    def explain() -> str:
        db.rows(f"SELECT {claims_postgres.ONE_PLAN}")
        return "\n".join(row[0] for row in db.rows(f"EXPLAIN (GENERIC_PLAN) {asked}"))

    plan = db.write(explain)
    assert "Seq Scan" not in plan, plan
    used = set(re.findall(r"(?:using|Index Scan on) (\w+)", plan))
    assert used >= INDEXES[source], plan
