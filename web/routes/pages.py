"""Pages beside the API: its description for people, and numbers for Prometheus (H-13)."""

from __future__ import annotations

import re
import secrets
from typing import Any

from flask import Blueprint, Response, current_app, make_response, render_template
from markupsafe import Markup, escape
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from web import errors, metrics, openapi_fields, statuses

routes = Blueprint("pages", __name__, template_folder="../templates")
METHODS = ("get", "post", "patch", "delete", "put")
_CODE = re.compile("`([^`]+)`")


@routes.app_template_filter("code")
def code(text: str) -> Markup:
    """What stands between backticks as code; everything else as text."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


@routes.route("/docs")
def docs() -> Response:
    """Every route of the API, from the same description as /api/openapi.json."""
    spec: dict[str, Any] = current_app.config["API"].spec.to_dict()
    tags = {tag["name"]: tag.get("description", "") for tag in spec.get("tags", [])}
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in tags}
    for path, operations in spec["paths"].items():
        for method in METHODS:
            if method in operations:
                told = operations[method]
                row = {"method": method.upper(), "path": path, **told}
                groups[told["tags"][0]].append(row)
    nonce = secrets.token_urlsafe(16)
    shown = {"groups": groups, "about": tags, "spec": spec, "nonce": nonce}
    answer = make_response(
        render_template("docs.html", pages=_pages(), refusals=_refusals(), **shown)
    )
    answer.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return answer


def _pages() -> dict[str, str]:
    """The addresses that people open, and what each shows: its view's docstring."""
    found = {}
    for rule in current_app.url_map.iter_rules():
        words = current_app.view_functions[rule.endpoint].__doc__
        if not rule.rule.startswith("/api/") and words:
            path = rule.rule.replace("<", "{").replace(">", "}")
            found[path] = openapi_fields.plain(" ".join(words.split()))
    return dict(sorted(found.items()))


def _refusals() -> list[tuple[int, str, list[str]]]:
    """Each status, what it means, and the reasons that have it."""
    reasons: dict[int, list[str]] = {status: [] for status in statuses.MEANING}
    for reason, status in errors.STATUS.items():
        reasons[status].append(reason)
    reasons[errors.status_of(statuses.CONFLICT)] = [statuses.CONFLICT]
    return [(status, statuses.MEANING[status], reasons[status]) for status in sorted(reasons)]


@routes.route("/metrics")
def numbers() -> Response:
    """What this process has done, and what waits in the database."""
    return Response(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)
