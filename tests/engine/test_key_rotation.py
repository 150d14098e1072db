"""`muster keys rotate`: after it the old master key can be dropped (Z-07)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import commands, install, key_rotation, letters, webhook_secrets
from engine.chain.client import new_key
from engine.db import db
from engine.errors import Refused
from engine.keyring import new_master_key
from engine.models.access import StoredAnswer
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.models.wallet import Wallet
from tests.contract.webhooks import URL
from tests.process import MUSTER
from tests.shop import shop
from tests.world import ADMIN_KEY, MASTER_KEY, Person, World

KEY = {"idempotency-key": "the first"}
BODY = {"title": "Under a key", "price": "1"}


def fill(world: World) -> dict[str, Any]:
    """One of everything that is encrypted; answers what can be read of it later."""
    gig = world.gig()
    worker = world.worker(gig)
    old_gig = gig.owner.post(f"{gig.path}/webhook-secret/rotate")["webhook_secret"]
    answer = gig.owner.call("POST", "/gigs", BODY, headers=KEY).ok()
    place = shop(world)
    hook = {"order_webhook_url": URL, "order_webhook_secret": "of my own choice"}
    order_id = place.order(place.buyer(), **hook)
    letter = install.current().keyring.encrypt("a letter")
    arguments = {"to": "a@example.com", "encrypted_body": letter, "until": 2**50}
    command = db.write(
        lambda: commands.record(letters.NOTICE, arguments, account_id=None, gig_id=None)
    )
    return {
        "person": gig.owner,
        "gig": gig.id,
        "secrets": (old_gig, gig.secret),
        "mailbox": worker.mailbox["id"],  # type: ignore[attr-defined]
        "worker_secret": worker.secret,  # type: ignore[attr-defined]
        "answer": answer,
        "letter": command.id,
        "order": order_id,
    }


def read(world: World, made: dict[str, Any]) -> None:
    """Everything opens, with the keys that this install has."""
    now = 0
    with db.reading():
        gig = Gig.get(Gig.id == made["gig"])
        mailbox = Mailbox.get(Mailbox.id == made["mailbox"])
        wallets = list(Wallet.select().where(Wallet.is_hot_wallet))
        letter = Command.get(Command.id == made["letter"]).arguments["encrypted_body"]
        order = Task.get(Task.id == made["order"])
    assert webhook_secrets.signing(gig, now) == made["secrets"]
    assert webhook_secrets.of(mailbox) == made["worker_secret"]
    assert webhook_secrets.signing(order, now) == ("of my own choice",)
    keyring = install.current().keyring
    assert keyring.decrypt(letter) == "a letter"
    assert wallets
    for wallet in wallets:
        assert keyring.decrypt(str(wallet.encrypted_key)).startswith("0x")
    person: Person = made["person"]
    person.world = world
    again = person.call("POST", "/gigs", BODY, headers=KEY)
    assert again.ok() == made["answer"] and again.headers["idempotency-replayed"] == "true"


@pytest.mark.rule("Z-07")
def test_after_a_rotation_everything_opens_without_the_old_key(
    backend: tuple[str, str],
) -> None:
    new = new_master_key()
    world = World(*backend)
    made = fill(world)
    world.stop()
    # The new key alone opens none of it: this is what the rotation is for.
    world = World(*backend, MASTER_KEYS=new)
    with pytest.raises(Refused, match="master_key_missing"):
        read(world, made)
    world.stop()
    world = World(*backend, MASTER_KEYS=f"{new},{MASTER_KEY}")
    first = key_rotation.run()
    counted = {name: (one.renewed, one.current) for name, one in first.counts.items()}
    assert first.ok and first.late == 0
    assert counted == {
        "wallets": (3, 0),
        "gig_secrets": (3, 0),
        "mailbox_secrets": (3, 0),
        "order_secrets": (1, 0),
        "stored_answers": (1, 0),
        "letters": (1, 0),
    }
    again = key_rotation.run()
    assert again.ok and not any(one.renewed for one in again.counts.values())
    assert sum(one.current for one in again.counts.values()) == 12
    world.stop()
    world = World(*backend, MASTER_KEYS=new)
    read(world, made)
    world.stop()


@pytest.mark.rule("Z-07")
def test_money_still_moves_once_the_old_key_is_gone(backend: tuple[str, str], chain: Any) -> None:
    new = new_master_key()
    world = World(*backend, chain=chain).start()
    owner, to = world.person(), new_key()[1]
    wallet_id = world.funded_wallet(owner, 10)
    world.stop()
    world = World(*backend, chain=chain, MASTER_KEYS=f"{new},{MASTER_KEY}")
    assert key_rotation.run().ok
    world.stop()
    world = World(*backend, chain=chain, MASTER_KEYS=new).start()
    try:
        owner.world = world
        body = {"to_address": to, "amount": "3"}
        owner.post(f"/wallets/{wallet_id}/transfer", body)
        assert world.usdc_units(to) == 3_000_000
        gig = world.gig(owner)
        owner.post(f"{gig.path}/deposit", {"wallet_alias_id": wallet_id, "amount": "7"})
    finally:
        world.stop()


@pytest.mark.rule("Z-07")
def test_a_rotation_that_is_stopped_goes_on_where_it_was(
    backend: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = new_master_key()
    monkeypatch.setattr(key_rotation, "BATCH", 2)
    world = World(*backend)
    person = world.person()
    for _ in range(7):
        person.post("/wallets")
    world.stop()
    world = World(*backend, MASTER_KEYS=f"{new},{MASTER_KEY}")
    plain, batches = key_rotation._renew, []

    def stopping(*args: Any) -> None:
        if len(batches) == 2:
            raise KeyboardInterrupt
        batches.append(args)
        plain(*args)

    monkeypatch.setattr(key_rotation, "_renew", stopping)
    with pytest.raises(KeyboardInterrupt):
        key_rotation.run()
    monkeypatch.setattr(key_rotation, "_renew", plain)
    report = key_rotation.run()
    wallets = report.counts["wallets"]
    assert report.ok and (wallets.renewed, wallets.current) == (3, 4)
    world.stop()


@pytest.mark.rule("Z-07")
def test_what_changes_while_it_is_renewed_keeps_the_change(
    backend: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server gives a gig a new secret between the rotation's reading and its writing."""
    new = new_master_key()
    world = World(*backend)
    gig = world.gig()
    world.stop()
    world = World(*backend, MASTER_KEYS=f"{new},{MASTER_KEY}")
    gig.owner.world = world
    plain, fresh = key_rotation._read, []

    def racing(kind: Any, rows: Any, count: Any) -> Any:
        found = plain(kind, rows, count)
        if kind.table is Gig and not fresh:
            fresh.append(gig.owner.post(f"{gig.path}/webhook-secret/rotate")["webhook_secret"])
        return found

    monkeypatch.setattr(key_rotation, "_read", racing)
    report = key_rotation.run()
    with db.reading():
        row = Gig.get(Gig.id == gig.id)
    assert webhook_secrets.signing(row, 0) == (fresh[0], gig.secret)
    # What it kept beside the new one is under the old key, which the second look found.
    assert (report.ok, report.late) == (False, 1)
    assert key_rotation.run().ok
    world.stop()


