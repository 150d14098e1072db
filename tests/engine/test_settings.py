"""Settings: each wrong one stops the start with one sentence that names it (Z-05)."""

from __future__ import annotations

import pytest

from engine import settings
from engine.errors import SettingsError
from engine.keyring import Keyring, new_master_key

WRONG = {
    "STAGE": "devel",
    "DATABASE_URL": "mysql://x",
    "DATABASE_POOL": "0",
    "BROKER_URL": "kafka://x",
    "PUBLIC_URL": "localhost",
    "CHAIN_RPC_URL": "ws://x",
    "TREASURY_ADDRESS": "0x12",
    "OPERATOR_KEY": "secret",
    "CONFIRMATIONS": "many",
    "SWEEP_SECONDS": "1.5",
    "SETTLEMENT_CRON": "daily",
    "WEBHOOK_ALLOW_PRIVATE": "everything",
    "WEBHOOK_PORTS": "80;443",
    "WEBHOOK_HEADER_PREFIX": "X Muster",
    "LOG_LEVEL": "loud",
}


@pytest.mark.rule("Z-05")
@pytest.mark.parametrize(("name", "value"), sorted(WRONG.items()))
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^MUSTER_{name}: .+\.$"):
        settings.load({f"MUSTER_{name}": value})


@pytest.mark.rule("Z-05")
def test_a_misspelt_setting_is_not_ignored() -> None:
    with pytest.raises(
        SettingsError, match=r"MUSTER_DATABSE_URL.*Did you mean MUSTER_DATABASE_URL"
    ):
        settings.load({"MUSTER_DATABSE_URL": "sqlite:///x"})


@pytest.mark.rule("Z-05")
def test_the_environment_counts_for_more_than_the_defaults_of_a_folder() -> None:
    loaded = settings.load({"MUSTER_STAGE": "staging", "PATH": "/"}, {"STAGE": "dev"})
    assert loaded.STAGE == "staging"


@pytest.mark.rule("Z-05")
def test_secrets_are_masked_and_everything_has_a_meaning() -> None:
    loaded = settings.load({"MUSTER_ADMIN_KEY": "hush", "MUSTER_OPERATOR_KEY": "0x" + "1" * 64})
    rows = {row["name"]: row for row in settings.describe(loaded)}
    assert "hush" not in repr(rows)
    assert "1" * 64 not in repr(rows)
    assert rows["MUSTER_ADMIN_KEY"]["value"] == "set"
    assert all(row["meaning"] for row in rows.values())


@pytest.mark.rule("Y-06")
def test_the_first_master_key_encrypts_and_all_decrypt() -> None:
    old, new = new_master_key(), new_master_key()
    kept = Keyring(old).encrypt("secret")
    both = Keyring(f"{new},{old}")
    assert both.decrypt(kept) == "secret"
    assert Keyring(new).decrypt(both.encrypt("again")) == "again"


def test_a_master_key_that_is_none_stops_the_start() -> None:
    with pytest.raises(SettingsError, match="MUSTER_MASTER_KEYS"):
        Keyring("not-a-key")
