"""What a mode may not bring in: a database, the network, a server, a chain, a clock of its own."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

_DATABASE = "a mode touches no database; it answers with effects, and the engine writes the rows"
_NETWORK = "a mode reaches no network; what the world is to hear is an event of the engine's"
_SERVER = "a mode has no routes of its own; say `verbs` and `desk`, and they are made for it"
_CLOCK = "a mode has no clock; `now` is given to act(), rang() and desk_items(), in milliseconds"
_CHANCE = "a mode draws no lots, so that its plans can be tested; PushTo('by_lot') draws for it"
_ENGINE = (
    "of the engine a mode may use hookspecs, plans, errors, roles and rules, which touch nothing"
)
FORBIDDEN: dict[str, str] = {
    **dict.fromkeys(
        (
            "peewee",
            "playhouse",
            "sqlite3",
            "psycopg",
            "psycopg2",
            "sqlalchemy",
            "redis",
            "engine.db",
            "engine.models",
        ),
        _DATABASE,
    ),
    **dict.fromkeys(
        (
            "socket",
            "ssl",
            "http",
            "urllib.request",
            "requests",
            "httpx",
            "aiohttp",
            "smtplib",
            "subprocess",
            "web3",
        ),
        _NETWORK,
    ),
    **dict.fromkeys(("flask", "dramatiq", "apscheduler", "web", "jobs"), _SERVER),
    **dict.fromkeys(("time", "engine.clock"), _CLOCK),
    **dict.fromkeys(("random", "secrets", "uuid"), _CHANCE),
}
# Of the engine only what is pure.
PURE = ("hookspecs", "plans", "errors", "roles", "rules", "conformance")
# Methods that ask what time it is.
_ASKS = {"now", "utcnow", "today"}


def problems(mode: object) -> Iterator[str]:
    """What the mode's module, and the modules of its own package that it uses, may not import."""
    start = mode if isinstance(mode, ModuleType) else sys.modules[type(mode).__module__]
    seen: set[str] = set()
    left = [start]
    while left:
        module = left.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        tree = _tree(module)
        if tree is None:
            continue
        file = Path(str(module.__file__)).name
        for imported, line in _imports(tree, module):
            why = _why(imported)
            if why is not None:
                yield f"{file}, line {line}, imports {imported}: {why}."
            elif _of_one_package(imported, start) and imported in sys.modules:
                left.append(sys.modules[imported])
        for line in _looks_at_the_clock(tree):
            yield f"{file}, line {line}, asks what time it is: {_CLOCK}."


def _tree(module: ModuleType) -> ast.Module | None:
    try:
        return ast.parse(inspect.getsource(module))
    except (OSError, TypeError):
        return None


def _imports(tree: ast.Module, module: ModuleType) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = str(module.__package__).rsplit(".", node.level - 1)[0]
                base = f"{package}.{base}".rstrip(".")
            for alias in node.names:
                # `from engine import db` brings in a module; `from engine.plans import Act` a name.
                inner = f"{base}.{alias.name}"
                yield (inner if base == "engine" or inner in sys.modules else base), node.lineno


def _why(imported: str) -> str | None:
    parts = imported.split(".")
    for length in range(len(parts), 0, -1):
        why = FORBIDDEN.get(".".join(parts[:length]))
        if why is not None:
            return why
    if parts[0] == "engine" and len(parts) > 1 and parts[1] not in PURE:
        return _ENGINE
    return None


def _of_one_package(imported: str, start: ModuleType) -> bool:
    return imported.partition(".")[0] == start.__name__.partition(".")[0]


def _looks_at_the_clock(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            named = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", None)
            if node.func.attr in _ASKS and named in ("datetime", "date"):
                yield node.lineno
