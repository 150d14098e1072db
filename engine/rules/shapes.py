"""Does a value fit what a mode says of a setting? The few words of JSON Schema that modes use.

`type` (only for whether null is allowed), `const`, `enum`, `minimum`, `maximum`, `multipleOf` and
`anyOf`. That a value is of its kind at all is looked at before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Shape = Mapping[str, Any]


def problem(value: Any, shape: Shape, show: Callable[[Any], str] = str) -> str | None:
    """What is wrong with the value, in the words of the shape's `description` if it has one.

    None for one that fits. `show` writes a value of the shape as whoever gave it would.
    """
    found = _misfit(value, shape, show)
    return None if found is None else str(shape.get("description", found))


def _misfit(value: Any, shape: Shape, show: Callable[[Any], str]) -> str | None:
    if "const" in shape:
        pinned = "null" if shape["const"] is None else show(shape["const"])
        return None if value == shape["const"] else f"this is {pinned}; leave it out"
    if value is None:
        kinds = shape.get("type", "null")
        return None if "null" in ([kinds] if isinstance(kinds, str) else kinds) else "say which"
    if "enum" in shape and value not in shape["enum"]:
        return f"one of {', '.join(map(show, shape['enum']))}"
    if "minimum" in shape and value < shape["minimum"]:
        return f"at least {show(shape['minimum'])}"
    if "maximum" in shape and value > shape["maximum"]:
        return f"at most {show(shape['maximum'])}"
    if "multipleOf" in shape and value % shape["multipleOf"]:
        return f"a multiple of {show(shape['multipleOf'])}"
    told = [_misfit(value, one, show) for one in shape.get("anyOf", ())]
    if told and None not in told:
        return ", or ".join(one for one in told if one is not None)
    return None
