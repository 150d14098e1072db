"""A letter as it came, read for what a task is made of.

Whatever the bytes are, something is read of them: broken headers, encodings and character sets are
taken as far as they go, since a letter that is refused for them is lost to its sender. The parser
of the standard library raises errors of every kind for what is malformed, so here all are caught.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from email.utils import getaddresses
from typing import TypeVar

MAX_SUBJECT = 500
# With what is put before it, of 255 characters that an external id may have.
MAX_ID = 250
# Of a header no more is looked at, and no more parts of a letter: some take ever longer to read.
MAX_HEADER = 10_000
MAX_ADDRESSES = 100
MAX_PARTS = 200
# Where the recipients are looked for, before anything else is read.
MAX_HEAD = 65_536
# Where the envelope's recipient may have been written down, the surest first.
RECIPIENTS = ("Delivered-To", "X-Original-To", "To", "Cc")
PLAIN, HTML = "text/plain", "text/html"
# Python knows these by name, and they are none that text is sent in.
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}
_ESCAPED = re.compile("[\ud800-\udfff]+")

Found = TypeVar("Found")


@dataclass(frozen=True)
class Letter:
    """What a letter says. `message_id` is without its angle brackets, and "" if there is none;
    `why_automatic` is None for one that a person sent."""

    subject: str
    message_id: str
    body: str
    content_type: str
    why_automatic: str | None


class _Short(Compat32):
    """Headers no longer than somebody would write them."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_HEADER]


_POLICY = _Short()


def recipients(raw: bytes) -> list[str]:
    """Whom a letter went to, by its headers, in the order of `RECIPIENTS`; little is read of it."""
    head = BytesHeaderParser(policy=_POLICY).parsebytes(raw[:MAX_HEAD])
    return [
        address for name in RECIPIENTS for address in addresses(_header(head, name))[:MAX_ADDRESSES]
    ]


def read(raw: bytes) -> Letter:
    """Read a letter; of a body in several forms the plain one, else the HTML."""
    try:
        message: Message = BytesParser(policy=_POLICY).parsebytes(raw)
    except Exception:
        # Its parts make no sense, or are too deep in one another: its headers, and all of the rest.
        message = BytesHeaderParser(policy=_POLICY).parsebytes(raw)
    body, content_type = _tried(lambda: _body(message), ("", PLAIN))
    return Letter(
        subject=_tried(lambda: _subject(message), ""),
        message_id=_message_id(message),
        body=body,
        content_type=content_type,
        why_automatic=_why_automatic(message),
    )


def _tried(fn: Callable[[], Found], otherwise: Found) -> Found:
    try:
        return fn()
    except Exception:
        return otherwise


def _header(message: Message, name: str) -> list[str]:
    """What the headers of this name say, unfolded, as text that can be kept."""
    found = []
    # Their values are no texts where they have bytes that are not ASCII.
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            text = _unescaped(str(value))
            found.append(" ".join(text.split()))
    return found


def _first(message: Message, name: str) -> str | None:
    return next(iter(_header(message, name)), None)


def _unescaped(text: str) -> str:
    """The parser keeps bytes beyond ASCII as lone surrogates; they are read as UTF-8."""
    raw = text.encode("utf-8", "surrogateescape") if _ESCAPED.search(text) else text.encode()
    return _kept(raw.decode("utf-8", "replace"))


def _kept(text: str) -> str:
    """Without what no database takes."""
    return _ESCAPED.sub("\ufffd", text).replace("\0", "\ufffd")


def _subject(message: Message) -> str:
    text = _first(message, "Subject") or ""
    parts = _tried(lambda: decode_header(text), [(text, None)])
    words = "".join(
        part if isinstance(part, str) else _decoded(part, charset) for part, charset in parts
    )
    return " ".join(words.split())[:MAX_SUBJECT]


def _message_id(message: Message) -> str:
    text = (_first(message, "Message-ID") or "").strip("<> ")
    return text if len(text) <= MAX_ID else ""


def addresses(headers: list[str]) -> list[str]:
    """The bare addresses in what such headers say: of `"Ana" <ana@x.org>` what is in brackets."""
    none: list[tuple[str, str]] = []
    return [address for _, address in _tried(lambda: getaddresses(headers), none) if address]


def _why_automatic(message: Message) -> str | None:
    """Did no person send it (RFC 3834)? Nobody is to answer it then, and it is no task."""
    said = _first(message, "Auto-Submitted")
    if said is not None and said.partition(";")[0].strip().lower() != "no":
        return "auto_submitted"
    path = (_first(message, "Return-Path") or "").strip("<> ").partition("@")[0]
    has_path = "Return-Path" in message
    # Some servers write this where there is nobody.
    from_nobody = has_path and path.lower() in ("", "mailer-daemon")
    if from_nobody or message.get_content_type() == "multipart/report":
        return "bounce"
    return None


def _body(message: Message) -> tuple[str, str]:
    found: dict[str, str] = {}
    for part in _parts(message):
        kind = part.get_content_type()
        if kind in (PLAIN, HTML) and kind not in found and not _is_attached(part):
            found[kind] = _text(part)
    if PLAIN in found or HTML not in found:
        return found.get(PLAIN, ""), PLAIN
    return found[HTML], HTML


def _parts(message: Message) -> Iterator[Message]:
    """The parts that hold something, in order; not those of a letter inside it."""
    waiting: list[Message] = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        if not part.is_multipart():
            yield part
        elif part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            waiting += [one for one in reversed(list(inner)) if isinstance(one, Message)]


def _is_attached(part: Message) -> bool:
    how = (_first(part, "Content-Disposition") or "").lower()
    return how.startswith("attachment") or "filename" in how


def _text(part: Message) -> str:
    raw = part.get_payload(decode=True)
    if isinstance(raw, bytes) and raw:
        text = _decoded(raw, _tried(part.get_content_charset, None))
    else:
        # What says that it is encoded, and is not, decodes to nothing.
        text = _unescaped(_tried(lambda: str(part.get_payload()), ""))
    return text.replace("\r\n", "\n")


def _is_known(charset: str) -> bool:
    if charset.replace("-", "_").lower() in _NO_CHARSETS:
        return False
    return _tried(lambda: b"".decode(charset) == "", False)


def _decoded(raw: bytes, charset: str | None) -> str:
    if charset is None or not _is_known(charset):
        charset = "utf-8"
    return _kept(_tried(lambda: raw.decode(charset, "replace"), raw.decode("utf-8", "replace")))
