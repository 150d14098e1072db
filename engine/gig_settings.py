"""What an owner may say of his gig, what it is without his word, and what goes together (G-01)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine import wallets
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.modes import ask
from engine.rules import money, shapes

DEFAULT_REVIEW_TIMEOUT_SECONDS = 172_800
# Orders in which a task that waits longer comes ever sooner.
AGEING_ORDERS = ("fifo", "priority")

# Settings that belong to those modes alone that declare them, and what they are elsewhere.
OF_SOME_MODES: dict[str, Any] = {
    "queue_order": "fifo",
    "queue_aging_seconds": None,
    "max_claims_per_task": None,
    "task_escrow": False,
    "list_price_units": None,
    "accept_timeout_seconds": None,
    "price_tbd": False,
}
# Looked at, and not kept: a task says this of itself, and no gig does.
NOT_KEPT = ("price_tbd",)
# What an owner calls a column, where that is not its name without `_units`.
_CALLED = {
    "review_timeout_seconds": "review_timeout",
    "task_timeout_seconds": "task_timeout",
    "accept_timeout_seconds": "accept_timeout",
}
# What a gig is made with where its owner and its mode say nothing.
DEFAULTS: dict[str, Any] = {
    "terms": "",
    "notes": "",
    "price_units": 0,
    "join_policy": "invite",
    "requires_approval": False,
    "tags": [],
    "review_timeout_seconds": DEFAULT_REVIEW_TIMEOUT_SECONDS,
    "min_payout_units": 0,
    "location": "",
    "icon_url": "",
    "owner_wallet": None,
    "proof_webhook_url": None,
    "join_webhook_url": None,
    "webhook_max_price_units": None,
    "webhook_daily_spend_units": None,
    "distribution": "queue",
    "task_timeout_seconds": None,
    "max_hold_seconds": None,
    "default_task_tags": [],
    "default_rate_limit_count": None,
    "default_rate_limit_minutes": None,
    "default_max_open_tasks": None,
    "allow_price_offers": False,
    "default_comments_policy": "private",
    **OF_SOME_MODES,
}
_RATE = ("default_rate_limit_count", "default_rate_limit_minutes")
_HOLD = ("task_timeout_seconds", "max_hold_seconds")
_AGEING = ("queue_order", "queue_aging_seconds")
_OFFERS = ("allow_price_offers", "task_escrow")


def complete(values: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a new gig: what was given, over its mode's defaults, over everybody's.

    400 for an unknown mode, for what its mode does not take, and for what does not go together.
    """
    distribution = values.get("distribution", DEFAULTS["distribution"])
    of_mode = {
        field: shape["default"]
        for field, shape in ask(distribution).info.settings.items()
        if "default" in shape
    }
    full = {**DEFAULTS, **of_mode, **values}
    _check(full, full, making=True)
    return kept(full)


def check_change(gig: Gig, changes: Mapping[str, Any]) -> None:
    """The same for a change, on the gig as it will be; `gig` is the row as it stands, locked."""
    after = {field: getattr(gig, field, value) for field, value in DEFAULTS.items()}
    _check({**after, **changes}, changes, making=False)


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """What of this a gig keeps."""
    return {field: value for field, value in values.items() if field not in NOT_KEPT}


def clean(values: dict[str, Any]) -> None:
    """Bring what was given into the form in which it is kept."""
    if values.get("owner_wallet") is not None:
        values["owner_wallet"] = wallets.clean_address("owner_wallet", values["owner_wallet"])


def _check(full: Mapping[str, Any], given: Mapping[str, Any], *, making: bool) -> None:
    """Only what a given field has to do with is looked at: the rest stands as it is."""
    _check_mode(full, given, making=making)
    if given.keys() & set(_AGEING):
        _check_ageing(full)
    if given.keys() & set(_HOLD):
        _check_hold(full)
    if given.keys() & set(_RATE):
        require_both(full, *_RATE)
    offers = [field for field in _OFFERS if field in given]
    if offers and all(full[field] for field in _OFFERS):
        sentence = "task_escrow deposits each task's price before, so there is no other to offer"
        raise invalid(offers[0], f"{sentence}; set one of the two to false")


def _check_mode(full: Mapping[str, Any], given: Mapping[str, Any], *, making: bool) -> None:
    """The gig's mode must take what was given for it (G-03)."""
    mode = full["distribution"]
    told = ask(mode).info.settings
    for field, usual in DEFAULTS.items():
        if field not in given:
            continue
        if field in told:
            _require_fit(mode, field, full[field], told[field], making=making)
        elif field in OF_SOME_MODES and full[field] != usual:
            raise invalid(called(field), f"the mode {mode} has no such setting; leave it out")


def _require_fit(mode: str, field: str, value: Any, shape: shapes.Shape, *, making: bool) -> None:
    """What a mode pins (`const`) it refuses as it refuses an operation: 409 with its own name.

    With `readOnly` it is nothing that an owner says at all: 400 for another value when he opens the
    gig, and 409 for any later. Everything else that does not fit is a 400.
    """
    as_dollars = field.endswith("_units")
    show: Callable[[Any], str] = (lambda one: str(money.to_dollars(one))) if as_dollars else str
    why = shapes.problem(value, shape, show)
    fixed = "readOnly" in shape
    if why is None and (making or not fixed):
        return
    why = why or str(shape.get("description", "this stays as it is; leave it out"))
    if (not making) if fixed else ("const" in shape):
        name = called(field)
        raise Refused(mode, f"{name}: {why}.", errors={name: why})
    if "description" not in shape:
        why = f"{why} in a gig of the mode {mode}"
    raise invalid(called(field), why)


def called(field: str) -> str:
    """A setting by the name that its owner knows."""
    return _CALLED.get(field, field.removesuffix("_units"))


def _check_ageing(full: Mapping[str, Any]) -> None:
    if full["queue_aging_seconds"] is not None and full["queue_order"] not in AGEING_ORDERS:
        orders = " or ".join(AGEING_ORDERS)
        raise invalid(
            "queue_aging_seconds", f"goes with queue_order {orders} only; set it to null otherwise"
        )


def _check_hold(full: Mapping[str, Any]) -> None:
    timeout, most = full["task_timeout_seconds"], full["max_hold_seconds"]
    if most is None:
        return
    if timeout is None:
        raise invalid("max_hold_seconds", "goes with task_timeout only; set it to null without one")
    if most < timeout:
        raise invalid("max_hold_seconds", f"at least task_timeout, which is {timeout}")


def require_both(full: Mapping[str, Any], first: str, second: str) -> None:
    """Two settings that are one: both or neither."""
    if (full[first] is None) != (full[second] is None):
        why = f"{first} and {second} go together: give both, or neither"
        raise Refused("invalid", f"{why}.", errors={first: why, second: why})
