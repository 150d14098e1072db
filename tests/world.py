"""An install in this process, and people who call its API."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import simplejson
from flask import Flask

from engine import development, install, reconcile, settings
from engine.chain.local import LocalChain
from engine.rules.money import UNITS_PER_DOLLAR
from jobs.runtime import Runtime
from web import app as web_app
from web.waiting import SLOT, Slot

ADMIN_KEY = "admin-key-of-the-tests"
MASTER_KEY = "tJ8cWjzZ0ZkH7cXkqk3c1xkZ3yq0gq1m0nC1l0cHq9E="
_numbers = itertools.count(1)
LONGEST_PAUSE_SECONDS = 0.2


@dataclass
class Answer:
    status: int
    json: Any
    headers: Any
    text: str

    def ok(self) -> Any:
        assert self.status < 300, f"{self.status}: {self.text}"
        return self.json

    def refused(self, status: int, reason: str | None = None) -> Any:
        """The refusal's body, after checking that it has the shape of every error (H-04)."""
        assert self.status == status, f"{self.status}: {self.text}"
        assert self.headers["content-type"].startswith("application/problem+json")
        for member in ("error", "reason", "type", "title", "status", "detail"):
            assert member in self.json, self.text
        assert self.json["status"] == status
        if reason is not None:
            assert self.json["reason"] == reason, self.text
        return self.json


class Person:
    """An account with a key."""

    def __init__(self, world: World, email: str) -> None:
        self.world, self.email = world, email
        made = world.call(
            "POST",
            "/admin/users/provision",
            {"email": email},
            headers={"x-admin-key": ADMIN_KEY},
        ).ok()
        self.id, self.key = made["user_id"], made["api_key"]

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = {"x-api-key": self.key, **options.pop("headers", {})}
        return self.world.call(method, path, body, headers=headers, **options)

    def get(self, path: str) -> Any:
        return self.call("GET", path).ok()

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, body).ok()

    def patch(self, path: str, body: Any) -> Any:
        return self.call("PATCH", path, body).ok()


@dataclass
class Gig:
    id: str
    owner: Person
    invite: str
    token: str
    secret: str

    @property
    def path(self) -> str:
        return f"/gigs/{self.id}"


