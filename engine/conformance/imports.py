"""What a mode may not bring in: a database, the network, a server, a chain, a clock of its own.

This is told from the source of its modules: what they import, and the names that they call. It is
a hint to an honest author, no fence around a hostile one: a name that is put together at run time,
or comes from some other package, is not seen. A module without a source is told of.
"""

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
_FILES = "a mode reads and writes no files; what it keeps of a task goes through Remember"
_PROCESSES = "a mode starts nothing and waits for nothing; others wait for its answer"
_HIDDEN = "what is loaded or run by its name cannot be seen here; write an import"
_ENGINE = (
    "of the engine a mode may use hookspecs, plans, errors, roles and rules, which touch nothing"
)
_GROUPS = {
    _DATABASE: "peewee playhouse sqlite3 dbm psycopg psycopg2 sqlalchemy redis engine.db "
    "engine.models",
    _NETWORK: "socket socketserver ssl http urllib.request requests httpx aiohttp smtplib ftplib "
    "imaplib poplib xmlrpc urllib3 web3",
    _SERVER: "flask dramatiq apscheduler web jobs",
    _CLOCK: "time sched engine.clock",
    _CHANCE: "random secrets uuid",
    _FILES: "os posix pathlib shutil tempfile io glob fileinput shelve zipfile tarfile",
    _PROCESSES: "subprocess threading _thread multiprocessing asyncio concurrent signal pty",
    _HIDDEN: "importlib runpy imp pkgutil builtins ctypes cffi code codeop",
}
FORBIDDEN = {name: why for why, names in _GROUPS.items() for name in names.split()}
# What needs no import.
FORBIDDEN_CALLS = {
    "open": _FILES,
    **dict.fromkeys(("__import__", "eval", "exec", "compile"), _HIDDEN),
}
# Of the engine only what is pure.
PURE = ("hookspecs", "plans", "errors", "roles", "rules", "conformance")
# What asks what time it is, under the name by which it is imported.
_ASKS = {
    f"datetime.{kind}.{method}"
    for kind in ("datetime", "date")
    for method in ("now", "utcnow", "today")
}


def problems(mode: object) -> Iterator[str]:
    """What the mode's module, and the modules of its own package that it uses, may not do, as far
    as their source tells."""
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
            yield (
                f"{module.__name__} has no source that can be read, so nobody knows what it brings "
                "in. Ship the .py file."
            )
            continue
        file = Path(str(module.__file__)).name
        for imported, line in _imports(tree, module):
            why = _why(imported)
            if why is not None:
                yield f"{file}, line {line}, imports {imported}: {why}."
            elif _of_one_package(imported, start) and imported in sys.modules:
                left.append(sys.modules[imported])
        yield from _calls(tree, file)


def _tree(module: ModuleType) -> ast.Module | None:
    """What the module's file says; None for one that has none, or none of Python's."""
    try:
        return ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError, ValueError):
        # A package of namespaces has no file, and says nothing.
        return ast.parse("") if _is_empty(module) else None


def _is_empty(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None:
        return hasattr(module, "__path__")
    # Python has no source of an `__init__.py` in which nothing is written.
    return Path(file).suffix == ".py" and Path(file).is_file() and not Path(file).stat().st_size


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
                known = base == "engine" or inner in sys.modules or inner in FORBIDDEN
                yield (inner if known else base), node.lineno


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


def _calls(tree: ast.Module, file: str) -> Iterator[str]:
    """What is called by a name, or only named, to be called later under another one."""
    names, own = _names(tree), _own_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        meant = _meant(node, names)
        if meant in _ASKS:
            yield f"{file}, line {node.lineno}, asks what time it is: {_CLOCK}."
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_CALLS.keys() - own:
            yield f"{file}, line {node.lineno}, uses {node.id}: {FORBIDDEN_CALLS[node.id]}."
        elif isinstance(node, ast.Attribute) and (why := _why_reached(node, names)) is not None:
            yield f"{file}, line {node.lineno}, uses {meant}: {why}."


def _why_reached(node: ast.Attribute, names: dict[str, str]) -> str | None:
    """`engine.db` is reached by `import engine` as well."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    of = names.get(root.id) if isinstance(root, ast.Name) else None
    # An import that may not be is told of already.
    return None if of is None or _why(of) is not None else _why(_meant(node, names))


def _own_names(tree: ast.Module) -> set[str]:
    """What the module calls so itself."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    own |= {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    return own | _names(tree).keys()


def _names(tree: ast.Module) -> dict[str, str]:
    """What each name of the module stands for, through imports and plain assignments."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for node in sorted(given, key=lambda one: one.lineno):
        if isinstance(node.value, ast.Name | ast.Attribute):
            meant = _meant(node.value, names)
            for target in node.targets:
                if isinstance(target, ast.Name) and meant != target.id:
                    names[target.id] = meant
    return names


def _meant(node: ast.expr, names: dict[str, str]) -> str:
    """`dt.now` as `datetime.datetime.now`, where the module says `from datetime import datetime as
    dt`; "" for what is no name."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        of = _meant(node.value, names)
        return f"{of}.{node.attr}" if of else ""
    return ""
