"""The command line, and the composition root: here settings become a running process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from engine import accounts, audit, departures, install, key_rotation, migrate, settings
from engine.errors import SettingsError
from engine.rules import money
from jobs.runtime import Runtime, wait_until_told
from web import app, datadir, demo, logs, server, up
from web.command_options import data_dir_option, json_option, say_ready, sentences


def _load(data_dir: Path | None) -> settings.Settings:
    environment = dict(os.environ)
    return settings.load(environment, datadir.defaults(data_dir, environment))


@contextmanager
def _runtime(data_dir: Path | None) -> Iterator[Runtime]:
    loaded = _load(data_dir)
    logs.configure(loaded.LOG_LEVEL)
    runtime = Runtime(loaded)
    try:
        yield runtime
    finally:
        runtime.stop()


def _require_schema() -> None:
    missing = migrate.pending()
    if missing:
        raise SettingsError(f"The database lacks {', '.join(missing)}; run muster migrate first.")


@click.group()
@click.version_option(package_name="muster")
def main() -> None:
    """Muster hands out paid work: tasks in, proofs back, USDC to the workers."""


@main.command("up")
@click.option("--port", default=8080, show_default=True, help="Where the API listens.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=datadir.DEFAULT,
    show_default=True,
)
@json_option
@sentences
def up_command(port: int, host: str, data_dir: Path, as_json: bool) -> None:
    """Start everything on this machine: API, workers, scheduler, SQLite and a local chain."""
    up.run(host, port, data_dir, as_json=as_json)


@main.command()
@click.option("--port", default=8080, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@data_dir_option
@json_option
@sentences
def serve(port: int, host: str, data_dir: Path | None, as_json: bool) -> None:
    """Answer the API. With the in-memory broker this process does all the work as well."""
    with _runtime(data_dir) as runtime:
        _require_schema()
        settings = runtime.settings
        listening = server.listen(
            app.create(runtime), host, port, settings.SERVER_THREADS, settings.TRUSTED_PROXIES
        )
        if runtime.in_memory:
            runtime.start_everything()
        server.stop_on_signals()
        where = f"http://{host}:{port}"
        say_ready(f"Muster serves {where}", as_json, role="serve", url=where)
        listening.serve_until_told()


@main.command()
@data_dir_option
@json_option
@sentences
def worker(data_dir: Path | None, as_json: bool) -> None:
    """Run commands and send webhooks, over a broker that processes share."""
    with _runtime(data_dir) as runtime:
        _require_schema()
        _require_shared_broker(runtime)
        told = server.stop_on_signals()
        runtime.start_workers()
        say_ready("Muster works.", as_json, role="worker")
        wait_until_told(told)


@main.command()
@data_dir_option
@json_option
@sentences
def scheduler(data_dir: Path | None, as_json: bool) -> None:
    """Ring for what is due. Any number may run; one leads."""
    with _runtime(data_dir) as runtime:
        _require_schema()
        _require_shared_broker(runtime)
        told = server.stop_on_signals()
        runtime.start_scheduler()
        say_ready("Muster schedules.", as_json, role="scheduler")
        wait_until_told(told)


def _require_shared_broker(runtime: Runtime) -> None:
    if runtime.in_memory:
        raise SettingsError(
            "MUSTER_BROKER_URL is memory://, which no other process can reach; "
            "set redis://… or use muster serve alone."
        )


@main.command("migrate")
@data_dir_option
@json_option
@sentences
def migrate_command(data_dir: Path | None, as_json: bool) -> None:
    """Bring the database to the present schema. Safe to run again, and at once."""
    install.configure(_load(data_dir))
    applied = migrate.up()
    install.close()
    if as_json:
        click.echo(json.dumps({"applied": applied}))
    else:
        click.echo(f"Applied {', '.join(applied)}." if applied else "Nothing to apply.")


@main.command("config")
@data_dir_option
@json_option
@sentences
def config_command(data_dir: Path | None, as_json: bool) -> None:
    """List the settings: value, default, meaning. Secrets are masked."""
    rows = list(settings.describe(_load(data_dir)))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        shown = row["value"] if row["value"] != "" else "(empty)"
        click.echo(f"{row['name']} = {shown}\n    {row['meaning']} Default: {row['default']!r}")


@main.command("audit")
@data_dir_option
@json_option
@sentences
def audit_command(data_dir: Path | None, as_json: bool) -> None:
    """Prove that the books balance and equal the contract's own; exit code 1 if they do not."""
    with _runtime(data_dir):
        report = audit.run()
    if as_json:
        click.echo(json.dumps({**asdict(report), "ok": report.ok}, indent=2))
    else:
        for name, units in asdict(report).items():
            if name.endswith("_units") and units is not None:
                label = name.removesuffix("_units")
                click.echo(f"{label:>12} ${money.to_dollars(units)}")
        click.echo(f"{'gigs':>12} {report.gigs}")
        click.echo(f"{'block':>12} {report.block_number}")
        for warning in report.warnings:
            click.echo(f"WARNING: {warning}", err=True)
        for fault in report.faults:
            click.echo(f"FAULT: {fault}", err=True)
        click.echo("The books balance." if report.ok else "THE BOOKS DO NOT BALANCE.")
    sys.exit(0 if report.ok else 1)


