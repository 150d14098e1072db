"""The Flask application."""

from __future__ import annotations

from flask import Flask
from flask_smorest import Api

from engine import development
from jobs.runtime import Runtime
from web import errors, fields
from web.request_log import log_requests
from web.routes import dev, funds, gigs, install, work
from web.schemas.problem import Problem
from web.strict_json import ExactJson

# A payload of two million characters may be four times as many bytes.
MAX_BODY_BYTES = 9_000_000


def create(runtime: Runtime) -> Flask:
    """An application over a runtime that is configured; starts nothing."""
    app = Flask("muster", static_folder=None)
    app.json = ExactJson(app)
    app.url_map.strict_slashes = False
    # An address with an empty part is a wrong one, not another spelling to redirect from.
    app.url_map.merge_slashes = False
    app.config.update(
        MUSTER=runtime.settings,
        RUNTIME=runtime,
        MAX_CONTENT_LENGTH=MAX_BODY_BYTES,
        API_TITLE="Muster",
        API_VERSION="1",
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX="/api",
        OPENAPI_JSON_PATH="openapi.json",
    )
    api = _Api(app)
    for blueprint in (install.routes, gigs.routes, work.routes, funds.routes):
        api.register_blueprint(blueprint)
    if runtime.settings.is_dev:
        development.check_stage()
        api.register_blueprint(dev.routes)
    errors.register(app)
    log_requests(app)
    return app


class _Api(Api):  # type: ignore[misc]
    ERROR_SCHEMA = Problem

    def __init__(self, app: Flask) -> None:
        super().__init__()
        self.init_app(app)
        self.register_field(fields.Money, "number", None)
        self.register_field(fields.Time, "string", "date-time")
        self.register_field(fields.Whole, "integer", None)
        self.register_field(fields.WholeText, "integer", None)
        self.register_field(fields.Flag, "boolean", None)
