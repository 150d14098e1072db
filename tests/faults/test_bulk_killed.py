"""A large import whose server dies half-way, and a large export that is sent while it is read."""

from __future__ import annotations

import http.client
import threading
from contextlib import suppress
from typing import Any

import pytest
import simplejson

from tests.processes import Broken, Layout, Stack, Starter
from tests.world import Answer, Gig, eventually

ROWS = 1500
LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", serve=2)}


def send(gig: Gig, text: bytes, via: int) -> Answer:
    headers = {"content-type": "application/x-ndjson", "idempotency-key": "the import"}
    return gig.owner.call("POST", f"{gig.path}/tasks/bulk", raw=text, headers=headers, via=via)


def tasks(stack: Stack) -> int:
    return int(stack.rows("SELECT count(*) FROM task")[0][0])


@pytest.mark.rule("T-07")
@pytest.mark.rule("H-07")
@pytest.mark.parametrize("name", LAYOUTS)
def test_an_import_that_broke_off_is_finished_by_sending_it_again(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    rows: list[dict[str, Any]] = [{"payload": f"{n}"} for n in range(ROWS)]
    text = "".join(f"{simplejson.dumps(one)}\n" for one in rows).encode()

    def first() -> None:
        with suppress(*Broken):
            send(gig, text, via=0)

    sender = threading.Thread(target=first)
    sender.start()
    eventually(lambda: tasks(stack), 60, "it has begun")
    stack.kill(stack.serves[0])
    sender.join()
    assert 0 < tasks(stack) < ROWS
    stack.start()
    answer = send(gig, text, via=1)
    *found, last = map(simplejson.loads, answer.text.splitlines())
    assert last["totals"] == {"rows": ROWS, "taken": ROWS, "refused": 0}
    assert len({one["message_id"] for one in found}) == tasks(stack) == ROWS
    again = send(gig, text, via=0)
    assert (again.text, again.headers["idempotency-replayed"]) == (answer.text, "true")
    exported = _export(stack, gig)
    assert [one["payload"] for one in exported] == [one["payload"] for one in rows]
    assert stack.complaints() == []


def _export(stack: Stack, gig: Gig) -> list[Any]:
    """All of it, and before that a little of it by a caller who hangs up."""
    serve = stack.serves[0]
    for hangs_up in (True, False):
        connection = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=60)
        path = f"/api{gig.path}/export.jsonl"
        connection.request("GET", path, headers={"x-api-key": gig.owner.key})
        answer = connection.getresponse()
        assert answer.getheader("transfer-encoding") == "chunked"
        text = answer.read(10 if hangs_up else None)
        connection.close()
    return [simplejson.loads(line) for line in text.splitlines()]