@main.command("demo")
@data_dir_option
@json_option
@sentences
def demo_command(data_dir: Path | None, as_json: bool) -> None:
    """Play a task of each mode, from its submission to USDC in the worker's wallet.

    It needs a running muster up.
    """
    demo.run(data_dir or datadir.DEFAULT, as_json)


@main.group("accounts")
def accounts_group() -> None:
    """Accounts of this install."""


@accounts_group.command("create")
@click.argument("email")
@data_dir_option
@json_option
@sentences
def create_account(email: str, data_dir: Path | None, as_json: bool) -> None:
    """Make an account and print its key, once. For one that exists: another key."""
    with _runtime(data_dir):
        _require_schema()
        account, created, key = accounts.provision(email, new_key=True)
    told = {"user_id": account.id, "email": account.email, "created": created, "api_key": key}
    click.echo(json.dumps(told) if as_json else key)


@accounts_group.command("deactivate")
@click.argument("email")
@data_dir_option
@json_option
@sentences
def deactivate_account(email: str, data_dir: Path | None, as_json: bool) -> None:
    """Revoke an account's keys and give back the tasks that it holds. Safe to run again."""
    with _runtime(data_dir):
        _require_schema()
        done = departures.deactivate(email)
    if as_json:
        click.echo(json.dumps(asdict(done)))
    else:
        click.echo(
            f"{done.email} is inactive: {done.keys} keys revoked, {done.mailboxes} mailboxes "
            f"closed, {done.tasks} tasks given back."
        )


@main.group("keys")
def keys_group() -> None:
    """Master keys, under which private keys and other secrets are encrypted."""


@keys_group.command("rotate")
@data_dir_option
@json_option
@sentences
def rotate_keys(data_dir: Path | None, as_json: bool) -> None:
    """Encrypt everything anew under the first master key, so that older ones can be dropped.

    Put a new key first in MUSTER_MASTER_KEYS, the old one behind it, and start every process anew.
    Then run this; servers may run meanwhile, and it may be stopped and run again. Once it ends with
    exit code 0, take the old key out.
    """
    with _runtime(data_dir):
        _require_schema()
        report = key_rotation.run()
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=2))
    else:
        for name, count in report.counts.items():
            label = name.replace("_", " ")
            click.echo(f"{label:>16} {count.renewed} renewed, {count.current} were already")
    if report.unreadable:
        click.echo(
            f"muster: {report.unreadable} rows are under a master key that is missing. Put it back "
            "into MUSTER_MASTER_KEYS, behind the first, and run this again.",
            err=True,
        )
    if report.late:
        click.echo(
            f"muster: {report.late} rows were written meanwhile and are under an old key. Run this "
            "again; if it stays so, a process was not started anew with the new key first.",
            err=True,
        )
    if report.ok and not as_json:
        click.echo("Everything is under the first key; the others can be dropped.")
    sys.exit(0 if report.ok else 1)