@pytest.mark.rule("Z-07")
def test_the_command_counts_and_says_when_an_old_key_is_missing(
    backend: tuple[str, str], tmp_path: Path
) -> None:
    new, lost = new_master_key(), new_master_key()
    world = World(*backend, MASTER_KEYS=lost)
    world.person().post("/wallets")
    world.stop()
    world = World(*backend)
    world.person().post("/wallets")
    world.stop()

    def muster(keys: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(Path(sys.executable).parent),
            "MUSTER_DATABASE_URL": backend[0],
            "MUSTER_ADMIN_KEY": ADMIN_KEY,
            "MUSTER_MASTER_KEYS": keys,
        }
        return subprocess.run(
            [MUSTER, "keys", "rotate", *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    told = muster(f"{new},{MASTER_KEY}", "--json")
    assert told.returncode == 1
    report = json.loads(told.stdout)
    assert report["ok"] is False and report["late"] == 0
    assert report["counts"]["wallets"] == {"renewed": 1, "current": 0, "unreadable": 1}
    assert "1 rows are under a master key that is missing" in told.stderr
    done = muster(f"{new},{MASTER_KEY},{lost}")
    assert done.returncode == 0 and "1 renewed, 1 were already" in done.stdout
    assert muster(new, "--json").returncode == 0
    none = muster("")
    assert none.returncode == 2 and "no master key" in none.stderr
    for key in (new, lost, MASTER_KEY):
        assert key not in told.stdout + told.stderr + done.stdout + done.stderr
    assert "first master key" in muster(new, "--help").stdout


@pytest.mark.rule("Z-07")
def test_a_secret_that_was_plain_is_sealed(backend: tuple[str, str]) -> None:
    world = World(*backend, MASTER_KEYS="")
    gig = world.gig()
    # What somebody chose may look like anything.
    chosen = "sealed:it only looks so"
    plain = webhook_secrets.seal_any(chosen)
    assert webhook_secrets.unseal_any(plain) == chosen and chosen in plain
    world.stop()
    world = World(*backend)
    sealed = webhook_secrets.renew_any(plain)
    assert sealed is not None and chosen not in sealed
    assert webhook_secrets.unseal_any(sealed) == chosen == webhook_secrets.unseal_any(plain)
    assert webhook_secrets.renew_any(sealed) is None
    assert key_rotation.run().counts["gig_secrets"].renewed == 1
    with db.reading():
        row = Gig.get(Gig.id == gig.id)
        assert not StoredAnswer.select().exists()
    assert row.webhook_secret != gig.secret and webhook_secrets.of(row) == gig.secret
    world.stop()
