"""Names that somebody gives: how an error shows one, and which was probably meant (H-05)."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

UNKNOWN = "Unknown field"
# Beyond this two names have little in common; 1 is equality.
_ALIKE = 0.7


def shown(name: str) -> str:
    """A name as an error may show it: short, and without what cannot be printed."""
    return "".join(c if c.isprintable() else "?" for c in name[:60])


def unknown(name: str, known: Iterable[str]) -> str:
    """What is said of a name that nobody reads, with the known one that is nearest to it."""
    near = get_close_matches(name.lower(), list(known), 1, _ALIKE)
    return f"{UNKNOWN}; did you mean `{near[0]}`?" if near else UNKNOWN


def one_of(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: what was meant, or what there is."""
    names = sorted(known)
    near = get_close_matches(name, names, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(names) or 'none'}."
