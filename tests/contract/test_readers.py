"""Who may be shown what, and who must be: every route that reads, asked by every kind of reader."""

from __future__ import annotations

import re

import pytest

from engine.chain import local
from tests.contract import readers, readers_scene
from tests.contract.readers import Asked
from tests.contract.readers_scene import Cast
from tests.contract.scene import all_hold
from tests.services import Sqlite
from tests.world import World


@pytest.fixture(scope="module")
def seen(
    anvil: None, sqlite: Sqlite, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Cast, list[Asked]]:
    """The scene, and all that its readers were answered."""
    folder = tmp_path_factory.mktemp("readers")
    world = World(sqlite.fresh(), "memory://", chain=local.ensure(folder)).start()
    try:
        cast = readers_scene.of(world)
        return cast, list(readers.read_all(cast))
    finally:
        world.stop()
        local.stop(folder)


@pytest.mark.rule("G-02")
@pytest.mark.rule("H-15")
def test_the_table_of_who_is_shown_what_is_as_it_was_agreed(seen: tuple[Cast, list[Asked]]) -> None:
    """If this is meant: `python -m tests.contract.readers`, and look at what it changed."""
    assert readers.FILE.read_text() == readers.table(seen[1])


# (rule, the name of a member, the routes, to whom it may be there at all, even as null)
ONLY: list[tuple[str, str, str, str]] = [
    ("T-09", "private_details", ".*", "owner holder"),
    ("T-01", "external_id", ".*", "owner"),
    ("T-09", "author_mailbox_id", ".*", "owner"),
    ("G-02", "notes|owner_wallet|(proof|join)_webhook_url|webhook_.*", "/gigs/<gig_id>", "owner"),
    ("G-04", "webhook", "/gigs/<gig_id>", "owner"),
    ("M-02", "tags|filter_.*|(events_)?webhook.*", "/gigs/<gig_id>/mailboxes", ""),
    ("R-07", "share_token", "(?!/mailboxes/mine).*", ""),
    ("Q-04", "declined_count|violation_count", ".*", "owner"),
    ("Q-07", "expires_at|mailbox_id", "/gigs/<gig_id>/(queue|tasks/.*|reserved)", "owner holder"),
    ("T-06", "reserved_for", ".*", "owner holder"),
    ("H-02", "key|hash|api_key", ".*", ""),
    ("Y-06", "private_key|encrypted_key", ".*", ""),
    ("W-03", "webhook_secret|secret", ".*", ""),
    ("W-09", "body", "/deliveries.*", ""),
]


def _names(asked: Asked) -> set[tuple[str, str]]:
    """(reader, the name of a member that is there for him)"""
    return {
        (reader, name.rpartition(".")[2].rstrip("[]"))
        for reader, reading in asked.answers.items()
        for name in reading.fields
    }


@pytest.mark.rule("G-02")
@pytest.mark.rule("T-09")
@pytest.mark.rule("M-02")
def test_what_is_for_some_is_not_even_null_to_others(seen: tuple[Cast, list[Asked]]) -> None:
    def holds(row: tuple[str, str, str, str]) -> None:
        rule, name, where, who = row
        for asked in seen[1]:
            if re.fullmatch(where, asked.rule):
                shown = {r for r, member in _names(asked) if re.fullmatch(name, member)}
                assert shown <= set(who.split()), f"{rule}: {asked.name}"

    all_hold(ONLY, holds)


@pytest.mark.rule("T-09")
@pytest.mark.rule("R-06")
@pytest.mark.rule("G-04")
@pytest.mark.rule("W-07")
def test_a_secret_is_read_by_those_whose_it_is_and_by_nobody_else(
    seen: tuple[Cast, list[Asked]],
) -> None:
    cast, asked = seen

    def kept(name: str) -> None:
        text, may = cast.secrets[name]
        found = {
            reader: f"{reader}: {one.name}"
            for one in asked
            for reader, reading in one.answers.items()
            if text in reading.text
        }
        assert found.keys() <= may, [found[reader] for reader in found.keys() - may]
        # A secret that nobody was shown proves nothing about the others.
        assert found.keys() == may, f"not shown to {may - found.keys()}"

    all_hold(cast.secrets, kept)


