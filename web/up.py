"""`muster up`: the whole of Muster in one process, for a first try and development (Z-01)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from engine import accounts, development, install, migrate, settings, wallets
from engine.chain import local
from engine.chain.anvil import AnvilMissing, find_anvil, install_anvil
from engine.errors import SettingsError
from engine.operations import Caller
from engine.rules.money import UNITS_PER_DOLLAR
from jobs.runtime import Runtime
from web import app, datadir, logs, server

OWNER = "owner@muster.localhost"
WORKER = "worker@muster.localhost"
OWNER_USDC_UNITS = 10_000 * UNITS_PER_DOLLAR
OWNER_WEI = 10 * 10**18


def run(host: str, port: int, folder: Path, *, as_json: bool = False) -> None:
    """Start, print what a newcomer needs, and serve until told to stop.

    `as_json` prints what dev.json says, on one line.
    """
    with datadir.alone(folder):
        _run(host, port, folder, as_json)


def _run(host: str, port: int, folder: Path, as_json: bool) -> None:
    defaults = datadir.make_install(folder)
    environment = dict(os.environ)
    base_url = f"http://{host}:{port}"
    defaults.setdefault("PUBLIC_URL", base_url)
    # What is wrong is said before anything is started.
    settings.load(environment, defaults)
    chain = None
    try:
        if "MUSTER_CHAIN_RPC_URL" not in environment:
            chain = _start_chain(folder)
            defaults |= {
                "CHAIN_RPC_URL": chain.rpc_url,
                "TREASURY_ADDRESS": chain.treasury_address,
                "USDC_ADDRESS": chain.usdc_address,
                "OPERATOR_KEY": chain.operator_key,
                "REFUNDER_KEY": chain.refunder_key,
                "FAUCET_KEY": chain.minter_key,
            }
            datadir.write_private(folder / datadir.INSTALL, defaults)
        loaded = settings.load(environment, {**defaults, "PUBLIC_URL": base_url})
        logs.configure("warning" if "MUSTER_LOG_LEVEL" not in environment else loaded.LOG_LEVEL)
        _serve(loaded, host, port, folder, as_json)
    finally:
        if chain is not None:
            local.stop(folder)


def _start_chain(folder: Path) -> local.LocalChain:
    try:
        find_anvil()
    except AnvilMissing:
        click.echo("Fetching the local chain (anvil), once…", err=True)
        install_anvil()
    try:
        return local.ensure(folder)
    except local.LocalChainError as error:
        raise SettingsError(str(error)) from error


def _serve(loaded: settings.Settings, host: str, port: int, folder: Path, as_json: bool) -> None:
    runtime = Runtime(loaded)
    try:
        migrate.up()
        listening = server.listen(
            app.create(runtime), host, port, loaded.SERVER_THREADS, loaded.TRUSTED_PROXIES
        )
        told = _developer(folder, loaded)
        server.stop_on_signals()
        runtime.start_everything()
        _greet(told, as_json)
        listening.serve_until_told()
    finally:
        runtime.stop()


def _developer(folder: Path, loaded: settings.Settings) -> dict[str, Any]:
    """The owner's and the worker's account, made at the first start; dev.json says all."""
    path = folder / datadir.DEVELOPER
    told = datadir.read(path)
    told |= {
        "base_url": loaded.PUBLIC_URL,
        "rpc_url": loaded.CHAIN_RPC_URL or None,
        "treasury_address": loaded.TREASURY_ADDRESS or None,
        "usdc_address": loaded.USDC_ADDRESS or None,
        "admin_key": loaded.ADMIN_KEY,
    }
    for role, email in (("owner", OWNER), ("worker", WORKER)):
        if role not in told:
            # A start that died before dev.json was written left an account whose key is lost.
            account, _, key = accounts.provision(email, new_key=True)
            told[role] = {"user_id": account.id, "email": email, "api_key": key}
            datadir.write_private(path, told)
    if "wallet_id" not in told["owner"]:
        wallet = wallets.create(Caller(told["owner"]["user_id"]), "Owner's wallet", True, None)
        if loaded.FAUCET_KEY and install.current().chain is not None:
            development.faucet(wallet.evm_address, OWNER_USDC_UNITS, OWNER_WEI)
        told["owner"] |= {"wallet_id": wallet.id, "wallet_address": wallet.evm_address}
    datadir.write_private(path, told)
    return told


def _greet(told: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(told))
        return
    owner, worker, base = told["owner"], told["worker"], told["base_url"]
    click.echo(
        f"""
Muster is up at {base}

  owner   {owner["api_key"]}   ({owner["email"]})
  worker  {worker["api_key"]}   ({worker["email"]})
  owner's wallet {owner["wallet_id"]}

Open a gig:

  curl -s {base}/api/gigs -H "x-api-key: {owner["api_key"]}" \\
    -H "content-type: application/json" -d '{{"title": "First gig", "price": 2.50}}'
"""
    )
