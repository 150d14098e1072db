"""What somebody may try to put into a proof, and where it can be put."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.test_exports import RUNS
from tests.world import Answer, Gig, Person, World

JSON = "application/json"
# Kept to the character, however they look.
TEXTS = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><a href="javascript:1"/></svg>',
    "../../../etc/passwd",
    "..\\..\\win.ini",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "\u202egnp.exe \u2066x\u2069",
    "zero\u200bwidth\u200d\u2060\ufeff\u00ad",
    "line\u2028paragraph\u2029next\u0085",
    "a\r\nb\x0b\x0c\x7f\x1b[31m",
    "'; DROP TABLE proof; -- %s ? :x {} ${7*7} {{7*7}} \\0 \\u0000",
    "e\u0301 \u00e9 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0010ffff \ufffd\ufffe",
    " ",
    "null",
    *RUNS,
]
# Each in JSON: broken wherever it stands.
BROKEN = [r'"a\u0000b"', r'"\u0000"', r'"\ud800"', r'"\udfff\ud83d"']
# No text at all.
NO_TEXTS = ["5", "true", "{}", '{"$gt": ""}', '["x"]', "[" * 50 + "]" * 50]


@dataclass
class Stage:
    """A worker who holds a task, has a proof that waits and a draft, and a link of his own."""

    world: World
    gig: Gig
    worker: Person
    # By name: what a path or a body may hold in braces.
    ids: dict[str, str]


@pytest.fixture
def stage(world: World) -> Stage:
    gig = world.gig(review_timeout=-1)
    worker = world.worker(gig)

    def proof(**more: Any) -> str:
        body = {"task_identifier": world.task(gig), **more}
        proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
        return proof_id

    ids = {"gig": gig.path, "proof": f"{gig.path}/proofs/{proof()}"}
    ids["draft"] = f"{gig.path}/proofs/{proof(draft=True)}"
    ids["held"] = world.task(gig)
    worker.post(f"{gig.path}/queue/poll")
    ids["link"] = worker.get("/mailboxes/mine")["mailboxes"][0]["share_token"]
    return Stage(world, gig, worker, ids)


@dataclass(frozen=True)
class Given:
    """A field that somebody sends: its limits, the request, and the rest of its body."""

    name: str
    # Characters, and rows where it is a list.
    most: int
    many: int
    by: str
    method: str
    path: str
    rest: dict[str, str]

    def send(self, stage: Stage, value: str) -> Answer:
        """Send a body in which the field, or its first row, is this piece of JSON."""
        rest = {name: text.format(**stage.ids) for name, text in self.rest.items()}
        others = "".join(f', "{name}": "{text}"' for name, text in rest.items())
        raw = f'{{"{self.name}": {f"[{value}]" if self.many else value}{others}}}'.encode()
        keys = {"worker": stage.worker.key, "owner": stage.gig.owner.key}
        headers = {"content-type": JSON} | ({"x-api-key": keys[self.by]} if self.by in keys else {})
        path = self.path.format(**stage.ids)
        return stage.world.call(self.method, path, raw=raw, headers=headers)


# What a proof is made of: (field, characters, rows)
PARTS = (("proofs", 8000, 1000), ("tags", 256, 25), ("private_note", 8000, 0))
HELD, BY_LINK = {"task_identifier": "{held}"}, {"share_token": "{link}"}
# (fields, who sends them, method, path, the rest of the body)
PLACES: list[tuple[tuple[tuple[str, int, int], ...], str, str, str, dict[str, str]]] = [
    (PARTS, "worker", "POST", "{gig}/proofs", HELD),
    (PARTS, "worker", "PATCH", "{draft}/draft", {}),
    (PARTS, "nobody", "POST", "/public/submit-proof", HELD | BY_LINK),
    ((("tags", 256, 25),), "owner", "PATCH", "{proof}/tags", {}),
    ((("alias", 200, 0),), "owner", "PATCH", "{proof}/alias", {}),
    ((("alias", 200, 0),), "worker", "PATCH", "{gig}/tasks/{held}/alias", {}),
    ((("feedback", 8000, 0),), "owner", "PATCH", "{proof}", {"action": "reject"}),
    ((("reason", 2000, 0),), "owner", "POST", "{proof}/report", {}),
    ((("body", 4000, 0),), "worker", "POST", "{gig}/tasks/{held}/comments", {}),
    ((("violation", 2000, 0),), "worker", "POST", "{gig}/queue/{held}/violation", {}),
    (
        (("violation", 2000, 0),),
        "nobody",
        "POST",
        "/public/task/violation",
        {"task": "{held}"} | BY_LINK,
    ),
]
FIELDS = [Given(*field, *place) for fields, *place in PLACES for field in fields]


def _plainly(stage: Stage, task_id: str, body: dict[str, Any]) -> str:
    whole = {"task_identifier": task_id, **body}
    proof_id: str = stage.worker.post(f"{stage.gig.path}/proofs", whole)["proof"]["id"]
    return proof_id


def _as_a_draft(stage: Stage, task_id: str, body: dict[str, Any]) -> str:
    first = {"task_identifier": task_id, "draft": True}
    proof_id: str = stage.worker.post(f"{stage.gig.path}/proofs", first)["proof"]["id"]
    stage.worker.patch(f"{stage.gig.path}/proofs/{proof_id}/draft", body)
    stage.worker.post(f"{stage.gig.path}/proofs/{proof_id}/submit")
    return proof_id


def _by_a_link(stage: Stage, task_id: str, body: dict[str, Any]) -> str:
    whole = {"task_identifier": task_id, "share_token": stage.ids["link"], **body}
    proof_id: str = stage.world.call("POST", "/public/submit-proof", whole).ok()["proof_id"]
    return proof_id


WAYS = [_plainly, _as_a_draft, _by_a_link]
