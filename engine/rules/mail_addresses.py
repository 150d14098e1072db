"""The address by which a gig takes tasks by mail: its id and its token, before the @.

Systems that carry mail may write a whole address in lower case, so it means the same in either.
A gig's id is a ULID, which does anyway. Of its token case is a part, but mail does without: of 62
letters and digits 36 are left, and the likelier of them, a letter, comes twice in 62, so guessing a
token of 24 takes 31^24 tries, or 2^118, instead of 2^142. What is bought by the rest is nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PREFIX = "GIG_"
_LOCAL = re.compile(r"([0-9a-z]{26})\.([0-9a-z]{24})")


@dataclass(frozen=True)
class GigAddress:
    """`token` in lower case."""

    gig_id: str
    token: str


def of(gig_id: str, token: str, domain: str) -> str:
    """The address of a gig, 51 characters before the @, of the 64 that are allowed."""
    return f"{gig_id.removeprefix(_PREFIX)}.{token}@{domain}".lower()


def parse(address: str, domain: str) -> GigAddress | None:
    """What an address stands for, or None if it is no gig's of this domain."""
    local, _, at = address.strip().lower().rpartition("@")
    found = _LOCAL.fullmatch(local)
    if found is None or at != domain.lower():
        return None
    return GigAddress(_PREFIX + found[1].upper(), found[2])
