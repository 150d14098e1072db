"""What holds for every answer of every test here, besides what it says itself (H-04, H-13)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import simplejson
from structlog.testing import capture_logs

from tests.contract import described
from tests.contract.pushing import pushing
from tests.contract.scene import LACKING
from tests.contract.webhooks import URL
from tests.world import ADMIN_KEY, MASTER_KEY, Answer, Gig, Person, World

__all__ = ["pushing"]

# Nothing that tells of our insides or opens a door, in a refusal or in a line of the log.
INSIDES = re.compile(
    r"Traceback \(most recent|File \"[^\"]*\.py\"|site-packages|psycopg|sqlite3|peewee"
    r"|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM) [\"a-z*]"
)
# 32 bytes in hex are a private key unless they are called a hash.
SECRETS = re.compile(r"mk_[A-Za-z0-9]{32}|whsec_|(?<!hash\": \")\b0x[0-9a-f]{64}\b")
SHOWN_ONCE = {"api_key", "webhook_secret", "invite_url", "webhook", "share_token"}


def _secrets(value: Any) -> Iterator[str]:
    """Tokens that answers showed to those who may have them; nobody else may read them after."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in SHOWN_ONCE and isinstance(member, str):
                yield member.rpartition("=")[2] if "://" in member else member
            yield from _secrets(member)
    elif isinstance(value, list):
        for member in value:
            yield from _secrets(member)


def _check_refusal(answer: Answer) -> None:
    assert answer.status < 500 or answer.json["reason"] in LACKING, answer.text[:500]
    answer.refused(answer.status)
    assert answer.json["error"] == answer.json["detail"]
    assert len(answer.text) < 20_000, "a refusal is short, whatever was sent"


@pytest.fixture
def pair(world: World) -> tuple[Gig, Person]:
    """A gig whose owner is told of proofs, and a worker in it; nothing is sent anywhere."""
    gig = world.gig(proof_webhook_url=URL)
    return gig, world.worker(gig)


@pytest.fixture(autouse=True)
def every_answer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    heard: list[Answer] = []
    plain = World.call

    def call(self: World, method: str, path: str, *args: Any, **options: Any) -> Answer:
        answer = plain(self, method, path, *args, **options)
        heard.append(answer)
        description = described.of(self.app)
        description.check(method, path, answer)
        if answer.status < 300 and method not in ("HEAD", "OPTIONS"):
            description.check_request(method, path, args[0] if args else options.get("body"))
        return answer

    monkeypatch.setattr(World, "call", call)
    with capture_logs() as lines:
        yield
    secrets = {ADMIN_KEY, MASTER_KEY}
    for answer in heard:
        if answer.status < 400:
            secrets.update(_secrets(answer.json))
    log = "\n".join(simplejson.dumps(line, default=repr) for line in lines)
    refusals = [one for one in heard if one.status >= 400 and one.text and "checks" not in one.text]
    for answer in refusals:
        _check_refusal(answer)
    for text in [log, *(one.text for one in refusals)]:
        assert not INSIDES.search(text), INSIDES.search(text)
        assert not SECRETS.search(text), SECRETS.search(text)
        leaked = [one for one in secrets if len(one) > 8 and one in text]
        told = [line for line in text.splitlines() if any(one in line for one in leaked)]
        assert not leaked, f"{leaked} in {told[0][:500]}"
