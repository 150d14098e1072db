"""Settings: environment variables `MUSTER_…` (Z-05). A wrong one stops the start with a sentence.

The dataclass is the list: name, default, meaning and shape of each stand beside one another, and
`muster config` prints it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from marshmallow import Schema, ValidationError, validate
from marshmallow import fields as shapes

from engine.errors import SettingsError
from engine.rules.addresses import Allow

PREFIX = "MUSTER_"
_ALLOW: dict[str, Allow] = {"no": "public", "loopback": "loopback", "yes": "private"}
_ADDRESS = validate.Regexp(r"^(0x[0-9a-fA-F]{40})?$", error="an address is 0x and 40 hex digits")
_KEY = validate.Regexp(r"^(0x[0-9a-fA-F]{64})?$", error="a private key is 0x and 64 hex digits")
_HTTP = validate.Regexp(r"^(https?://\S+)?$", error="it must begin with http:// or https://")
_CRON = validate.Regexp(
    r"^[-*/,0-9]+( [-*/,0-9a-zA-Z]+){4}$", error="five cron fields, such as 0 3 * * *"
)
_MAIL = validate.Regexp(r"^[!-~]+@[!-~]+\Z", error="give an address like muster@example.com")
_DOMAIN = validate.Regexp(
    r"^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*)?\Z", error="give a domain like tasks.example.com"
)
_HEADER = validate.Regexp(r"^[A-Za-z0-9-]{1,40}$", error="letters, digits and hyphens")


def setting(default: Any, meaning: str, check: Any = None, *, secret: bool = False) -> Any:
    return field(default=default, metadata={"meaning": meaning, "check": check, "secret": secret})


@dataclass(frozen=True)
class Settings:
    STAGE: str = setting(
        "production",
        "dev, staging or production; dev opens /api/dev and is refused on a chain not local.",
        validate.OneOf(["dev", "staging", "production"]),
    )
    DATABASE_URL: str = setting(
        "",
        "postgresql://user:password@host/name, or sqlite:///path to a file.",
        validate.Regexp(
            r"^(postgres(ql)?://.+|sqlite:///.+)?$",
            error="it must begin with postgresql:// or sqlite:///",
        ),
        secret=True,
    )
    DATABASE_POOL: int = setting(
        8, "Connections to PostgreSQL for each process.", validate.Range(1, 100)
    )
    BROKER_URL: str = setting(
        "memory://",
        "redis://host:port/db, amqp://… (RabbitMQ), or memory:// for a single process.",
        validate.Regexp(
            r"^((redis|amqp)s?://.+|memory://)$",
            error="it must be redis://…, amqp://… or memory://",
        ),
        secret=True,
    )
    ADMIN_KEY: str = setting(
        "", "The key of POST /api/admin/…; without one these routes answer 503.", secret=True
    )
    MASTER_KEYS: str = setting(
        "",
        "Comma-separated Fernet keys; the first encrypts, all decrypt.",
        secret=True,
    )
    PUBLIC_URL: str = setting(
        "http://127.0.0.1:8080", "Where this install is reached; links are made of it.", _HTTP
    )
    TRUSTED_PROXIES: str = setting(
        "",
        "Addresses or networks, with commas between, whose X-Forwarded-For says who calls.",
        validate.Regexp(r"^([0-9a-fA-F:./, ]*)$", error="addresses with commas between"),
    )
    CHAIN_RPC_URL: str = setting(
        "", "The JSON-RPC address of an EVM node; empty means no chain.", _HTTP, secret=True
    )
    CHAIN_TIMEOUT_SECONDS: int = setting(
        5, "How long an answer of the node may take.", validate.Range(1, 60)
    )
    TREASURY_ADDRESS: str = setting("", "The Treasury contract.", _ADDRESS)
    USDC_ADDRESS: str = setting("", "The USDC token.", _ADDRESS)
    OPERATOR_KEY: str = setting(
        "",
        "The private key that pays out; it needs the contract's settler role.",
        _KEY,
        secret=True,
    )
    REFUNDER_KEY: str = setting(
        "",
        "The private key that refunds; it needs the contract's refunder role. Empty: OPERATOR_KEY.",
        _KEY,
        secret=True,
    )
    DEPOSIT_ID_SECRET: str = setting(
        "",
        "What the ids of named deposits are made with; empty: made once and kept in the database.",
        secret=True,
    )
    TREASURY_BLOCK: int = setting(
        0,
        "The block in which the Treasury was made; nothing before it is read.",
        validate.Range(0, 2**62),
    )
    FAUCET_KEY: str = setting(
        "",
        "The private key that may make the test USDC of a local chain; for development only.",
        _KEY,
        secret=True,
    )
    CONFIRMATIONS: int = setting(
        3, "Blocks on top of a transaction before it counts.", validate.Range(1, 1000)
    )
    BUMP_SECONDS: int = setting(
        60,
        "After how long a transaction that no block takes is signed again with higher fees.",
        validate.Range(1, 86_400),
    )
    MAX_FEE_GWEI: int = setting(
        500,
        "The most to pay for one unit of gas, in 10^9 wei; above it nothing is sent.",
        validate.Range(1, 1_000_000),
    )
    GAP_SECONDS: int = setting(
        30,
        "After how long a nonce that nobody uses, and that holds up others, is filled.",
        validate.Range(1, 86_400),
    )
    GAS_ALARM_WEI: int = setting(
        50_000_000_000_000_000,
        "A warning is logged while the settler or the refunder has less ether than this.",
        validate.Range(0, 10**27),
    )
    ORDERS_PER_MINUTE: int = setting(
        120, "How often one account may publish or withdraw orders.", validate.Range(1, 1_000_000)
    )
    SPONSOR_GAS: bool = setting(
        False, "May the operator pay the gas of a deposit that a buyer's hot wallet makes?"
    )
    SPONSOR_GAS_DAILY: int = setting(
        20,
        "How many deposits a day of one account the operator sends, and pays the gas of.",
        validate.Range(0, 1_000_000),
    )
    WORKER_THREADS: int = setting(
        8, "Threads that run commands, for each worker process.", validate.Range(1, 64)
    )
    SERVER_THREADS: int = setting(
        32, "Threads that answer requests, for each server process.", validate.Range(2, 512)
    )
    SWEEP_SECONDS: int = setting(
        10, "How often rows that nobody was woken for are looked for.", validate.Range(1, 3600)
    )
    REVIEW_SECONDS: int = setting(
        10, "How often review deadlines are looked at.", validate.Range(1, 3600)
    )
    FOLLOW_SECONDS: int = setting(
        1,
        "How often the chain is asked while something of ours is under way, or quoted to a payer.",
        validate.Range(1, 60),
    )
    RECONCILE_SECONDS: int = setting(
        120,
        "How often the chain is read when nothing of ours is under way.",
        validate.Range(1, 86_400),
    )
    SETTLEMENT_CRON: str = setting("0 3 * * *", "When approved work is paid out, in UTC.", _CRON)
    WEBHOOK_ALLOW_PRIVATE: str = setting(
        "no",
        "May webhooks go to addresses that are not public: no, loopback (this machine), or yes.",
        validate.OneOf(list(_ALLOW)),
    )
    WEBHOOK_PORTS: str = setting(
        "80,443,8080,8443",
        "Ports that webhooks may go to.",
        validate.Regexp(r"^\d{1,5}(,\d{1,5})*$", error="port numbers with commas between"),
    )
    WEBHOOK_HEADER_PREFIX: str = setting(
        "X-Muster", "The prefix of the webhook headers of our own.", _HEADER
    )
    SMTP_URL: str = setting(
        "",
        "smtp://user:password@host:port, or smtps://…; empty sends no mail.",
        validate.Regexp(r"^(smtps?://\S+)?$", error="it must begin with smtp:// or smtps://"),
        secret=True,
    )
    MAIL_FROM: str = setting("muster@localhost", "The address that mail comes from.", _MAIL)
    INBOUND_EMAIL_DOMAIN: str = setting(
        "",
        "The domain whose mail comes to POST /api/inbound/email; empty takes no mail.",
        _DOMAIN,
    )
    UPLOAD_DIR: str = setting(
        "", "The folder that uploads are kept in, which all processes share; empty takes none."
    )
    UPLOAD_MAX_BYTES: int = setting(
        100_000_000, "The size of the largest upload.", validate.Range(1, 5_000_000_000)
    )
    UPLOADS_PER_MINUTE: int = setting(
        60, "How many uploads one account may begin.", validate.Range(1, 1_000_000)
    )
    UPLOAD_BYTES_PER_DAY: int = setting(
        2_000_000_000, "How much one account may upload in 24 hours.", validate.Range(1, 10**15)
    )
    UPLOAD_MIN_FREE_BYTES: int = setting(
        200_000_000, "What uploads leave free on their disk.", validate.Range(0, 10**15)
    )
    UPLOAD_UNNAMED_HOURS: int = setting(
        24, "How long an upload is kept that no row names.", validate.Range(1, 8760)
    )
    UPLOAD_S3_BUCKET: str = setting(
        "",
        "The bucket that uploads are kept in, instead of a folder.",
        validate.Regexp(r"^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?\Z", error="the name of a bucket"),
    )
    UPLOAD_S3_ENDPOINT: str = setting(
        "", "Where the S3-compatible store is reached; empty: Amazon's.", _HTTP
    )
    UPLOAD_S3_REGION: str = setting("us-east-1", "The bucket's region.")
    UPLOAD_S3_KEY: str = setting("", "The access key of the bucket.")
    UPLOAD_S3_SECRET: str = setting("", "The secret of that access key.", secret=True)
    LOG_LEVEL: str = setting(
        "info",
        "debug, info, warning or error.",
        validate.OneOf(["debug", "info", "warning", "error"]),
    )
    ANVIL: str = setting("", "The anvil binary, when it is not to be looked for.")

    @property
    def webhook_ports(self) -> frozenset[int]:
        return frozenset(int(port) for port in self.WEBHOOK_PORTS.split(","))

    @property
    def webhook_allow(self) -> Allow:
        return _ALLOW[self.WEBHOOK_ALLOW_PRIVATE]

    @property
    def is_dev(self) -> bool:
        return self.STAGE == "dev"


def load(environment: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; `defaults` stand where the environment is silent."""
    given = {**(defaults or {}), **_ours(environment)}
    known = {item.name for item in fields(Settings)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else " See: muster config."
            raise SettingsError(f"{PREFIX}{name} is not a setting.{hint}")
    try:
        values = _schema().load(given)
    except ValidationError as error:
        name, sentences = sorted(dict(error.messages_dict).items())[0]
        raise SettingsError(f"{PREFIX}{name}: {sentences[0].rstrip('.')}.") from error
    return Settings(**values)


def _schema() -> Schema:
    members: dict[str, shapes.Field[Any]] = {}
    for item in fields(Settings):
        check = item.metadata["check"]
        checks = [] if check is None else [check]
        if isinstance(item.default, bool):
            members[item.name] = shapes.Boolean(validate=checks)
        elif isinstance(item.default, int):
            members[item.name] = shapes.Integer(strict=False, validate=checks)
        else:
            members[item.name] = shapes.String(validate=checks)
    return Schema.from_dict(members)()


def _ours(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }


def describe(settings: Settings) -> Iterator[dict[str, Any]]:
    """Every setting with its value, default and meaning; secrets masked."""
    for item in fields(Settings):
        value = getattr(settings, item.name)
        masked = "set" if value else ""
        yield {
            "name": PREFIX + item.name,
            "value": masked if item.metadata["secret"] else value,
            "default": item.default,
            "meaning": item.metadata["meaning"],
        }
