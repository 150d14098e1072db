"""Commands whose bells are lost, or whose step meets a database that is away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import clock, commands, wake
from engine.db import db
from engine.errors import Refused
from engine.models.command import Command
from tests.world import World

KIND = "test.waits"
RESEND_SECONDS = 30


@pytest.fixture
def rung(world: World) -> Iterator[list[str]]:
    """The ids that were rung for."""
    heard: list[str] = []
    wake.on("command", heard.append)

    @commands.handler(KIND)
    def step(_: Command) -> commands.Outcome:
        return commands.Wait(1)

    yield heard
    del commands._handlers[KIND]


@pytest.mark.rule("H-08")
def test_a_waiting_command_is_rung_for_once_until_it_was_heard_or_the_bell_was_lost(
    rung: list[str],
) -> None:
    command_id = db.write(lambda: commands.record(KIND, {}, account_id=None, gig_id=None)).id
    commands.run(command_id)
    rung.clear()
    clock.advance(2)

    for _ in range(5):
        commands.sweep(RESEND_SECONDS)
    assert rung == [command_id]

    clock.advance(RESEND_SECONDS + 1)
    commands.sweep(RESEND_SECONDS)
    assert rung == [command_id] * 2

    commands.run(command_id)
    clock.advance(2)
    commands.sweep(RESEND_SECONDS)
    assert rung == [command_id] * 3


@pytest.mark.rule("H-08")
def test_a_start_rings_for_all_that_is_due_whatever_was_rung_before(rung: list[str]) -> None:
    command_id = db.write(lambda: commands.record(KIND, {}, account_id=None, gig_id=None)).id
    commands.run(command_id)
    clock.advance(2)
    commands.sweep(RESEND_SECONDS)
    rung.clear()

    commands.sweep(0)

    assert rung == [command_id]


@pytest.mark.rule("H-08")
def test_a_database_that_was_away_for_a_moment_is_no_verdict_on_a_command(world: World) -> None:
    steps: list[str] = []

    @commands.handler(KIND)
    def step(command: Command) -> commands.Outcome:
        steps.append(command.id)
        if len(steps) == 1:
            raise Refused("database_unavailable", "The database does not answer.")
        return commands.Done({})

    command_id = db.write(lambda: commands.record(KIND, {}, account_id=None, gig_id=None)).id
    for _ in range(2):
        commands.run(command_id)
        clock.advance(60)
    del commands._handlers[KIND]

    with db.reading():
        assert Command.get(Command.id == command_id).status == "done"
