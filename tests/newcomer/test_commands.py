"""What every command of `muster` takes alike."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.process import MUSTER, free_ports
from tests.services import Sqlite
from web import cli


def _commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _commands(command)
        else:
            yield command


@pytest.mark.rule("Z-07")
def test_every_command_takes_help_json_and_a_data_dir() -> None:
    for command in _commands(cli.main):
        taken = {
            name for option in command.get_params(click.Context(command)) for name in option.opts
        }
        assert {"--help", "--json", "--data-dir"} <= taken, command.name
    ports = {name for option in cli.serve.params for name in option.opts}
    assert {"--host", "--port"} <= ports


@pytest.mark.rule("Z-07")
def test_what_runs_until_it_is_stopped_says_in_json_that_it_runs(
    tmp_path: Path, sqlite: Sqlite
) -> None:
    url = sqlite.fresh()
    (port,) = free_ports(1)
    serving = subprocess.Popen(
        [MUSTER, "serve", "--json", "--port", str(port)],
        cwd=tmp_path,
        env={**os.environ, "MUSTER_DATABASE_URL": url, "MUSTER_LOG_LEVEL": "error"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        told = json.loads(serving.stdout.readline())
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
        sqlite.drop(url)
    where = f"http://127.0.0.1:{port}"
    assert told == {"ready": True, "role": "serve", "url": where}
    assert serving.returncode == 0
