"""Pages beside the API: its description for people, and numbers for Prometheus (H-13)."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response, current_app, render_template
from markupsafe import Markup, escape
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from web import errors, metrics

routes = Blueprint("pages", __name__, template_folder="../templates")
METHODS = ("get", "post", "patch", "delete", "put")
_CODE = re.compile("`([^`]+)`")


@routes.app_template_filter("code")
def code(text: str) -> Markup:
    """What stands between backticks as code; everything else as text."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


@routes.route("/docs")
def docs() -> str:
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
    shown = {"groups": groups, "about": tags, "spec": spec, "reasons": errors.STATUS}
    return render_template("docs.html", **shown)


@routes.route("/metrics")
def numbers() -> Response:
    """What this process has done, and what waits in the database."""
    return Response(generate_latest(metrics.REGISTRY), content_type=CONTENT_TYPE_LATEST)
