"""Who is shown what: every route that reads, asked by every kind of reader.

`python -m tests.contract.readers` writes what it finds to `web/READERS.md`.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import simplejson

from engine import upload_links, uploads
from engine.chain import local
from tests.contract import readers_scene
from tests.contract.readers_scene import READERS, Cast
from tests.contract.scene import routes
from tests.services import Sqlite
from tests.world import Answer, World

FILE = Path(__file__).parents[2] / "web" / "READERS.md"
# Rows of these lists differ by what they tell of.
BY_TYPE = {"events": "type", "notifications": "kind"}
# Their members are named by data.
OPEN = ("settings", "refuses", "checks")
# What stands under a path: something, or only null, "" and [].
Fields = dict[str, bool]


@dataclass(frozen=True)
class Reading:
    """One route as one reader is answered it."""

    status: int
    reason: str
    fields: Fields
    text: str


@dataclass(frozen=True)
class Asked:
    """A route, about one of several objects that it may be asked about."""

    rule: str
    subject: str
    answers: dict[str, Reading]
    is_page: bool = False

    @property
    def name(self) -> str:
        return self.rule + (f" · {self.subject}" if self.subject else "")


# Tasks of other gigs than the one, by what these are called among the cast's ids.
ELSEWHERE = {"template": "solo", "copy": "solo", "routed": "planned"}
# What a share link may open, or not.
SHARED = (
    "waiting",
    "in hand",
    "draft",
    "reserved for the holder",
    "given back",
    "view only",
    "kept back",
    "with a proof, pending",
    "with a proof, paid",
    "copy",
)


def _subjects(cast: Cast, rule: str) -> dict[str, dict[str, str]]:
    """What a route is asked about, by name: ids in its path, and the rest of its query."""
    tasks = {
        name: {"task_id": task_id}
        | ({"gig_id": cast.ids[ELSEWHERE[name]]} if name in ELSEWHERE else {})
        for name, task_id in cast.tasks.items()
    }
    if rule.endswith(("/<gig_id>/<task_id>", "/tasks/<task_id>")):
        return tasks
    if rule.endswith("/comments"):
        return {name: tasks[name] for name in ("in hand", "waiting")}
    if rule == "/gigs/<gig_id>/proofs/<proof_id>":
        return {name: {"proof_id": proof_id} for name, proof_id in cast.proofs.items()}
    if rule == "/mailboxes/<mailbox_id>/inbound":
        return {"": {}, "summary": {"?": "summary=1"}}
    if rule == "/v1/incoming":
        return {"": {}, "accepted": {"?": "includeAccepted=true"}}
    if "/export." in rule:
        return {what: {"?": f"what={what}"} for what in ("tasks", "proofs", "payouts")}
    if rule == "/uploads/<key>":
        return {name: {"key": key} for name, key in cast.files.items()}
    if rule == "/uploads/<key>/file":
        key = next(iter(cast.files.values()))
        signed = upload_links.to_fetch(uploads.find(key)).partition("?")[2]
        return {"by its signed address": {"key": key, "?": signed}}
    if rule == "/public/upload":
        return {name: {"?": f"key={key}"} for name, key in cast.files.items()}
    if rule in ("/public/task", "/submit/<token>"):
        return {name: {"?": f"task={cast.tasks[name]}"} for name in SHARED}
    return {"": {}}


def _path(cast: Cast, rule: str, instead: dict[str, str], reader: str, lists: bool) -> str:
    path, ids = rule, {**cast.ids, **instead}
    if reader == "link":
        ids["token"] = cast.ids["holder's link"]
    for name in re.findall("<([^>]+)>", path):
        assert name in ids, f"{rule}: say in Cast.ids what {name} is"
        path = path.replace(f"<{name}>", ids[name])
    query = {}
    if rule.startswith("/public/") and (reader == "link" or rule.endswith("invite-info")):
        query["token"] = ids["token"]
    if lists:
        query["limit"] = "200"
    return f"{path}?{urlencode(query)}&{instead.get('?', '')}".rstrip("&?")


def _readers(rule: str) -> tuple[str, ...]:
    """Who asks: a link opens what is public, and nothing else; there no key is read."""
    if rule == "/public/invite-info":
        return ("nobody",)
    if rule.startswith(("/public/", "/submit/")):
        return ("link", "nobody")
    return tuple(reader for reader in READERS if reader != "link")


def read_all(cast: Cast) -> Iterator[Asked]:
    """Every route that reads, of every subject, by every reader who could."""
    for route in routes(cast.world.app):
        if route.method != "GET":
            continue
        lists = "limit" in getattr(route.query, "fields", {})
        for subject, instead in _subjects(cast, route.rule).items():
            answers = {}
            for reader in _readers(route.rule):
                path = _path(cast, route.rule, instead, reader, lists)
                answers[reader] = _read(cast.world.call("GET", path, headers=cast.headers(reader)))
            yield Asked(route.rule, subject, answers)
    yield from _pages(cast)


def _pages(cast: Cast) -> Iterator[Asked]:
    """The pages that links open. What they show has no members, but it has readers."""
    client = cast.world.app.test_client()
    for rule in ("/task/<gig_id>/<task_id>", "/join/<gig_id>", "/submit/<token>"):
        for subject, instead in _subjects(cast, rule).items():
            answers = {}
            for reader in _readers(rule):
                path = _path(cast, rule, instead, reader, False)
                page = client.get(path, headers=cast.headers(reader))
                answers[reader] = Reading(page.status_code, "", {}, page.get_data(as_text=True))
            yield Asked(rule, subject, answers, is_page=True)


def _read(answer: Answer) -> Reading:
    fields: Fields = {}
    if answer.status >= 400:
        return Reading(answer.status, (answer.json or {}).get("reason", ""), fields, answer.text)
    kind = answer.headers["content-type"].partition(";")[0]
    if kind == "text/csv":
        text = io.StringIO(answer.text, newline="")
        _flatten([dict(row) for row in csv.DictReader(text)], "", fields)
    elif kind == "application/x-ndjson":
        rows = [simplejson.loads(line) for line in answer.text.split("\n") if line]
        _flatten(rows, "", fields)
    elif kind == "application/octet-stream":
        fields["the file"] = True
    else:
        _flatten(answer.json, "", fields)
    return Reading(answer.status, "", fields, answer.text)


# Which of them have been tried by now is nobody's to say; the scene waits for one of each reader.
TRIES = "deliveries[].attempts"


def _flatten(value: Any, path: str, found: Fields) -> None:
    """The paths of all members; a null, an empty text and an empty list are members too."""
    last = path.rpartition(".")[2]
    match value:
        case dict() if last not in OPEN:
            for name, member in value.items():
                _flatten(member, f"{path}.{name}" if path else name, found)
        case [*rows] if rows and all(isinstance(row, dict) for row in rows):
            for row in rows:
                kind = row.get(BY_TYPE.get(last, ""), "")
                _flatten(row, f"{path}[{kind}]", found)
        case [] if path == TRIES:
            pass
        case _:
            found[path] = found.get(path, False) or value not in (None, "", [])


# ------------------------------------------------------------ the table

HEAD = """# Who is shown what