class World:
    """Muster in this process: API, and once `start()` was called workers and deliveries."""

    def __init__(
        self, database_url: str, broker_url: str, chain: LocalChain | None = None, **more: str
    ) -> None:
        given = {
            "STAGE": "dev",
            "DATABASE_URL": database_url,
            "BROKER_URL": broker_url,
            "ADMIN_KEY": ADMIN_KEY,
            "MASTER_KEYS": MASTER_KEY,
            "CONFIRMATIONS": "1",
            "WEBHOOK_ALLOW_PRIVATE": "loopback",
            "WORKER_THREADS": "4",
            "UPLOAD_DIR": f"{tempfile.gettempdir()}/muster-uploads-{os.getpid()}-{next(_numbers)}",
        }
        if chain is not None:
            given |= chain_settings(chain)
        self.settings = settings.load({}, {**given, **more})
        self.runtime = Runtime(self.settings)
        self.app = _app(self.runtime)
        self.chain = chain
        self._following: threading.Thread | None = None
        self._stop = threading.Event()

    def start(self) -> World:
        """Start the workers, and follow the chain as the scheduler's bell would."""
        self.runtime.start_workers()
        if self.chain is not None:
            self.follow()
        return self

    def follow(self) -> None:
        """Look at the chain, again and again."""
        self._stop.clear()
        self._following = threading.Thread(target=self._follow, daemon=True)
        self._following.start()

    def _follow(self) -> None:
        looks = itertools.count()
        while not self._stop.wait(0.1):
            busy = not reconcile.idle()
            if busy:
                development.mine(1)
            # While nothing of ours is under way there is little to see.
            if busy or next(looks) % 5 == 0:
                self.runtime.actors.ring("follow")

    def stop_following(self) -> None:
        self._stop.set()
        if self._following is not None:
            self._following.join()

    def stop(self) -> None:
        self.stop_following()
        self.runtime.stop()
        shutil.rmtree(self.settings.UPLOAD_DIR, ignore_errors=True)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        sent = dict(headers or {})
        data = raw
        if body is not None:
            data = simplejson.dumps(body, use_decimal=True).encode()
            sent.setdefault("content-type", "application/json")
        client, slot = self.app.test_client(), Slot()
        answer = client.open(
            "/api" + path, method=method, data=data, headers=sent, environ_overrides={SLOT: slot}
        )
        until = time.monotonic() + slot.seconds
        # As the server's front does it, with a look now and then instead of a bell.
        while slot.topics and not slot.stream and time.monotonic() < until:
            time.sleep(0.05)
            slot = Slot(resume=slot.resume, resumed=True)
            answer = client.open(
                "/api" + path,
                method=method,
                data=data,
                headers=sent,
                environ_overrides={SLOT: slot},
            )
        text = answer.get_data(as_text=True)
        answer.close()
        is_json = "json" in (answer.content_type or "").replace("ndjson", "")
        parsed = simplejson.loads(text, use_decimal=True) if is_json and text else None
        return Answer(answer.status_code, parsed, answer.headers, text)

    def person(self, name: str | None = None) -> Person:
        return Person(self, f"{name or 'person'}-{next(_numbers)}@example.com")

    def gig(self, owner: Person | None = None, **fields: Any) -> Gig:
        owner = owner or self.person("owner")
        made = owner.post("/gigs", {"title": "A gig", "price": "2.50", **fields})
        view = made["gig"]
        return Gig(
            view["id"],
            owner,
            view.get("invite_url", "=").rpartition("=")[2],
            view["webhook"].rpartition("=")[2],
            made["webhook_secret"],
        )

    def worker(self, gig: Gig, person: Person | None = None, **fields: Any) -> Person:
        """Somebody who has joined the gig; `worker.mailbox` is his place in it."""
        person = person or self.person("worker")
        body = {**({"invite": gig.invite} if gig.invite else {}), **fields}
        made = person.post(f"{gig.path}/mailboxes", body)
        person.mailbox = made["mailbox"]  # type: ignore[attr-defined]
        person.secret = made.get("webhook_secret")  # type: ignore[attr-defined]
        return person

    def send(self, gig: Gig, payload: str = "{}", **query: Any) -> Answer:
        from urllib.parse import urlencode

        return self.call(
            "POST",
            f"/inbound/webhook/{gig.id}?{urlencode({'token': gig.token, **query})}",
            raw=payload.encode(),
            headers={"content-type": "text/plain"},
        )

    def task(self, gig: Gig, payload: str = "{}", **query: Any) -> str:
        message_id: str = self.send(gig, payload, **query).ok()["message_id"]
        return message_id

    def funded_wallet(self, owner: Person, dollars: int = 1000) -> str:
        wallet = owner.post("/wallets", {"label": "hot"})["wallet"]
        development.faucet(wallet["evm_address"], dollars * UNITS_PER_DOLLAR, 10**19)
        wallet_id: str = wallet["id"]
        return wallet_id

    def fund(self, gig: Gig, amount: str = "100") -> Any:
        wallet_id = self.funded_wallet(gig.owner)
        body = {"wallet_alias_id": wallet_id, "amount": amount}
        return gig.owner.post(f"{gig.path}/deposit", body)

    def usdc_units(self, address: str) -> int:
        return install.treasury().usdc_units(address)


_apps: dict[bool, Flask] = {}


def _app(runtime: Runtime) -> Flask:
    """An application over this runtime. Only its settings differ from test to test."""
    dev = runtime.settings.is_dev
    if dev not in _apps:
        _apps[dev] = web_app.create(runtime)
    if dev:
        development.check_stage()
    _apps[dev].config.update(MUSTER=runtime.settings, RUNTIME=runtime)
    return _apps[dev]


def chain_settings(chain: LocalChain) -> dict[str, str]:
    return {
        "CHAIN_RPC_URL": chain.rpc_url,
        "TREASURY_ADDRESS": chain.treasury_address,
        "USDC_ADDRESS": chain.usdc_address,
        "OPERATOR_KEY": chain.operator_key,
        "REFUNDER_KEY": chain.refunder_key,
        "FAUCET_KEY": chain.minter_key,
    }


def approved_proof(world: World, gig: Gig, worker: Person, **query: Any) -> str:
    """A task sent, taken, proven and approved; answers the proof's id."""
    world.task(gig, **query)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": task["id"], "proofs": ["done"]})[
        "proof"
    ]
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    proof_id: str = proof["id"]
    return proof_id


def eventually(check: Callable[[], Any], seconds: float = 20, what: str = "") -> Any:
    """What `check` answers once that is true; it is asked ever more slowly.

    Who asks without a pause takes the processor from those whose work he waits for.
    """
    until, pause = time.monotonic() + seconds, 0.02
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < until, f"not within {seconds} s: {what or check}"
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE_SECONDS)


def at_once(count: int, fn: Callable[[int], Any]) -> list[Any]:
    """Run `fn(0)…fn(count - 1)` in threads that start together; answers or raises what they do."""
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = fn(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
