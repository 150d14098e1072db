"""`muster demo`: one task of each installed mode (Z-03).

Each goes from submission to USDC in the wallet of whoever did the work: `demo_plays.py`.

It uses nothing but the HTTP API of a running install, with the keys in its dev.json, and prints
what each side sees.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import requests
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from engine.errors import SettingsError
from engine.rules import money
from web import datadir, demo_plays, rendering
from web.demo_plays import Play

TIMEOUT_SECONDS = 90


@dataclass
class Side:
    """One of the two people, and what he saw."""

    name: str
    base_url: str
    key: str
    seen: list[dict[str, Any]]

    def call(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """One request; a refusal ends the demo with the server's own sentence."""
        try:
            answer = requests.request(
                method,
                path if path.startswith("http") else f"{self.base_url}/api{path}",
                headers={"x-api-key": self.key, "prefer": "wait=60", **(headers or {})},
                json=body,
                timeout=TIMEOUT_SECONDS,
            )
        except requests.RequestException as error:
            raise SettingsError(
                f"{self.base_url} does not answer. Start it with muster up."
            ) from error
        found: Any = answer.json() if answer.content else {}
        if not answer.ok:
            raise SettingsError(f"{what}: {found.get('error', answer.text)}")
        if answer.status_code == 202:
            found = self._finished(found["command_id"])
        self.seen.append({"who": self.name, "did": what, "answer": found})
        return found

    def _finished(self, command_id: str) -> dict[str, Any]:
        while True:
            state = self.call("waits", "GET", f"/commands/{command_id}")
            if state["status"] == "done":
                result: dict[str, Any] = state["result"]
                return result
            if state["status"] == "failed":
                raise SettingsError(str(state["error"]["message"]))
            time.sleep(1)


def run(folder: Path, as_json: bool) -> None:
    told = datadir.read(folder / datadir.DEVELOPER)
    if not told:
        raise SettingsError(f"There is no install in {folder}; start one with muster up.")
    plays = _plays(Side("owner", told["base_url"], told["owner"]["api_key"], []))
    played: dict[str, dict[str, Any]] = {}
    seen: dict[str, list[dict[str, Any]]] = {mode: [] for mode in plays}
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        for mode, play in plays.items():
            bar = progress.add_task(mode)
            payer, worker = (
                Side(name, told["base_url"], told[account]["api_key"], seen[mode])
                for name, account in zip(play.sides, ("owner", "worker"), strict=True)
            )

            def step(side: Side, what: str, *call: Any, bar: TaskID = bar, mode: str = mode) -> Any:
                progress.update(bar, description=f"{mode}: {side.name} {what}")
                return side.call(what, *call)

            played[mode] = play.run(step, mode, payer, worker, told["owner"]["wallet_id"])
            progress.stop_task(bar)
    if as_json:
        every = [row for mode in plays for row in seen[mode]]
        click.echo(json.dumps({**played, "seen": every}, indent=2))
        return
    for mode, ends in played.items():
        for row in seen[mode]:
            click.echo(f"{row['who']:>7} {row['did']}")
        click.echo()
        for who, wallet in ends["wallets"].items():
            before, after = (
                rendering.price(money.parse_units(wallet[when])) for when in ("before", "after")
            )
            click.echo(
                f"{mode}: the {who}'s wallet {wallet['address']} went from ${before} to ${after}."
            )
        for other, answer in ends.get("answers", {}).items():
            click.echo(f"{other}: a task is answered {json.dumps(answer)}.")
        click.echo(f"{mode}: paid in transaction {ends['tx_hash']}.\n")


def _plays(owner: Side) -> dict[str, Play]:
    """What is played in each installed mode, under the first of its names."""
    listed = owner.call("looks at the modes", "GET", "/modes")["modes"]
    first = [mode for mode in listed if mode["name"] == mode["names"][0]]
    found = {str(mode["name"]): demo_plays.of(mode) for mode in first}
    return {name: play for name, play in found.items() if play is not None}
