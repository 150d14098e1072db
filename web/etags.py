"""Entity tags: what a reader has seen, and whether it is still so (H-05, F14).

A tag is made of a row's `revision`, which every change of it renews, and of nothing else. So it
names the state that can be edited, not the bytes of one answer: it is the same for every reader
and in every encoding, and it does not go stale when money moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from flask import request

from engine.errors import Refused

# RFC 9110: tags in quotes with commas between; empty members count for nothing. Werkzeug's parser
# takes tags without quotes as well.
_ONE = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
_TAG = re.compile(_ONE)
_LIST = re.compile(rf"[ \t,]*{_ONE}(?:[ \t]*,(?:[ \t]*{_ONE})?)*")
_REVISION = re.compile("[1-9][0-9]{0,17}", re.ASCII)


def headers(revision: int) -> dict[str, str]:
    """The header that carries the tag: a strong one, in its quotes."""
    return {"ETag": quoted(revision)}


@contextmanager
def if_match(*, required: bool = False) -> Iterator[frozenset[int] | None]:
    """The revisions that `If-Match` allows; None for all of them.

    A header that is no list of tags allows none, so it is refused as a stale one is: with 412, and
    with the tag as it stands. Without the header 428 where it is `required`.
    """
    with _names(required) as names:
        yield None if names is None else frozenset(int(one) for one in names if _is_number(one))


@contextmanager
def if_match_names() -> Iterator[frozenset[str] | None]:
    """The same where revisions are names and no numbers; 428 without the header (I-03)."""
    with _names(required=True) as names:
        yield names


@contextmanager
def _names(required: bool) -> Iterator[frozenset[str] | None]:
    given = request.headers.get("if-match")
    if given is None and required:
        raise Refused(
            "precondition_required", "Read it first, and send its ETag in the header If-Match."
        )
    try:
        yield None if given is None or given.strip() == "*" else _strong(given.strip())
    except Refused as refusal:
        if refusal.code == "precondition_failed":
            refusal.details["etag"] = quoted(refusal.details.pop("revision"))
        raise


def quoted(revision: int | str) -> str:
    """A revision as a tag."""
    return f'"{revision}"'


def _strong(given: str) -> frozenset[str]:
    """What a list of tags names by strong comparison: a weak tag names nothing."""
    if not _LIST.fullmatch(given):
        return frozenset()
    return frozenset(opaque for weak, opaque in _TAG.findall(given) if not weak)


def _is_number(name: str) -> bool:
    return _REVISION.fullmatch(name) is not None
