"""What every command of the command line has: its options, and how it says what is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from engine.chain.errors import ChainUnavailable
from engine.errors import Refused, SettingsError

F = TypeVar("F", bound=Callable[..., Any])


def sentences(fn: F) -> F:
    """What is wrong is one sentence on standard error and exit code 2, never a traceback."""

    @wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except (SettingsError, ChainUnavailable) as error:
            click.echo(f"muster: {error}", err=True)
        except Refused as refusal:
            click.echo(f"muster: {refusal.message}", err=True)
        sys.exit(2)

    return wrapper  # type: ignore[return-value]


def data_dir_option(fn: F) -> F:
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="The folder of a muster up. Default: .muster, unless MUSTER_DATABASE_URL is set.",
    )(fn)


def json_option(fn: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(fn)


def say_ready(sentence: str, as_json: bool, **facts: str) -> None:
    """A process that runs until it is stopped does its work now: a sentence, or a line of JSON."""
    if as_json:
        click.echo(json.dumps({"ready": True, **facts}))
    else:
        click.echo(sentence, err=True)
