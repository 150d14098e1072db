"""Does a task's set of tags match what is wanted (Q-04)?

Upper and lower case are the same here: who looks for `video` means `Video` too. A wanted tag may be
part of a tag (`substring`), its beginning (`prefix`) or all of it (`exact`); of several wanted ones
`any` must be found, or `all`. A task without tags matches none.

A set of tags is compared as one text with a line break around each tag, which SQL can search as
well: see `engine/facets.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

MATCHES = ("substring", "prefix", "exact")
MODES = ("any", "all")
BREAK = "\n"
# What stands for a line break within a tag.
_WITHIN = "\v"


def plain(tag: str) -> str:
    """A tag as it is compared."""
    return tag.casefold().replace(BREAK, _WITHIN)


def text_of(tags: Iterable[str]) -> str:
    """A set of tags as one text, whatever their order; empty without tags."""
    different = sorted({plain(tag) for tag in tags})
    return BREAK + BREAK.join(different) + BREAK if different else ""


def needle(wanted: str, match: str) -> str:
    """What the text of a matching set contains."""
    tag = plain(wanted)
    return {"substring": tag, "prefix": BREAK + tag, "exact": BREAK + tag + BREAK}[match]


def matches(tags: Iterable[str], wanted: Iterable[str], match: str, mode: str) -> bool:
    """Whether the tags match; nothing wanted is matched by everything."""
    text = text_of(tags)
    found = [needle(tag, match) in text for tag in wanted]
    return not found or (all(found) if mode == "all" else any(found))
