"""`muster demo`: one task of each queue, from submission to USDC in the worker's wallet (Z-03).

It uses nothing but the HTTP API of a running install, with the keys in its dev.json, and prints
what each side sees.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import requests
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from engine.errors import SettingsError
from web import datadir

PRICE = "2.50"
DEPOSIT = "10"
TIMEOUT_SECONDS = 90


@dataclass
class Side:
    """One of the two people, and what he saw."""

    name: str
    base_url: str
    key: str
    seen: list[dict[str, Any]]

    def call(self, what: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """One request; a refusal ends the demo with the server's own sentence."""
        try:
            answer = requests.request(
                method,
                path if path.startswith("http") else f"{self.base_url}/api{path}",
                headers={"x-api-key": self.key, "prefer": "wait=60"},
                json=body,
                timeout=TIMEOUT_SECONDS,
            )
        except requests.RequestException as error:
            raise SettingsError(
                f"{self.base_url} does not answer. Start it with muster up."
            ) from error
        found: dict[str, Any] = answer.json()
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
    modes = _queues(Side("owner", told["base_url"], told["owner"]["api_key"], []))
    played: dict[str, dict[str, Any]] = {}
    seen: dict[str, list[dict[str, Any]]] = {mode: [] for mode in modes}
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        for mode in modes:
            bar = progress.add_task(mode)
            owner, worker = (
                Side(name, told["base_url"], told[name]["api_key"], seen[mode])
                for name in ("owner", "worker")
            )

            def step(side: Side, what: str, *call: Any, bar: TaskID = bar, mode: str = mode) -> Any:
                progress.update(bar, description=f"{mode}: {side.name} {what}")
                return side.call(what, *call)

            played[mode] = _play(step, mode, owner, worker, told["owner"]["wallet_id"])
            progress.stop_task(bar)
    if as_json:
        every = [row for mode in modes for row in seen[mode]]
        click.echo(json.dumps({**played, "seen": every}, indent=2))
        return
    for mode, ends in played.items():
        for row in seen[mode]:
            click.echo(f"{row['who']:>7} {row['did']}")
        click.echo(
            f"\n{mode}: the worker's wallet {ends['address']} went from ${ends['before']} "
            f"to ${ends['after']} in transaction {ends['tx_hash']}.\n"
        )


def _queues(owner: Side) -> list[str]:
    """The installed modes whose work is polled for from a queue."""
    listed = owner.call("looks at the modes", "GET", "/modes")["modes"]
    return [str(mode["name"]) for mode in listed if "queue_order" in mode["settings"]]


def _play(step: Any, mode: str, owner: Side, worker: Side, wallet_id: str) -> dict[str, Any]:
    """A queue, played through; in a solo gig the task that is polled is the worker's own copy."""
    gig_body = {"title": f"Demo of {mode}", "price": PRICE, "distribution": mode}
    made = step(owner, "opens a gig", "POST", "/gigs", gig_body)["gig"]
    gig = f"/gigs/{made['id']}"
    invite = made["invite_url"].rpartition("=")[2]
    joined = step(worker, "joins it", "POST", f"{gig}/mailboxes", {"invite": invite})["mailbox"]
    wallet = _wallet_of(step, worker, joined["wallet_address"])
    before = step(worker, "looks at the wallet", "GET", f"/wallets/{wallet}/balances")
    deposit = {"wallet_alias_id": wallet_id, "amount": DEPOSIT}
    step(owner, f"deposits ${DEPOSIT}", "POST", f"{gig}/deposit", deposit)
    step(owner, "sends a task", "POST", made["webhook"], {"say": "hello"})
    (task,) = step(worker, "polls", "POST", f"{gig}/queue/poll", {"count": 1})["tasks"]
    proof = {"task_identifier": task["id"], "proofs": ["hello"]}
    proof_id = step(worker, "hands in a proof", "POST", f"{gig}/proofs", proof)["proof"]["id"]
    step(owner, "approves it", "PATCH", f"{gig}/proofs/{proof_id}", {"action": "approve"})
    step(owner, "settles", "POST", f"{gig}/rollups")
    (rollup,) = step(owner, "reads the payout", "GET", f"{gig}/rollups")["rollups"]
    after = step(worker, "looks at the wallet", "GET", f"/wallets/{wallet}/balances")
    return {
        "address": after["evm_address"],
        "before": before["usdc_balance"],
        "after": after["usdc_balance"],
        "paid": rollup["net_amount"],
        "tx_hash": rollup["tx_hash"],
    }


def _wallet_of(step: Any, worker: Side, address: str) -> str:
    found = step(worker, "lists the wallets", "GET", "/wallets")["wallets"]
    return next(str(one["id"]) for one in found if one["evm_address"] == address)