TASK = "/gigs/<gig_id>/tasks/<task_id>"
PROOF = "/gigs/<gig_id>/proofs/<proof_id>"
REPUTATION = "/reputation/<wallet>/events"
EVERYBODY = "owner holder member stranger nobody"
# (rule, route and subject, member, who is shown a value, who is shown that there is none)
SHOWN: list[tuple[str, str, str, str, str]] = [
    ("G-02", "/gigs/<gig_id>", "gig.available_funds", "owner holder member", ""),
    ("G-02", "/gigs/<gig_id>", "gig.reserved_funds", "owner holder member", ""),
    ("G-02", "/gigs/<gig_id>", "gig.notes", "owner", ""),
    ("G-04", "/gigs/<gig_id>", "gig.webhook", "owner", ""),
    ("T-09", f"{TASK} · in hand", "task.private_details", "owner holder", ""),
    ("T-09", f"{TASK} · waiting", "task.private_details", "owner", ""),
    ("T-09", f"{TASK} · in hand", "task.alias", "owner holder", ""),
    ("Y-07", f"{TASK} · waiting", "task.escrow_funded", "owner holder member", ""),
    ("Y-07", f"{TASK} · waiting", "task.deposit_id", "", "owner holder member"),
    ("T-09", "/mailboxes/<mailbox_id>/inbound", "tasks[].private_details", "holder", ""),
    ("T-06", "/gigs/<gig_id>/reserved", "tasks[].id", "owner holder", ""),
    ("T-06", "/gigs/<gig_id>/reserved", "tasks", "", "member"),
    ("T-05", "/gigs/<gig_id>/drafts", "drafts[].id", "owner", ""),
    ("Q-04", "/gigs/<gig_id>/queue", "tasks[].declined_count", "owner", ""),
    ("R-07", "/mailboxes/mine", "mailboxes[].share_token", "holder member", ""),
    ("M-06", "/gigs/<gig_id>/mailboxes", "mailboxes[].response_rate", "owner", ""),
    ("R-06", f"{PROOF} · pending", "proof.private_note", "holder", "owner"),
    ("R-06", f"{PROOF} · approved", "proof.private_note", "holder", "owner"),
    ("R-06", f"{PROOF} · paid", "proof.private_note", "owner holder", ""),
    ("R-06", f"{PROOF} · pending", "proof.private_note_locked", "owner holder", ""),
    ("R-04", f"{PROOF} · rejected", "proof.feedback", "owner holder", ""),
    ("Y-02", "/rollups/mine", "rollups[].tx_hash", "holder", ""),
    ("Y-02", "/gigs/<gig_id>/rollups", "rollups[].tx_hash", "owner holder", ""),
    ("H-15", "/gigs/<gig_id>/events", "events[proof.submitted].data.proof_id", "owner holder", ""),
    ("W-06", "/deliveries", "deliveries[].status", "owner holder", ""),
    ("R-04", f"{PROOF} · rejected", "proof.can_revise", "owner", ""),
    ("R-05", f"{PROOF} · reported", "proof.report_reason", "owner holder", ""),
    ("T-09", f"{TASK}/comments · waiting", "comments[].body", "owner holder member", ""),
    ("T-09", f"{TASK}/comments · waiting", "comments[].author_mailbox_id", "owner", ""),
    ("T-09", f"{TASK}/comments · in hand", "comments[].body", "owner holder", ""),
    ("T-09", "/notifications", "notifications[proof.submitted].title", "owner", ""),
    ("T-09", "/notifications", "notifications[proof.approved].title", "holder", ""),
    ("T-09", "/notifications", "notifications", "", "stranger"),
    ("R-09", REPUTATION, "events[proof.rejected].rejection_tag", EVERYBODY, ""),
    ("R-09", REPUTATION, "events[payout.paid].amount", EVERYBODY, ""),
    ("R-07", "/public/mailbox-info", "mailbox.gig_title", "link", ""),
    ("R-07", "/public/task · in hand", "task.payload", "link", ""),
    ("G-05", "/public/invite-info", "invite.title", "nobody", ""),
]


@pytest.mark.rule("G-02")
@pytest.mark.rule("T-09")
@pytest.mark.rule("R-06")
@pytest.mark.rule("H-15")
def test_who_must_be_shown_what_is(seen: tuple[Cast, list[Asked]]) -> None:
    found = {one.name: one.answers for one in seen[1]}

    def holds(row: tuple[str, str, str, str, str]) -> None:
        _, name, member, value, empty = row
        told = {reader: reading.fields.get(member) for reader, reading in found[name].items()}
        assert {reader for reader, here in told.items() if here} == set(value.split())
        assert {reader for reader, here in told.items() if here is False} == set(empty.split())

    all_hold(SHOWN, holds)


# (rule, route and subject, the status for each who asks, as READERS has them)
REFUSED: list[tuple[str, str, str]] = [
    ("T-05", f"{TASK} · draft", "200 404 404 403 401"),
    ("T-06", f"{TASK} · given back", "200 404 404 403 401"),
    ("A-01", f"{TASK} · in hand", "200 200 404 403 401"),
    ("S-01", f"{TASK} · copy", "200 200 404 403 401"),
    ("R-01", f"{PROOF} · pending", "200 200 404 403 401"),
    ("R-03", f"{PROOF} · draft", "404 200 404 403 401"),
    ("T-09", f"{TASK}/comments · waiting", "200 200 200 403 401"),
    ("T-09", f"{TASK}/comments · in hand", "200 200 404 403 401"),
    ("G-07", "/gigs/<gig_id>/dashboard", "200 403 403 403 401"),
    ("T-07", "/gigs/<gig_id>/export.csv · proofs", "200 403 403 403 401"),
    ("M-03", "/mailboxes/<mailbox_id>/inbound", "404 200 404 404 401"),
    ("H-08", "/commands/<command_id>", "200 404 404 404 401"),
    ("Y-06", "/wallets/<wallet_id>/balances", "200 404 404 404 401"),
    # Of the link and of nobody: it opens what its mailbox may take or has, and no more.
    ("R-07", "/public/mailbox-info", "200 400"),
    ("R-07", "/public/task · waiting", "200 400"),
    ("R-07", "/public/task · with a proof, pending", "200 400"),
    ("R-07", "/public/task · draft", "404 400"),
    ("R-07", "/public/task · given back", "404 400"),
    ("R-07", "/public/task · copy", "404 400"),
    ("R-07", "/submit/<token> · in hand", "200 404"),
    ("R-07", "/submit/<token> · given back", "404 404"),
    # A page asks whoever has no key for one.
    ("C-01", "/task/<gig_id>/<task_id> · waiting", "200 200 200 403 200"),
]


@pytest.mark.rule("H-05")
@pytest.mark.rule("T-05")
@pytest.mark.rule("S-01")
def test_who_may_not_be_told_is_refused(seen: tuple[Cast, list[Asked]]) -> None:
    found = {one.name: one.answers for one in seen[1]}

    def holds(row: tuple[str, str, str]) -> None:
        told = {reader: reading.status for reader, reading in found[row[1]].items()}
        assert told == dict(zip(told, map(int, row[2].split()), strict=True))

    all_hold(REFUSED, holds)
