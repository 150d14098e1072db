"""Servers that are killed while a file comes in (R-08)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import SQLITE, Stack, Starter
from tests.uploads.files import TEXT, announce
from tests.world import eventually

# What a server does instead of one step of its own, by the name of that step.
DYING = """
import os, signal
from engine import uploads
from jobs import file_stores
from web.cli import main

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

{step} = die
main()
"""
STEPS = ("file_stores.os.fsync", "file_stores.os.link", "uploads.store")


@pytest.mark.rule("R-08")
def test_whoever_is_killed_in_the_middle_of_a_file_has_stored_nothing_of_it(
    start_stack: Starter, tmp_path: Path
) -> None:
    stack = start_stack(SQLITE, UPLOAD_DIR=str(tmp_path / "files"))
    worker = stack.person("worker")
    file = announce(worker, 3_000_000)
    data = b"x" * 3_000_000
    head = f"PUT /api{file.put_path} HTTP/1.1\r\nHost: x\r\ncontent-type: text/plain\r\n"
    coming = tmp_path / "files" / "unfinished"
    with socket.create_connection(("127.0.0.1", stack.serves[0].port)) as peer:
        peer.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data[:2_000_000])
        begun = eventually(lambda: [one for one in coming.glob("*") if one.stat().st_size])
        stack.restart()
    file.read(worker).refused(404)
    assert file.put(data).status == 201
    assert file.read(worker).text == data.decode()
    # What is left of the first is the sweep's to clear away.
    assert list(coming.iterdir()) == begun
    os.utime(begun[0], (0, 0))
    stack.call("POST", "/dev/advance", {"seconds": 3600})
    eventually(lambda: not list(coming.iterdir()), 30)
    assert file.read(worker).text == data.decode()


@pytest.mark.rule("R-08")
@pytest.mark.parametrize("step", STEPS)
def test_a_server_that_dies_before_any_step_leaves_a_file_or_none(
    start_stack: Starter, tmp_path: Path, step: str
) -> None:
    stack = start_stack(SQLITE, UPLOAD_DIR=str(tmp_path / "files"))
    worker = stack.person("worker")
    file = announce(worker)
    _dying(stack, step, file.put_path)
    stack.start()
    if step == "uploads.store":
        # It is there whole, under its name; only its row did not say so.
        assert file.read(worker).text == TEXT.decode()
        file.put(b"y" * len(TEXT)).refused(409, "upload_stored")
    else:
        file.read(worker).refused(404)
        assert file.put().status == 201
    assert file.read(worker).text == TEXT.decode()


def _dying(stack: Stack, step: str, path: str) -> None:
    """Put the file at a server that dies where that step would be."""
    stack.kill()
    port = stack.serves[0].port
    command = [sys.executable, "-c", DYING.format(step=step), "serve", "--port", str(port)]
    dying = subprocess.Popen(command, env=stack.environment, cwd=stack.folder)
    request = f"PUT /api{path} HTTP/1.1\r\nHost: x\r\ncontent-type: text/plain\r\n"
    request += f"content-length: {len(TEXT)}\r\n\r\n"

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    eventually(answers, 60)
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(request.encode() + TEXT)
        assert dying.wait(60) == -signal.SIGKILL
