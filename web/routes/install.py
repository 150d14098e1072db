"""Health, readiness, modes, accounts."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from flask import current_app

from engine import accounts, clock, install, migrate, modes
from engine.db import db
from jobs.runtime import Runtime
from web import auth, mode_views, shop_views
from web.blueprint import Routes
from web.schemas.accounts import Health, Modes, Provision, Provisioned, Ready

routes = Routes("install", "The install itself, and accounts.")


@routes.route("/health", key=None)
@routes.response(200, Health)
def health() -> dict[str, Any]:
    """Is the server there, and which deployment is it?"""
    settings = install.current().settings
    return {
        "status": "ok",
        "stage": settings.STAGE,
        "timestamp": clock.now(),
        "version": version("muster"),
        "chain": shop_views.chain_view(),
        "treasury_address": settings.TREASURY_ADDRESS or None,
        "usdc_address": settings.USDC_ADDRESS or None,
    }


@routes.route("/ready", key=None)
@routes.response(200, Ready)
@routes.alt_response(503, schema=Ready)
def ready() -> tuple[dict[str, Any], int]:
    """Can work be done: database, migrations, broker, scheduler, workers?

    What the chain does is told beside it, and how files are kept. Work is taken and handed out
    without either, and what waits goes on by itself, so an install without them is ready all the
    same.
    """
    runtime: Runtime = current_app.config["RUNTIME"]
    checks = dict.fromkeys(("database", "migrations", "broker", "scheduler", "worker"), "ok")
    with db.reading():
        db.scalar("SELECT 1")
    if migrate.pending():
        checks["migrations"] = "pending: run muster migrate"
    if not runtime.broker_answers():
        checks["broker"] = "does not answer"
    if runtime.leader() is None:
        checks["scheduler"] = "none is running"
    if runtime.worker() is None:
        checks["worker"] = "none hears the scheduler"
    ok = all(value == "ok" for value in checks.values())
    beside = {"chain": _chain(), "uploads": _uploads(runtime)}
    return {"ready": ok, "checks": {**checks, **beside}}, 200 if ok else 503


def _uploads(runtime: Runtime) -> str:
    return "none" if runtime.files is None else runtime.files_trouble() or "ok"


def _chain() -> str:
    pulse = install.current().pulse
    if pulse is None:
        return "none"
    return "ok" if pulse.answers() else "does not answer"


@routes.route("/modes", key=None)
@routes.response(200, Modes)
def list_modes() -> dict[str, Any]:
    """The installed distribution modes (G-03)."""
    return {"modes": [mode_views.mode_view(name, mode) for name, mode in modes.installed().items()]}


@routes.route("/admin/users/provision", methods=["POST"], key=auth.require_admin)
@routes.arguments(Provision)
@routes.response(200, Provisioned)
@routes.alt_response(201, schema=Provisioned)
def provision(body: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Make an account, or find it. Needs the install's admin key in x-admin-key (H-14)."""
    account, created, key = accounts.provision(body["email"], new_key=body["new_key"])
    answer = {"user_id": account.id, "email": account.email, "created": created}
    if key is not None:
        answer["api_key"] = key
    return answer, 201 if created else 200
