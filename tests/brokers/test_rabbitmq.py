"""The scaled-out product over RabbitMQ instead of Redis (Z-04).

Run by `make test-rabbitmq`: the server comes from the system's packages, not from pip.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.process import free_ports
from tests.processes import SCALED, Stack
from tests.services import Postgres
from tests.world import approved_proof, eventually

pytestmark = pytest.mark.rabbitmq
START_SECONDS = 90


class Rabbit:
    """One RabbitMQ node, its files in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.port, distribution = free_ports(2)
        self._environment = {
            **os.environ,
            "RABBITMQ_NODENAME": f"muster{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "HOME": str(folder),
        }
        binary = shutil.which("rabbitmq-server")
        assert binary is not None, "install rabbitmq-server first"
        self._binary = Path(binary).resolve()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert time.monotonic() < until, "RabbitMQ does not start"
            time.sleep(0.2)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)


@pytest.fixture
def rabbit(tmp_path: Path) -> Iterator[Rabbit]:
    made = Rabbit(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.mark.rule("Z-04")
def test_work_is_paid_over_rabbitmq_and_survives_its_restart(
    rabbit: Rabbit, postgres: Postgres, chain: LocalChain, tmp_path: Path
) -> None:
    url = postgres.fresh()
    stack = Stack(url, rabbit.url, tmp_path / "stack", SCALED, chain)
    try:
        stack.start()
        eventually(lambda: stack.call("GET", "/ready").status == 200, 60)
        gig = stack.gig(price="1")
        worker = stack.worker(gig)
        with Miner(stack):
            stack.fund(gig, "10")
            approved_proof(stack, gig, worker)
            assert gig.owner.post(f"{gig.path}/rollups")["rollups"][0]["status"] == "paid"

            rabbit.stop()
            approved_proof(stack, gig, worker)
            assert stack.call("GET", "/ready").status == 503
            rabbit.start()
            command = gig.owner.call(
                "POST", f"{gig.path}/rollups", headers={"prefer": "wait=60"}
            ).json
            assert command is not None
            address = worker.mailbox["wallet_address"]
            eventually(lambda: stack.usdc_units(address) == 2_000_000, 90)
        stack.audit()
    finally:
        stack.stop()
        postgres.drop(url)
