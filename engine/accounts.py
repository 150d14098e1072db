"""Accounts and API keys (H-02, H-14)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

import simplejson

from engine import clock, pages
from engine.db import db
from engine.errors import Refused, invalid
from engine.ids import new_id, new_token
from engine.models.account import Account, ApiKey
from engine.operations import Caller

KEY_PREFIX = "mk_"
KEY_CHARACTERS = 32
SCOPES = frozenset({"all", "tasks:read", "tasks:update"})
# Not a validator of mail addresses: enough to refuse what cannot be one, or could be read as two or
# as part of a header.
_PART = r"[^@\s\x00-\x1f\x7f,;:<>()\[\]\\\"]"
_EMAIL = re.compile(rf"{_PART}{{1,64}}@{_PART}{{1,190}}")


_HOLDER = """
SELECT account.id, api_key.scopes, api_key.expires_at
FROM api_key JOIN account ON account.id = api_key.account_id
WHERE api_key.hash = ? AND api_key.revoked_at IS NULL AND account.status = 'active'
"""


def clean_email(text: str) -> str:
    """An address as it is kept: lower case."""
    if not _EMAIL.fullmatch(text):
        raise invalid("email", "give an address like name@example.com")
    return text.lower()


def provision(email: str, *, new_key: bool = False) -> tuple[Account, bool, str | None]:
    """The account of an address, made if need be; answers (account, created, key or None).

    The key is shown this once, for a new account or where `new_key` asks for another (H-14).
    """
    address = clean_email(email)

    def write() -> tuple[Account, bool, str | None]:
        Account.insert(
            id=new_id("USER"),
            email=address,
            display_name=address.partition("@")[0],
            status="active",
            created_at=clock.now(),
        ).on_conflict_ignore().execute()
        account = Account.get(Account.email == address)
        if account.status != "active":
            raise Refused("account_inactive", "This account was deactivated. Ask the operator.")
        # Account and first key commit together, so one without a key was made here and now.
        created = not _has_keys(account.id)
        key = _add_key(account.id, "first key") if created or new_key else None
        return account, created, key

    return db.write(write)


def _has_keys(account_id: str) -> bool:
    return bool(ApiKey.select().where(ApiKey.account_id == account_id).exists())


def _add_key(
    account_id: str,
    label: str,
    scopes: list[str] | None = None,
    expires_at: int | None = None,
) -> str:
    return _make_key(account_id, label, ["all"] if scopes is None else scopes, expires_at)[1]


def _make_key(
    account_id: str, label: str, scopes: list[str], expires_at: int | None
) -> tuple[ApiKey, str]:
    key = KEY_PREFIX + new_token(KEY_CHARACTERS)
    row = ApiKey.create(
        id=new_id("KEY"),
        account_id=account_id,
        hash=hash_of(key),
        label=label,
        scopes=sorted(set(scopes)),
        expires_at=expires_at,
        revoked_at=None,
        created_at=clock.now(),
    )
    return row, key


def keys(caller: Caller, limit: int, after: pages.Position) -> list[ApiKey]:
    """The account's keys that are not revoked, oldest first."""
    with db.reading():
        query = ApiKey.select().where(
            ApiKey.account_id == caller.account_id, ApiKey.revoked_at.is_null()
        )
        return pages.page(query, (ApiKey.created_at, ApiKey.id), limit, after)


def create_key(
    caller: Caller, label: str, scopes: list[str], expires_at: int | None
) -> tuple[ApiKey, str]:
    """Another key of the account; answers its row and the key, which is kept nowhere."""

    def write() -> tuple[ApiKey, str]:
        if expires_at is not None and expires_at <= clock.now():
            raise invalid("expires_at", "give a time to come")
        return _make_key(caller.account_id, label, scopes, expires_at)

    return db.write(write)


def revoke_key(caller: Caller, key_id: str) -> bool:
    """Revoke one key; False when there is none to revoke."""

    def write() -> bool:
        changed = (
            ApiKey.update(revoked_at=clock.now())
            .where(
                ApiKey.id == key_id,
                ApiKey.account_id == caller.account_id,
                ApiKey.revoked_at.is_null(),
            )
            .execute()
        )
        return bool(changed)

    return db.write(write)


def rotate_key(caller: Caller, key: str) -> str:
    """Replace the key that is being used by one with the same rights and end."""

    def write() -> str:
        old = ApiKey.get(ApiKey.hash == hash_of(key))
        if not revoke_key(caller, old.id):
            raise Refused("bad_key", "This API key is unknown, expired or revoked.")
        return _add_key(caller.account_id, old.label, old.scopes, old.expires_at)

    return db.write(write)


def update(caller: Caller, values: dict[str, str]) -> Account:
    """Change what an account says of itself."""

    def write() -> Account:
        if values:
            Account.update(**values).where(Account.id == caller.account_id).execute()
        return Account.get(Account.id == caller.account_id)

    return db.write(write)


def hash_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def authenticate(key: str) -> Caller | None:
    """Who holds this key; None for an unknown, revoked or expired one."""
    with db.reading():
        found = db.rows(_HOLDER, (hash_of(key),))
        if not found:
            return None
        account_id, scopes, expires_at = found[0]
        if expires_at is not None and expires_at <= clock.now():
            return None
        return Caller(account_id, tuple(simplejson.loads(scopes)))


def get(account_id: str) -> Account:
    with db.reading():
        return Account.get(Account.id == account_id)


def numbers(account_ids: Collection[str]) -> dict[str, int]:
    """The accounts' whole numbers by their ids."""
    with db.reading():
        query = Account.select(Account.id, Account.number).where(Account.id.in_(account_ids))
        return {account.id: account.number for account in query}
