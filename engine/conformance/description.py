"""What a mode says of itself: its names, settings, fields, verbs, stages, desk and refusals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import entry_points

from engine import roles
from engine.conformance import faults, schemas
from engine.forms import OF_THE_MODE
from engine.gig_settings import DEFAULTS
from engine.modes import ENTRY_POINTS, Mode, check_desk_path
from engine.operations import DEFAULT
from engine.plans import Desk, GigFacts, ModeInfo, Verb

_NAME = re.compile(r"[a-z][a-z0-9_]*")
ROLES = frozenset({roles.OWNER, roles.MEMBER, roles.ACTIVE, roles.ANYONE, roles.BUYER})
# What a sender may say of a task in any gig (T-01).
EVERYBODYS = frozenset(
    {
        "token",
        "payload",
        "subject",
        "tags",
        "price",
        "assign_to",
        "draft",
        "draft_id",
        "external_id",
        "not_before",
    }
)


def of_info(info: ModeInfo) -> Iterator[str]:
    """What `describe()` answers."""
    yield from _kinds(info)
    yield from _names(info)
    for name, schema in info.settings.items():
        if name not in DEFAULTS:
            yield f"describe(): settings has {name!r}, which is no setting of a gig. " + (
                faults.one_of(name, DEFAULTS)
            )
        yield from schemas.of_a_setting(f"describe(): settings[{name!r}]", schema)
    yield from _fields(info)
    yield from _stages(info)
    for verb in info.verbs:
        yield from _verb(info, verb)
    if info.desk is not None:
        yield from _desk(info, info.desk)
    yield from _sentences("describe(): confirms", info.confirms)


def of_answers(mode: Mode, gigs: Iterable[GigFacts]) -> Iterator[str]:
    """What is refused in its gigs, and who may do what."""
    for gig in (None, *gigs):
        yield from _sentences("refuses()", mode.refuses(gig))
    yield from _authorities(mode.authorities())


_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "names": (lambda value: _texts(value), "a tuple of strings, ('my_mode',)"),
    "title": (lambda value: isinstance(value, str) and bool(value), "a few words"),
    "description": (lambda value: isinstance(value, str), "a sentence"),
    "settings": (lambda value: isinstance(value, Mapping), "a dict of JSON schemas"),
    "query": (lambda value: _texts(value), "a tuple of strings, ('priority',)"),
    "orders": (lambda value: isinstance(value, bool), "True or False"),
    "confirms": (lambda value: isinstance(value, Mapping), "a dict of sentences"),
    "fields": (lambda value: isinstance(value, Mapping), "a dict of JSON schemas"),
    "fields_in_body": (lambda value: isinstance(value, bool), "True or False"),
    "stages": (lambda value: _texts(value), "a tuple of strings, ('open', 'closed')"),
    "verbs": (lambda value: _all_of(value, Verb), "a tuple of Verb"),
    "desk": (lambda value: value is None or isinstance(value, Desk), "a Desk or None"),
}


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


def _all_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, kind) for one in value)


def _kinds(info: ModeInfo) -> Iterator[str]:
    """Stops at the first that is of another type: what follows looks inside."""
    for name, (fits, kind) in _KINDS.items():
        value = getattr(info, name)
        if not fits(value):
            faults.tell([f"describe(): {name} must be {kind}; it is {value!r}."])
    if not info.description.endswith("."):
        yield "describe(): description must be a sentence that ends with a full stop."


def _names(info: ModeInfo) -> Iterator[str]:
    for name in info.names:
        if not _NAME.fullmatch(name):
            yield (
                f"describe(): the name {name!r} must be lower case letters, digits and "
                "underscores: it is what an owner writes as `distribution`."
            )
    yield from _twice("names", info.names)
    for name in {verb.name for verb in info.verbs} & set(info.names):
        yield f"describe(): {name!r} is both a name of the mode and a verb; rename the verb."
    for name in info.query:
        if name not in OF_THE_MODE:
            yield f"describe(): query has {name!r}. " + faults.one_of(name, OF_THE_MODE)


def _twice(what: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"describe(): {what} has {name!r} twice. Each must have a name of its own."


def _fields(info: ModeInfo) -> Iterator[str]:
    for name in info.fields:
        if name in EVERYBODYS:
            yield (
                f"describe(): fields has {name!r}, which every sender says already. "
                "Call it something else."
            )
    yield from schemas.of_fields("describe(): fields", info.fields)


def _stages(info: ModeInfo) -> Iterator[str]:
    yield from _twice("stages", info.stages)
    for name in info.stages:
        if not _NAME.fullmatch(name):
            yield f"describe(): the stage {name!r} must be lower case letters, digits and _."


def _verb(info: ModeInfo, verb: Verb) -> Iterator[str]:
    what = f"describe(): the verb {verb.name!r}"
    if not _NAME.fullmatch(verb.name):
        yield f"{what} must be lower case letters, digits and _: it is the end of a path."
    if [one.name for one in info.verbs].count(verb.name) > 1:
        yield f"{what} is there twice."
    if not verb.summary.endswith("."):
        yield f"{what} needs a summary that ends with a full stop; it is shown in the API's pages."
    yield from schemas.of_fields(what, verb.fields)
    if "mailbox_id" in verb.fields:
        yield f"{what} has a field mailbox_id, which every verb's body has already."
    for name in verb.required:
        if name not in verb.fields:
            yield f"{what} requires {name!r}, which is not among its fields. " + faults.one_of(
                name, verb.fields
            )
    yield from _known_stages(info, f"{what} is done from", verb.stages)
    for role in verb.by:
        if role not in ROLES:
            yield f"{what} may be done by {role!r}. " + faults.one_of(role, ROLES)
    if not verb.by:
        yield f"{what} may be done by nobody. Say who in `by`."


def _known_stages(info: ModeInfo, what: str, stages: Iterable[str]) -> Iterator[str]:
    for stage in stages:
        if stage not in info.stages:
            yield f"{what} the stage {stage!r}, which is not among `stages`. " + faults.one_of(
                stage, info.stages
            )


def _desk(info: ModeInfo, desk: Desk) -> Iterator[str]:
    try:
        check_desk_path(desk.path)
    except ValueError as error:
        yield f"describe(): {error}."
    for other in _others(info):
        if other.desk is not None and other.desk.path == desk.path:
            yield (
                f"describe(): the desk's path {desk.path!r} is that of the installed mode "
                f"{other.names[0]!r}; give it another."
            )
    if not desk.title:
        yield "describe(): the desk has no title."
    if not desk.shown:
        yield "describe(): the desk shows no stage, so nothing would ever be on it. Say `shown`."
    yield from _known_stages(info, "describe(): the desk shows", desk.shown)
    for flag, stages in desk.flags.items():
        yield from _known_stages(info, f"describe(): the desk's flag {flag!r} adds", stages)


def _others(info: ModeInfo) -> Iterator[ModeInfo]:
    """What other installed modes say of themselves; what cannot be loaded is in nobody's way."""
    for point in entry_points(group=ENTRY_POINTS):
        with suppress(Exception):
            other = point.load().describe()
            if isinstance(other, ModeInfo) and not set(other.names) & set(info.names):
                yield other


