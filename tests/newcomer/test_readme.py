"""The README, followed as it stands: `muster up`, then its lines pasted into a shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests

ROOT = Path(__file__).parents[2]
MUSTER = Path(sys.executable).with_name("muster")
# What the demo plays, and what the worker or vendor has earned by it.
EARNED = {
    "queue": "2.5",
    "queue_solo": "2.5",
    "inbound_proof": "2.5",
    "round_robin": "2.5",
    "incoming": "2.5",
    "inbound_order": "2.27",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Up:
    """`muster up` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, Any]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        with (self.folder / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [MUSTER, "up", "--port", str(self.port)],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 60
        while True:
            assert self.process.poll() is None, (self.folder / "up.log").read_text()
            try:
                ready = requests.get(f"http://127.0.0.1:{self.port}/api/ready", timeout=2)
                if ready.ok:
                    break
            except requests.RequestException:
                pass
            assert time.monotonic() < until, (self.folder / "up.log").read_text()
            time.sleep(0.1)
        told: dict[str, Any] = json.loads((self.folder / ".muster/dev.json").read_text())
        return told

    def stop(self, how: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(60)


@pytest.fixture
def up(tmp_path: Path, anvil: None) -> Iterator[Up]:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    made = Up(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()
    stop_chain = (
        "from pathlib import Path; from engine.chain import local; local.stop(Path('.muster'))"
    )
    subprocess.run([sys.executable, "-c", stop_chain], cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / ".muster")


@pytest.mark.rule("Z-01")
def test_the_lines_of_the_readme_end_with_usdc_in_the_wallets_of_worker_and_vendor(up: Up) -> None:
    up.start()
    text = (ROOT / "README.md").read_text()
    (lines,) = re.findall(r"```sh\n(dev\(\).*?)```", text, re.S)
    (orders,) = re.findall(r"```sh\n(# The vendor opens a shop.*?)```", text, re.S)
    shell = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", f"{lines}\n{orders}"],
        cwd=up.folder,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert shell.returncode == 0, shell.stdout + shell.stderr
    assert '"usdc_balance": "2.5"' in shell.stdout
    assert "on chain: $2.50" in shell.stdout
    assert "The books balance." in shell.stdout
    assert "Held by no one's hand…" in shell.stdout
    assert '"funded_total": 3.3' in shell.stdout and '"net_amount": 3' in shell.stdout
    assert "[('withdrawn', 3.3), ('settled', 3.3)]" in shell.stdout


def _titles(told: dict[str, Any]) -> set[str]:
    found = set()
    for name in ("owner", "worker"):
        headers = {"x-api-key": told[name]["api_key"]}
        answer = requests.get(f"{told['base_url']}/api/gigs/mine", headers=headers, timeout=10)
        found |= {gig["title"] for gig in answer.json()["gigs"]}
    return found


def _restart(up: Up, first: dict[str, Any], how: int) -> dict[str, Any]:
    """Stop and start again, whatever the end; the keys and addresses are the same."""
    status = up.stop(how)
    assert status == (0 if how == signal.SIGTERM else -signal.SIGKILL)
    second = up.start()
    for name in ("owner", "worker", "treasury_address", "usdc_address"):
        assert second[name] == first[name]
    return second


@pytest.mark.rule("Z-01")
@pytest.mark.rule("Z-03")
def test_a_killed_install_keeps_all_that_a_demo_of_every_mode_has_made(up: Up) -> None:
    first = up.start()
    demo = [MUSTER, "demo", "--json"]
    played = subprocess.run(demo, cwd=up.folder, capture_output=True, check=True, timeout=240)
    told = json.loads(played.stdout)
    assert told.keys() == {*EARNED, "seen"}
    for mode, earned in EARNED.items():
        wallets = told[mode]["wallets"]
        (worker,) = [wallets[who] for who in wallets if who in ("worker", "vendor")]
        assert (worker["before"], worker["after"]) == ("0", earned), mode
    ((other, answer),) = told["round_robin"]["answers"].items()
    assert (answer["status"], answer["targets"]) == ("forwarded", 1)
    order = told["inbound_order"]
    buyer = order["wallets"]["buyer"]
    assert Decimal(buyer["before"]) - Decimal(buyer["after"]) == Decimal("2.5")
    assert order["note_before"] is None and order["note_after"].startswith("hello")

    second = _restart(up, first, signal.SIGKILL)
    assert _titles(second) == {f"Demo of {mode}" for mode in (*EARNED, other)}
    audit = subprocess.run([MUSTER, "audit"], cwd=up.folder, capture_output=True, timeout=60)
    assert audit.returncode == 0, audit.stdout + audit.stderr


@pytest.mark.rule("Z-01")
def test_an_install_that_is_told_to_stop_keeps_all_data(up: Up) -> None:
    first = up.start()
    headers = {"x-api-key": first["owner"]["api_key"]}
    made = {"title": "Kept"}
    requests.post(f"{first['base_url']}/api/gigs", json=made, headers=headers, timeout=10)
    assert _titles(_restart(up, first, signal.SIGTERM)) == {"Kept"}


@pytest.mark.rule("Z-01")
def test_what_holds_keys_is_for_its_owner_only(up: Up) -> None:
    up.start()
    for name in ("dev.json", "install.json", "chain/keys.json"):
        mode = (up.folder / ".muster" / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, name


@pytest.mark.rule("Z-05")
def test_a_wrong_setting_stops_the_start_with_one_sentence(tmp_path: Path) -> None:
    wrong = subprocess.run(
        [MUSTER, "serve"],
        cwd=tmp_path,
        env={**os.environ, "MUSTER_DATABASE_URL": "mysql://x"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("muster: MUSTER_DATABASE_URL: ")
    assert len(wrong.stderr.strip().splitlines()) == 1


@pytest.mark.rule("Z-05")
def test_a_wrong_setting_stops_an_up_before_its_chain_is_started(tmp_path: Path) -> None:
    wrong = subprocess.run(
        [MUSTER, "up", "--port", str(free_port())],
        cwd=tmp_path,
        env={**os.environ, "MUSTER_SWEEP_SECONDS": "often"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("muster: MUSTER_SWEEP_SECONDS: ")
    assert not (tmp_path / ".muster/chain").exists()


@pytest.mark.rule("Z-01")
def test_a_port_that_is_taken_is_said_in_one_sentence(up: Up) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        start = subprocess.run(
            [MUSTER, "up", "--port", port],
            cwd=up.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert start.returncode == 2
    assert f"Port {port}" in start.stderr
    assert "Traceback" not in start.stderr


@pytest.mark.rule("Z-01")
def test_a_second_one_in_the_same_folder_leaves_the_first_alone(up: Up) -> None:
    told = up.start()
    second = subprocess.run(
        [MUSTER, "up", "--port", str(free_port())],
        cwd=up.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode == 2
    assert ".muster already" in second.stderr
    health = requests.get(f"{told['base_url']}/api/health", timeout=10).json()
    assert health["chain"]["chain_id"]
