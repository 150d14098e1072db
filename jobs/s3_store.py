"""Uploads in a bucket of an S3-compatible store: callers put and fetch there themselves (R-08).

Everything is asked by addresses that are signed for one operation (AWS Signature Version 4), so no
library of the store's is needed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import requests

from engine import clock
from engine.errors import SettingsError
from engine.models.upload import Upload
from engine.settings import Settings
from engine.upload_links import FETCH_SECONDS
from jobs.file_stores import Ticket, Unfinished, unavailable

TIMEOUT_SECONDS = 10
BYTES = "application/octet-stream"


class Bucket:
    """One bucket, under the keys of the uploads.

    The signature of a `PUT` covers type and length, and `If-None-Match`, with which the store
    itself refuses to write a key twice.
    """

    def __init__(self, settings: Settings) -> None:
        for name in ("UPLOAD_S3_KEY", "UPLOAD_S3_SECRET"):
            if not getattr(settings, name):
                raise SettingsError(f"MUSTER_UPLOAD_S3_BUCKET needs MUSTER_{name} beside it.")
        self._region, self._bucket = settings.UPLOAD_S3_REGION, settings.UPLOAD_S3_BUCKET
        amazons = f"https://s3.{self._region}.amazonaws.com"
        self._endpoint = (settings.UPLOAD_S3_ENDPOINT or amazons).rstrip("/")
        self._key, self._secret = settings.UPLOAD_S3_KEY, settings.UPLOAD_S3_SECRET

    @property
    def origin(self) -> str | None:
        url = urlsplit(self._endpoint)
        return f"{url.scheme}://{url.netloc}"

    def ticket(self, upload: Upload) -> Ticket:
        left = max(1, (upload.expires_at - clock.now()) // clock.SECOND)
        headers = {"content-type": upload.content_type, "if-none-match": "*"}
        signed = {**headers, "content-length": str(upload.content_length)}
        return Ticket(self._signed("PUT", upload.id, left, signed), headers)

    def has(self, upload: Upload) -> bool:
        answer = self._ask("HEAD", upload.id)
        length = answer.headers.get("content-length")
        return answer.status_code == 200 and length == str(upload.content_length)

    def link(self, upload: Upload, disposition: str) -> str:
        shown = {"response-content-disposition": disposition, "response-content-type": BYTES}
        return self._signed("GET", upload.id, FETCH_SECONDS, {}, shown)

    def trouble(self) -> str | None:
        """Not asked for: what it answers to callers is told to them."""
        return None

    def remove(self, upload_id: str) -> None:
        self._ask("DELETE", upload_id)

    def broken_off(self, seconds: int) -> Iterator[tuple[str, Unfinished]]:
        """Nothing: the store shows only what is whole."""
        yield from ()

    def _ask(self, method: str, key: str) -> requests.Response:
        """503 `uploads_unavailable` for all but that it is there, or is not."""
        url = self._signed(method, key, FETCH_SECONDS, {})
        try:
            answer = requests.request(method, url, timeout=TIMEOUT_SECONDS, allow_redirects=False)
            if answer.status_code not in (200, 204, 404):
                answer.raise_for_status()
                raise requests.HTTPError(f"{method} was answered {answer.status_code}")
        except requests.RequestException as error:
            raise unavailable(error) from error
        return answer

    def _signed(
        self,
        method: str,
        key: str,
        seconds: int,
        headers: dict[str, str],
        query: dict[str, str] | None = None,
    ) -> str:
        """The address of an object for one operation, for so many seconds, with these headers."""
        # The store goes by real time.
        now = datetime.fromtimestamp(clock.machines(), UTC)
        stamp, day = f"{now:%Y%m%dT%H%M%SZ}", f"{now:%Y%m%d}"
        url = urlsplit(self._endpoint)
        path = quote(f"{url.path}/{self._bucket}/{key}")
        sent = {"host": url.netloc, **headers}
        names = ";".join(sorted(sent))
        scope = f"{day}/{self._region}/s3/aws4_request"
        asked = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{self._key}/{scope}",
            "X-Amz-Date": stamp,
            "X-Amz-Expires": str(seconds),
            "X-Amz-SignedHeaders": names,
            **(query or {}),
        }
        told = "&".join(f"{_quoted(name)}={_quoted(asked[name])}" for name in sorted(asked))
        lines = "".join(f"{name}:{sent[name]}\n" for name in sorted(sent))
        request = "\n".join((method, path, told, lines, names, "UNSIGNED-PAYLOAD"))
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, digest))
        secret = f"AWS4{self._secret}".encode()
        for part in (day, self._region, "s3", "aws4_request"):
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
        return f"{url.scheme}://{url.netloc}{path}?{told}&X-Amz-Signature={signature}"


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
