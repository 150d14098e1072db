"""Ids: a prefix that names the kind, and a ULID (H-03)."""

from __future__ import annotations

import secrets
import string

from ulid import ULID

_TOKEN_ALPHABET = string.ascii_letters + string.digits


def new_id(prefix: str) -> str:
    """`new_id("TASK")` gives `TASK_01KV…`; clients treat it as opaque."""
    return f"{prefix}_{ULID()}"


def new_share_token() -> str:
    """What lets whoever has it read or hand in one thing, without a key (H-03, R-07)."""
    return f"SHARE_{new_token(32)}"


def new_token(characters: int = 24) -> str:
    """A random secret of letters and digits, 5.95 bits each (G-04)."""
    return "".join(secrets.choice(_TOKEN_ALPHABET) for _ in range(characters))
