"""The README's script hands a letter from the mail server to a running install (T-01)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.process import free_ports
from tests.processes import SQLITE, Starter

README = Path(__file__).parents[2] / "README.md"
LETTER = b"Subject: A bird\r\nFrom: ana@example.com\r\n\r\nWhich one is it?\r\n"
SEND_BACK, TRY_AGAIN = 65, 75


@pytest.mark.rule("T-01")
def test_the_readmes_script_makes_a_task_of_a_letter(start_stack: Starter, tmp_path: Path) -> None:
    stack = start_stack(SQLITE, INBOUND_EMAIL_DOMAIN="tasks.example.com")
    gig = stack.gig()
    to = gig.owner.get(gig.path)["gig"]["inbound_email"]
    (text,) = re.findall(r"```sh\n(#!/bin/sh\n# muster-mail.*?)```", README.read_text(), re.S)
    script = tmp_path / "muster-mail"
    script.write_text(text)
    script.chmod(0o700)

    def deliver(recipient: str, port: int | None) -> int:
        environment = {**os.environ, "MUSTER_URL": f"http://127.0.0.1:{port}"}
        done = subprocess.run(
            [script, recipient], input=LETTER, env=environment, capture_output=True, timeout=60
        )
        return done.returncode

    assert deliver(to, stack.serves[0].port) == 0
    (task,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert (task["subject"], task["payload"]) == ("A bird", "Which one is it?\n")
    assert deliver("nobody@tasks.example.com", stack.serves[0].port) == SEND_BACK
    (closed,) = free_ports(1)
    assert deliver(to, closed) == TRY_AGAIN
