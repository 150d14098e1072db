"""Accounts, keys, one-time passwords (H-02, H-14)."""

from __future__ import annotations

from typing import Any

from engine import accounts, passwords
from engine.errors import Refused
from web import auth, limits, paging
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import access as schemas
from web.schemas.accounts import Me
from web.schemas.gigs import Success

routes = Routes("access", "Accounts and the keys to them.")


@routes.route("/auth/send-otp", methods=["POST"], key=None, refuses=[429])
@routes.arguments(schemas.SendCode)
@routes.response(200, Success)
def send_code(body: dict[str, Any]) -> dict[str, Any]:
    """Mail a code of six digits, good for ten minutes and five tries."""
    limits.count(limits.PUBLIC_ADDRESS, limits.address())
    address = accounts.clean_email(body["email"])
    limits.count(limits.CODES, address)
    passwords.send(address)
    return {"success": True}


@routes.route("/auth/verify-otp", methods=["POST"], key=None, refuses=[403, 429])
@routes.arguments(schemas.VerifyCode)
@routes.response(200, schemas.Key)
def verify_code(body: dict[str, Any]) -> dict[str, Any]:
    """A new key for the address; its account is made if it has none. The key is shown once."""
    limits.count(limits.PUBLIC_ADDRESS, limits.address())
    account, key = passwords.verify(body["email"], body["code"])
    return {"user_id": account.id, "email": account.email, "api_key": key}


@routes.route("/auth/rotate-key", methods=["POST"])
@routes.response(200, schemas.Key)
def rotate_key() -> dict[str, Any]:
    """A new key with the rights of the one used, which stops working with this answer."""
    caller, key = auth.caller(), auth.given_key() or ""
    account = accounts.get(caller.account_id)
    return {
        "user_id": account.id,
        "email": account.email,
        "api_key": accounts.rotate_key(caller, key),
    }


@routes.route("/auth/me")
@routes.response(200, Me)
def me() -> Any:
    """The account of the key."""
    return accounts.get(auth.caller().account_id).__data__


@routes.route("/auth/me", methods=["PATCH"])
@routes.arguments(schemas.MePatch)
@routes.response(200, Me)
def change_me(body: dict[str, Any]) -> Any:
    """Change the name that others see, or the time zone."""
    return accounts.update(auth.caller(), body).__data__


@routes.route("/auth/keys")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.KeyList)
def list_keys(query: dict[str, Any]) -> dict[str, Any]:
    """The account's keys that are not revoked, oldest first; never the keys themselves."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"keys:{caller.account_id}",
        query,
        lambda limit, after: accounts.keys(caller, limit, after),
        lambda row: (row.created_at, row.id),
    )
    return {"keys": [row.__data__ for row in found], "next_cursor": cursor}


@routes.route("/auth/keys", methods=["POST"])
@routes.arguments(schemas.KeyCreate)
@routes.response(201, schemas.KeyMade)
def create_key(body: dict[str, Any]) -> dict[str, Any]:
    """Another key, with scopes and an end if wanted. It is shown once."""
    row, key = accounts.create_key(auth.caller(), body["label"], body["scopes"], body["expires_at"])
    return {**row.__data__, "key": key}


@routes.route("/auth/keys/<key_id>", methods=["DELETE"])
@routes.response(200, Success)
def revoke_key(key_id: str) -> dict[str, Any]:
    """Revoke a key at once."""
    if not accounts.revoke_key(auth.caller(), key_id):
        raise Refused("not_found", "There is no such key, or it is revoked already.")
    return {"success": True}
