"""What nobody put in time, and what no row names for long, is removed; nothing else (R-08)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from engine import clock, leases, upload_sweep
from engine.db import db
from engine.models.upload import Upload
from jobs import runtime
from jobs import upload_sweep as sweeping
from tests.uploads.files import TEXT, File, announce, stored
from tests.world import World, at_once

DAY = 86_400


def sweep(world: World) -> None:
    sweeping.run(world.runtime.files)


def status_of(file: File) -> str | None:
    return upload_sweep.status_of(file.key)


def path_of(file: File) -> Path:
    return Path(file.world.settings.UPLOAD_DIR) / file.key


@pytest.mark.rule("R-08")
def test_what_no_row_names_is_removed_after_a_day_and_what_one_names_stays(world: World) -> None:
    gig = world.gig()
    owner, worker = gig.owner, world.worker(gig)
    named, unnamed, never, late = stored(owner), stored(owner), announce(owner), stored(owner)
    task_id = world.task(gig, named.url)
    waiting = Upload.update(status="waiting", stored_at=None).where(Upload.id == late.key)
    db.write(waiting.execute)
    clock.advance(upload_sweep.LATE_SECONDS + 901)
    sweep(world)
    # What was put, and not said to be, is stored; it is named by nothing either.
    assert [status_of(one) for one in (named, unnamed, never, late)] == [
        "stored",
        "stored",
        None,
        "stored",
    ]
    clock.advance(DAY)
    sweep(world)
    assert [status_of(one) for one in (named, unnamed, late)] == ["stored", None, None]
    assert path_of(named).exists() and not path_of(unnamed).exists()
    assert named.opens(worker)
    # From when nothing names it any more it has its day again.
    gig.owner.call("DELETE", f"{gig.path}/tasks/{task_id}").ok()
    private = f"{gig.path}/tasks/{world.task(gig)}/private-details"
    again = stored(owner)
    owner.patch(private, {"private_details": again.url})
    clock.advance(2 * DAY)
    owner.patch(private, {"private_details": "nothing"})
    sweep(world)
    assert status_of(again) == "stored"
    clock.advance(DAY + 1)
    sweep(world)
    assert status_of(again) is None


@pytest.mark.rule("R-08")
def test_what_is_being_removed_cannot_be_named_and_the_next_round_ends_it(world: World) -> None:
    gig = world.gig()
    file = stored(gig.owner)
    clock.advance(DAY + 1)
    # As a sweep leaves it that is killed after its first transaction.
    assert upload_sweep.mark_unnamed() == 1
    assert not file.opens(gig.owner)
    answer = world.send(gig, f"see {file.url}").refused(400)
    assert set(answer["errors"]) == {"payload"}
    path_of(file).unlink()
    sweep(world)
    assert status_of(file) is None
    sweep(world)
    world.send(gig, f"see {file.url}").ok()


@pytest.mark.rule("R-08")
def test_a_sweep_and_whoever_names_the_file_agree(world: World) -> None:
    gig = world.gig()
    for _ in range(5):
        file = stored(gig.owner)
        clock.advance(DAY + 1)

        def act(number: int, file: File = file) -> Any:
            return sweep(world) if number else world.send(gig, file.url).status

        (status, *_) = at_once(3, act)
        # Named and there, or refused and gone; where it had gone before, its address is only text.
        kept = status_of(file) == "stored"
        assert kept == path_of(file).exists()
        assert kept or status in (200, 400)
        if status == 200 and kept:
            assert db.rows("SELECT count(*) FROM upload_use WHERE upload_id = ?", (file.key,)) == [
                (1,)
            ]


@pytest.mark.rule("R-08")
def test_what_was_broken_off_is_cleared_away_with_what_it_had_begun(world: World) -> None:
    owner = world.person("owner")
    file, gone = announce(owner), stored(owner)
    folder = Path(world.settings.UPLOAD_DIR) / "unfinished"
    old, fresh = folder / f"{file.key}.old", folder / f"{file.key}.fresh"
    for path in (old, fresh, folder / "README"):
        path.write_bytes(TEXT)
    # Linked after its row had gone, by somebody who was killed before he saw that.
    os.link(old, Path(world.settings.UPLOAD_DIR) / "proofs_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    orphan = folder / "proofs_01JZZZZZZZZZZZZZZZZZZZZZZZ.x"
    orphan.write_bytes(TEXT)
    for path in (old, orphan):
        os.utime(path, (0, 0))
    sweep(world)
    assert sorted(one.name for one in folder.iterdir()) == ["README", fresh.name]
    assert not (Path(world.settings.UPLOAD_DIR) / orphan.name[:-2]).exists()
    assert gone.opens(owner)


@pytest.mark.rule("R-08")
def test_more_than_one_look_finds_is_cleared_away_in_one_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_sweep, "AT_ONCE", 2)
    owner = world.person("owner")
    for _ in range(5):
        announce(owner)
    clock.advance(upload_sweep.LATE_SECONDS + 901)
    sweep(world)
    assert db.rows("SELECT count(*) FROM upload") == [(0,)]


@pytest.mark.rule("R-08")
def test_where_no_worker_clears_files_away_that_is_told(world: World) -> None:
    stored(world.person("owner"))
    with structlog.testing.capture_logs() as told:
        sweeping.run(None)
    assert [one["event"] for one in told] == ["uploads.not_cleared"]

    def check() -> str:
        checks: dict[str, str] = world.call("GET", "/ready").json["checks"]
        return checks["uploads"]

    clock.advance(DAY)
    leases.hold(runtime.WORKER_LEASE, "a worker that was told of no folder", 60)
    assert check().startswith("no worker clears them away")
    leases.hold(runtime.FILES_LEASE, "another", 60)
    assert check() == "ok"


@pytest.mark.rule("R-08")
def test_a_file_that_cannot_be_removed_keeps_no_other(world: World) -> None:
    owner = world.gig().owner
    stuck, *others = sorted((stored(owner) for _ in range(3)), key=lambda one: one.key)
    # A folder of its name: no file to unlink, whoever asks.
    path_of(stuck).unlink()
    path_of(stuck).mkdir()
    clock.advance(DAY + 1)
    sweep(world)
    assert [status_of(one) for one in (stuck, *others)] == ["removing", None, None]
    path_of(stuck).rmdir()
    sweep(world)
    assert status_of(stuck) is None
