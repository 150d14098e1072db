"""Who calls: `x-api-key` or `Authorization: Bearer` (H-02)."""

from __future__ import annotations

import hmac

from flask import current_app, g, request

from engine import accounts
from engine.errors import Refused
from engine.operations import Caller


def given_key() -> str | None:
    key = request.headers.get("x-api-key")
    if key is not None:
        return key
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def optional_caller() -> Caller | None:
    """The caller if he names a key; a bad key is 401 all the same."""
    key = given_key()
    if key is None:
        return None
    if "caller" not in g:
        g.caller = accounts.authenticate(key)
    found: Caller | None = g.caller
    if found is None:
        raise Refused("bad_key", "This API key is unknown, expired or revoked.")
    return found


def require_key() -> Caller:
    """The caller, whatever his key's scopes; 401 without a good key."""
    found = optional_caller()
    if found is None:
        raise Refused("no_key", "Send your API key in the header x-api-key.")
    return found


def caller() -> Caller:
    """The caller, whose key may do all."""
    return _all_scopes(require_key())


def reads_tasks() -> Caller:
    """The caller, whose key may do all or `tasks:read` (I-03)."""
    return _of_scope(require_key(), "tasks:read")


def updates_tasks() -> Caller:
    """The caller, whose key may do all or `tasks:update` (I-03)."""
    return _of_scope(require_key(), "tasks:update")


def caller_if_any() -> Caller | None:
    """The caller if he names a key, which must then be one that may do all."""
    found = optional_caller()
    return None if found is None else _all_scopes(found)


def _all_scopes(found: Caller) -> Caller:
    if "all" not in found.scopes:
        raise Refused("not_permitted", "This key's scopes do not reach this route.")
    return found


def _of_scope(found: Caller, scope: str) -> Caller:
    if not {"all", scope} & set(found.scopes):
        raise Refused("not_permitted", f"This key lacks the scope {scope}. Use one that has it.")
    return found


def require_admin() -> None:
    """The install's admin key in `x-admin-key` (H-14)."""
    wanted: str = current_app.config["MUSTER"].ADMIN_KEY
    if not wanted:
        raise Refused(
            "admin_key_not_configured", "This install has no admin key. Set MUSTER_ADMIN_KEY."
        )
    key = request.headers.get("x-admin-key")
    if key is None:
        raise Refused("no_admin_key", "Send the install's admin key in the header x-admin-key.")
    if not hmac.compare_digest(key.encode(), wanted.encode()):
        raise Refused("wrong_admin_key", "This is not the install's admin key.")