Every route that reads, asked in a gig in which everything has happened; what may be told to whom is
the contract's to say, and the test that compares this file with the application checks that too.
Made by `python -m tests.contract.readers`; a change here is a change of what somebody is told.

The readers: the gig's **owner**; the **holder**, whose tasks and proofs these are; another
**member**, who has only a place in the gig; a **stranger**, who has only a key; whoever has the
holder's share **link**; **nobody** has no key. What is shown as *empty* is there, but null, `""` or
`[]`. Routes under `/public` read no key: there the last two are asked.
"""


def table(asked: list[Asked]) -> str:
    """The file's text."""
    sections = [_section(one) for one in asked if not one.is_page]
    pages = ["## Pages", "", "| page | its status for each |", "|---|---|"]
    for one in asked:
        if one.is_page:
            told = (f"{reader} {reading.status}" for reader, reading in one.answers.items())
            pages.append(f"| {one.name} | {' · '.join(told)} |")
    return "\n".join([HEAD, *sections, *pages, ""])


def _section(one: Asked) -> str:
    lines = [f"## {one.name}", ""]
    groups: dict[tuple[str, ...], list[str]] = {}
    names = {name for reading in one.answers.values() for name in reading.fields}
    for name in sorted(names):
        shown = [r for r, reading in one.answers.items() if reading.fields.get(name)]
        empty = [r for r, reading in one.answers.items() if reading.fields.get(name) is False]
        who = [*shown, *(f"{reader} *empty*" for reader in empty)]
        groups.setdefault(tuple(who), []).append(name)
    if groups:
        lines += ["| shown to | members |", "|---|---|"]
        everybody = tuple(one.answers)
        for group, members in groups.items():
            told = "everybody" if group == everybody else ", ".join(group)
            lines.append(f"| {told} | {' · '.join(f'`{name}`' for name in members)} |")
        lines.append("")
    refused = [
        f"{reader} {reading.status} `{reading.reason}`".removesuffix(" ``")
        for reader, reading in one.answers.items()
        if reading.status >= 400
    ]
    if refused:
        lines += [f"Refused: {' · '.join(refused)}.", ""]
    return "\n".join(lines)


def main() -> None:
    files, folder = Sqlite(), Path(tempfile.mkdtemp(prefix="muster-readers-"))
    world = World(files.fresh(), "memory://", chain=local.ensure(folder))
    try:
        world.start()
        FILE.write_text(table(list(read_all(readers_scene.of(world)))))
    finally:
        world.stop()
        local.stop(folder)
        files.stop()


if __name__ == "__main__":
    main()
