"""A gig of planned work and its people, as their clients see it."""

from __future__ import annotations

import itertools
from typing import Any

from tests.world import Answer, Gig, Person, World

_keys = itertools.count(1)


def gig(world: World, **fields: Any) -> Gig:
    return world.gig(distribution="incoming", **{"price": "0", **fields})


def send(world: World, to: Gig, body: Any = None, **query: Any) -> str:
    """A request that is sent to the gig; answers the task's id."""
    import json
    from urllib.parse import urlencode

    told = {"title": "Review release summary", **(body or {})}
    answer = world.call(
        "POST",
        f"/inbound/webhook/{to.id}?{urlencode({'token': to.token, **query})}",
        raw=json.dumps(told).encode(),
        headers={"content-type": "application/json"},
    )
    task_id: str = answer.ok()["message_id"]
    return task_id


def items(worker: Person, *, accepted: bool = False) -> list[Any]:
    flag = "?includeAccepted=true" if accepted else ""
    found: list[Any] = worker.get(f"/v1/incoming{flag}")
    return found


def item(worker: Person) -> Any:
    """The one item of his desk, whatever its state."""
    (found,) = items(worker, accepted=True)
    return found


def use(
    worker: Person,
    number: Any,
    verb: str,
    body: Any = None,
    *,
    etag: str | None = "*",
    key: str | None = "",
    **headers: str,
) -> Answer:
    """One of the actions; under a new key unless one is given, None for none."""
    sent = dict(headers)
    if etag is not None:
        sent["if-match"] = etag
    if key is not None:
        sent["idempotency-key"] = key or f"key-{next(_keys)}"
    return worker.call("POST", f"/v1/incoming/{number}/{verb}", body, headers=sent)


def done(answer: Answer) -> Answer:
    assert (answer.status, answer.text) == (204, ""), f"{answer.status}: {answer.text}"
    return answer
