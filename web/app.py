"""The Flask application."""

from __future__ import annotations

from typing import Any

from flask import Flask, Response
from flask_smorest import Api

from engine import development
from jobs.runtime import Runtime
from web import errors, fields, keyed, limits, metrics, openapi
from web.request_log import log_requests
from web.routes import (
    access,
    bulk,
    changes,
    claim_links,
    comments,
    dashboard,
    deliveries,
    desks,
    dev,
    drafts,
    exports,
    fund_page,
    funds,
    gigs,
    holding,
    inbound,
    inbound_email,
    install,
    invites,
    link_pages,
    mailboxes,
    notifications,
    offers,
    order_quotes,
    order_undoing,
    pages,
    planning,
    proofs,
    public,
    purchases,
    queues,
    reputation,
    reviews,
    share_links,
    submit_page,
    tasks,
    uploads,
    verbs,
    wallets,
)
from web.schemas import forms
from web.schemas.problem import Problem
from web.strict_json import ExactJson

# A payload of two million characters may be four times as many bytes.
MAX_BODY_BYTES = 9_000_000


class Muster(Flask):
    """Flask, with a keyed request's routing and answer in one transaction (H-07)."""

    def dispatch_request(self) -> Any:
        given = keyed.keyed()
        if given is None:
            return super().dispatch_request()
        return keyed.run(given, super().dispatch_request)


def create(runtime: Runtime) -> Flask:
    """An application over a runtime that is configured; starts nothing."""
    app = Muster("muster", static_folder=None)
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
        API_SPEC_OPTIONS={"servers": [{"url": "/"}]},
    )
    api = _Api(app)
    for blueprint in (
        install.routes,
        access.routes,
        gigs.routes,
        invites.routes,
        mailboxes.routes,
        share_links.routes,
        dashboard.routes,
        inbound.routes,
        inbound_email.routes,
        drafts.routes,
        bulk.routes,
        exports.routes,
        queues.routes,
        claim_links.routes,
        holding.routes,
        offers.routes,
        tasks.routes,
        verbs.routes,
        changes.routes,
        comments.routes,
        proofs.routes,
        reviews.routes,
        wallets.routes,
        funds.routes,
        order_quotes.routes,
        order_undoing.routes,
        purchases.routes,
        deliveries.routes,
        notifications.routes,
        reputation.routes,
        public.routes,
        uploads.routes,
        planning.routes,
    ):
        api.register_blueprint(blueprint)
    if runtime.settings.is_dev:
        development.check_stage()
        api.register_blueprint(dev.routes)
    for mode, blueprint in desks.blueprints():
        desks.require_free(app, mode)
        api.register_blueprint(blueprint)
    own = next(app.url_map.iter_rules("api-docs.openapi_json"))
    openapi.finish(api.spec, api.ma_plugin.converter, own)
    app.config["API"] = api
    app.register_blueprint(pages.routes)
    app.register_blueprint(link_pages.routes)
    app.register_blueprint(submit_page.routes)
    app.register_blueprint(fund_page.routes)
    errors.register(app)
    app.after_request(limits.headers)
    app.after_request(_without_type)
    metrics.count_requests(app)
    log_requests(app)
    return app


def _without_type(answer: Response) -> Response:
    """What has no body has no type of one."""
    if answer.status_code == 204:
        answer.headers.pop("content-type", None)
    return answer


class _Api(Api):  # type: ignore[misc]
    ERROR_SCHEMA = Problem
    # A default answer would stand for whatever was forgotten.
    DEFAULT_ERROR_RESPONSE_NAME = None

    def __init__(self, app: Flask) -> None:
        super().__init__()
        self.init_app(app)
        self.register_field(fields.Money, "number", openapi.MONEY)
        self.register_field(fields.Time, "string", "date-time")
        self.register_field(fields.Instant, "string", "date-time")
        self.register_field(fields.Whole, "integer", None)
        self.register_field(fields.WholeText, "integer", None)
        self.register_field(fields.Flag, "boolean", None)
        self.register_field(fields.Ether, "string", None)
        for field in (forms.Price, forms.Tags, forms.FlagText):
            self.register_field(field, "string", None)
        self.register_field(forms.InstantText, "string", "date-time")
        self.register_field(fields.Raw, None, None)
        self.register_field(fields.Shaped, None, None)
        openapi.prepare(self.spec, self.ma_plugin.converter)