def _sentences(what: str, told: object) -> Iterator[str]:
    """Operations that exist, each with a sentence that says what to do instead."""
    if not isinstance(told, Mapping):
        faults.tell([f"{what} must be a dict of sentences by operation; it is {told!r}."])
        return
    for operation, sentence in told.items():
        if operation not in DEFAULT:
            yield f"{what} names {operation!r}, which is no operation. " + faults.one_of(
                str(operation), DEFAULT
            )
        if not isinstance(sentence, str) or not sentence.strip():
            yield f"{what} has no sentence for {operation!r}. Say what to do instead."
        elif not sentence.rstrip().endswith((".", "!", "?")):
            yield f"{what}, {operation!r}: end the sentence {sentence!r} with a full stop."


def _authorities(told: object) -> Iterator[str]:
    if not isinstance(told, Mapping):
        faults.tell([f"authorities() must answer a dict of roles by operation; it is {told!r}."])
        return
    for operation, allowed in told.items():
        if operation not in DEFAULT:
            yield f"authorities() names {operation!r}, which is no operation. " + faults.one_of(
                str(operation), DEFAULT
            )
        if not isinstance(allowed, frozenset) or not allowed:
            yield f"authorities(): {operation!r} needs a frozenset of roles, as {{OWNER}}."
            continue
        for role in allowed - ROLES:
            yield f"authorities(): {operation!r} names the role {role!r}. " + faults.one_of(
                str(role), ROLES
            )
