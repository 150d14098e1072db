"""Signatures over the raw bytes, as receivers check them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine.rules import signing

THEN = 1_795_000_000
BODIES = [
    b"{}",
    '{"text":"é 🎉 \u2028 \u2029"}'.encode(),
    b'{"big":9007199254740993,"price":1.0,"deep":{"a":{},"b":[[]]}}',
    b'{ "spaced" :\t1.50 }\n',
]


def own_scheme_accepts(secret: str, header: str, body: bytes) -> bool:
    """The verifier that a receiver of the hosted service has."""
    parts = [part.split("=", 1) for part in header.split(",")]
    t = next(value for name, value in parts if name == "t")
    want = hmac.new(secret.encode(), f"{t}.".encode() + body, hashlib.sha256).hexdigest()
    given = [value for name, value in parts if name == "v1"]
    fresh = abs(time.time() - int(t)) < 300
    return fresh and any(hmac.compare_digest(want, one) for one in given)


def sign(secret: str | list[str], body: bytes) -> dict[str, str]:
    # Of now and not of the import: a verifier accepts five minutes, and the suite takes longer.
    at = int(time.time())
    return signing.headers(secret, "DLV_1", at, body, "proof.approved", "DLV_1")


@pytest.mark.rule("W-03")
@pytest.mark.case("F20")
@pytest.mark.parametrize("body", BODIES)
def test_both_signatures_are_over_the_very_bytes(body: bytes) -> None:
    secret = signing.new_secret()
    headers = sign(secret, body)
    Webhook(secret).verify(body, headers)
    assert own_scheme_accepts(secret, headers["X-Muster-Signature"], body)
    changed = body + b" "
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(changed, headers)
    assert not own_scheme_accepts(secret, headers["X-Muster-Signature"], changed)


@pytest.mark.rule("W-03")
def test_headers_carry_the_event_the_delivery_and_the_prefix_of_the_setting() -> None:
    headers = signing.headers("whsec_YQ==", "m", THEN, b"{}", "payout.paid", "DLV_9", "X-Acme")
    assert headers["X-Acme-Event"] == "payout.paid"
    assert headers["X-Acme-Delivery"] == "DLV_9"
    assert headers["X-Acme-Signature"].startswith(f"t={THEN},v1=")
    assert headers["webhook-id"] == "m"
    assert headers["webhook-timestamp"] == str(THEN)
    assert not any(name.startswith("X-Muster") for name in headers)


@pytest.mark.rule("W-03")
@pytest.mark.case("F20")
def test_during_a_change_of_secret_either_secret_verifies() -> None:
    new, old, other = (signing.new_secret() for _ in range(3))
    headers = sign([new, old], b"{}")
    for secret in (new, old):
        Webhook(secret).verify(b"{}", headers)
        assert own_scheme_accepts(secret, headers["X-Muster-Signature"], b"{}")
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(b"{}", headers)
    assert not own_scheme_accepts(other, headers["X-Muster-Signature"], b"{}")


@pytest.mark.rule("W-07")
@pytest.mark.parametrize("secret", ["a buyer's own", "sécret", "d2hzZWM=", "x"])
def test_a_secret_of_another_form_stands_for_its_bytes(secret: str) -> None:
    assert signing.key_bytes(secret) == secret.encode()
    headers = sign(secret, b"{}")
    Webhook(secret.encode()).verify(b"{}", headers)


@pytest.mark.rule("W-03")
def test_a_new_secret_is_whsec_and_32_random_bytes() -> None:
    one, two = signing.new_secret(), signing.new_secret()
    assert one != two
    assert one.startswith("whsec_")
    assert len(base64.b64decode(one.removeprefix("whsec_"), validate=True)) == 32
    assert len(signing.key_bytes(one)) == 32


def test_base64_may_come_without_its_padding() -> None:
    assert signing.key_bytes("whsec_YQ") == signing.key_bytes("whsec_YQ==") == b"a"


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!!!", "whsec_é", "whsec_A"])
def test_what_cannot_be_a_key_is_refused_with_one_kind_of_error(secret: str) -> None:
    with pytest.raises(ValueError, match=r"secret .*\."):
        signing.key_bytes(secret)


def test_nothing_is_sent_unsigned() -> None:
    with pytest.raises(ValueError, match="needs a secret"):
        sign([], b"{}")


def test_the_standard_signature_is_the_one_of_the_specification() -> None:
    # The example of the Standard Webhooks libraries.
    headers = signing.headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        "e",
        "d",
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.rule("W-03")
def test_the_example_of_the_readme_is_what_is_sent() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text()
    signed = signing.headers(
        "a-key-i-chose", "DLV_1", 1_700_000_000, b"{}", "order.delivered", "DLV_1"
    )
    for name in ("webhook-signature", "X-Muster-Signature"):
        assert f"{name}: {signed[name]}" in text
