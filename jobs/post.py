"""One try of a delivery: sign, POST, and say what it came to (W-02, W-03)."""

from __future__ import annotations

import asyncio
import os
import time
import unicodedata
from contextlib import AbstractAsyncContextManager
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib import metadata
from types import TracebackType

import aiohttp
import yarl

from engine.deliveries import EXCERPT_CHARACTERS, Outcome, Work
from engine.rules import addresses, retry, signing
from jobs import guard

MOST_BODY_BYTES = 64 * 1024
# Once the status is there the verdict is clear; what follows is read for the log, but not for long.
BODY_SECONDS = 2.0


def _version() -> str:
    try:
        return metadata.version("muster")
    except metadata.PackageNotFoundError:
        return "0"


class Sender:
    """An HTTP session behind the guard. Use it as an async context manager."""

    def __init__(
        self,
        policy: guard.Policy,
        *,
        header_prefix: str = "X-Muster",
        timeout_seconds: float = 15,
        lookups: guard.Lookups | None = None,
    ) -> None:
        self._policy = policy
        self._prefix = header_prefix
        self._timeout_seconds = timeout_seconds
        self._lookups = lookups or guard.Lookups()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Sender:
        self._session = aiohttp.ClientSession(
            connector=guard.connector(self._policy, self._lookups),
            timeout=aiohttp.ClientTimeout(total=self._timeout_seconds),
            # One receiver's cookies are not for the next.
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            # A few compressed bytes can be gigabytes.
            auto_decompress=False,
            headers={"user-agent": f"Muster/{_version()}", "accept-encoding": "identity"},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, work: Work) -> Outcome:
        """Send one delivery. Every failure is an outcome; only cancellation is raised.

        A try succeeds when a 2xx status and its headers came in time, whether or not the body after
        them ever ends. Of the body at most 64 KiB are read, for two seconds.
        """
        began = time.monotonic()
        status: int | None = None
        excerpt, error, retry_after = "", None, None
        try:
            async with asyncio.timeout(self._timeout_seconds), self._request(work) as response:
                status = response.status
                retry_after = retry_after_seconds(response.headers.get("retry-after"), real_now())
                excerpt = readable(await _beginning(response))
        except TimeoutError:
            error = f"No answer came within {self._timeout_seconds:g} seconds."
        except Exception as failure:
            error = _sentence(failure)
        if status is not None:
            error = _why_failed(status)
        latency_ms = int((time.monotonic() - began) * 1000)
        return Outcome(status, error, latency_ms, excerpt, retry_after)

    def _request(self, work: Work) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("the session is not open")
        body = work.body.encode()
        signed = signing.headers(
            work.target.secrets,
            work.delivery_id,
            int(real_now()),
            body,
            work.event,
            work.delivery_id,
            self._prefix,
        )
        return self._session.post(
            self._checked(work.target.url),
            data=body,
            headers={"content-type": "application/json", **signed},
            allow_redirects=False,
        )

    def _checked(self, url: str) -> yarl.URL:
        """The URL as it is sent to, if it may be.

        It is checked as it was given and as aiohttp reads it: where two parsers disagree, an
        attacker finds the gap.
        """
        why = self._policy.check_url(url)
        if why is None:
            parsed = yarl.URL(url)
            ip = addresses.literal(parsed.raw_host or "")
            if ip is not None:
                # aiohttp takes no 127.1; what it stands for has been checked.
                parsed = parsed.with_host(ip)
            why = self._policy.check_url(str(parsed.origin()))
        if why is not None:
            raise guard.AddressRefused(why)
        return parsed


def real_now() -> float:
    """Seconds since 1970 by this machine's clock.

    Not the engine's clock: a receiver compares with its own time, which a development clock that
    was moved forward does not move (Z-06).
    """
    return time.time()


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of the answer; what came so far if the rest breaks off or takes too long."""
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while len(found) < MOST_BODY_BYTES:
                part = await response.content.read(MOST_BODY_BYTES - len(found))
                if not part:
                    return bytes(found)
                found += part
    except (TimeoutError, aiohttp.ClientError, ValueError):
        pass
    # The rest of it is not wanted: without this the connection would be drained or kept.
    response.close()
    return bytes(found)


def readable(body: bytes) -> str:
    """The beginning of an answer as it is kept: PostgreSQL takes no NUL, a terminal no escapes."""
    text = body[: EXCERPT_CHARACTERS * 8].decode("utf-8", "replace")
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
    return "".join(kept)[:EXCERPT_CHARACTERS]


def retry_after_seconds(value: str | None, now: float) -> int | None:
    """A `Retry-After` header: seconds, or an HTTP date; None if it is neither."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        # Only its size matters once it is long.
        return min(int(value[:12]), retry.LONGEST_RETRY_AFTER_SECONDS)
    try:
        date = parsedate_to_datetime(value)
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return max(0, min(int(wait), retry.LONGEST_RETRY_AFTER_SECONDS))


def _why_failed(status: int) -> str | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"The receiver answered {status}: redirects are not followed. Set the final URL."
    if status == 410:
        return "The receiver answered 410 Gone: nothing more is sent until the URL is set again."
    return f"The receiver answered {status}."


def _sentence(failure: Exception) -> str:
    """What went wrong, for the endpoint's owner: nothing of an answer's text, no inner address."""
    cause = getattr(failure, "os_error", failure)
    if isinstance(cause, guard.AddressRefused):
        return str(cause)
    match failure:
        case aiohttp.ClientConnectorDNSError():
            return "The host name could not be resolved."
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(failure.certificate_error, "verify_message", "") or "it is wrong"
            return f"The receiver's TLS certificate was not accepted: {reason.rstrip('.')}."
        case aiohttp.ClientSSLError():
            return "No TLS connection could be made."
        case aiohttp.ClientConnectorError():
            code = failure.os_error.errno
            reason = os.strerror(code) if code else "every address failed"
            return f"No connection could be made: {reason}."
        case aiohttp.ServerDisconnectedError():
            return "The receiver closed the connection without an answer."
        case aiohttp.ClientResponseError():
            return "The receiver's answer was not valid HTTP."
        case aiohttp.InvalidURL():
            return "The URL is not well formed."
        case aiohttp.ClientError() | OSError():
            return "The connection broke off before an answer came."
        case _:
            return f"The try broke off inside Muster ({type(failure).__name__})."
