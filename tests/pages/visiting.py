"""What visitors of the pages do."""

from __future__ import annotations

from tests.pages.chromium import Tab
from tests.processes import Stack
from tests.world import Gig, Person


def base(stack: Stack) -> str:
    return f"http://127.0.0.1:{stack.serves[0].port}"


def visit(tab: Tab, stack: Stack, path: str, who: Person | None, words: str) -> str:
    """Open a page, with this visitor's key where it asks for one; its text once it says `words`."""
    tab.open(base(stack) + path)
    if who is not None:
        tab.wait("Go on with your key")
        tab.type("key", who.key)
        tab.press("Go on")
    return tab.wait(words)


def share_path(worker: Person) -> str:
    """The page of the only share link that a worker has."""
    (mine,) = worker.get("/mailboxes/mine")["mailboxes"]
    return f"/submit/{mine['share_token']}"


def send_html(stack: Stack, gig: Gig, body: str) -> str:
    """A task whose body is HTML; answers its id."""
    path = f"/inbound/webhook/{gig.id}?token={gig.token}"
    headers = {"content-type": "text/html"}
    made = stack.call("POST", path, raw=body.encode(), headers=headers).ok()
    message_id: str = made["message_id"]
    return message_id
