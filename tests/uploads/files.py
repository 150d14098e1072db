"""Putting and reading files as a client does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import upload_links, uploads
from tests.world import Answer, Person, World

TEXT = b"a wren, seen twice"


@dataclass
class File:
    """A file that was announced, and what it is addressed by."""

    world: World
    key: str
    url: str
    presigned_url: str
    headers: dict[str, str]

    @property
    def put_path(self) -> str:
        return self.presigned_url.partition("/api")[2]

    @property
    def fetch_query(self) -> str:
        """Of the address by which anybody reads it for a minute."""
        return upload_links.to_fetch(uploads.find(self.key)).partition("?")[2]

    def put(self, data: bytes = TEXT, **headers: str) -> Answer:
        sent = {**self.headers, **headers}
        return self.world.call("PUT", self.put_path, raw=data, headers=sent)

    def read(self, who: Person | None) -> Answer:
        path = f"/uploads/{self.key}"
        return self.world.call("GET", path) if who is None else who.call("GET", path)

    def opens(self, who: Person) -> bool:
        """Is it his to read? Every other answer is the one 404."""
        answer = self.read(who)
        if answer.status != 200:
            answer.refused(404, "not_found")
        return answer.status == 200


def described(size: int = len(TEXT), **more: Any) -> dict[str, Any]:
    given = {"filename": "wren.txt", "content_type": "text/plain", "content_length": size}
    return {**given, **more}


def announce(who: Person, size: int = len(TEXT), **more: Any) -> File:
    made = who.post("/upload/presign", described(size, **more))
    return File(who.world, made["key"], made["url"], made["presigned_url"], made["headers"])


def stored(who: Person, data: bytes = TEXT, **more: Any) -> File:
    """A file of his, put."""
    file = announce(who, len(data), **more)
    file.put(data).ok()
    return file
