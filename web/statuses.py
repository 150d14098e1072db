"""What the status of a refusal says to whoever is refused (H-05)."""

from __future__ import annotations

# A status whose reasons have anchors of their own in /docs; of a conflict there are as many
# reasons as states that may stand in the way, and they share one.
CONFLICT = "conflict"

MEANING: dict[int, str] = {
    400: "What was sent is not what this route takes, or does not go together; `errors` names each "
    "bad field. Nothing was changed.",
    401: "There is no key, or none that opens anything. Send one in `x-api-key`.",
    402: "The wallet does not have what this costs; `short` says of what.",
    403: "You are known, and may not do this here.",
    404: "There is no such thing, or it is not yours to see.",
    405: "The path is there, but takes other methods; the header `Allow` lists them.",
    408: "It came too slowly. Send it again.",
    409: "Something stands in the way as things are now: `reason` names it, and `error` says what "
    "to do about it. Nothing was changed.",
    410: "It was there, or was yours, and is not any more.",
    412: "Somebody has changed it since you read it; `etag` is its present tag. Read it again.",
    413: "It is too large; the limit stands beside it.",
    415: "The body is of another type or encoding than this route reads.",
    416: "The file has no such part.",
    422: "This `Idempotency-Key` came with another request before: make a new key. Or clocks leap "
    "over the local time that was given, so it never comes.",
    428: "Send the header that is asked for.",
    429: "A limit is used up; `Retry-After` says for how many seconds where time alone helps.",
    431: "The headers are too large.",
    499: "The caller hung up before the answer; what had begun goes on.",
    500: "A fault of ours. The operator's log says which.",
    502: "The chain, or a wallet's provider, did not do it.",
    503: "Something that this needs is not there just now, or was never set up in this install.",
}
