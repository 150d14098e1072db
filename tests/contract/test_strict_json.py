"""Bodies are strict JSON: what is not exactly that is refused and changes nothing (H-11)."""

from __future__ import annotations

import gzip
import sys
import time
from contextlib import suppress

import pytest

from engine.errors import Refused
from tests.contract.scene import Scene, all_hold, everything, routes
from tests.world import World
from web.strict_json import MAX_DEPTH, check_parses, parse_object

JSON = "application/json"
GZIPPED = gzip.compress(b'{"label": "zip"}')


def nested(depth: int, start: str = "[", end: str = "]") -> bytes:
    return ('{"label": ' + start * depth + end * depth + "}").encode()


# (body, what the refusal names)
BROKEN = [
    (b'{"label": "a", "label": "b"}', "label"),
    (b'{"label": "a", "label": "a"}', "label"),
    (b'{"label": {"x": 1, "x": 2}}', "x"),
    (b'{"label": [{"y": {"z": 1, "z": 1}}]}', "z"),
    (b'{"label": "a", "l\\u0061bel": "b"}', "label"),
    (b'{"label": "\\u0000"}', "label"),
    (b'{"label": "a\x00b"}', "body"),
    (b'{"la\\u0000bel": "a"}', "la?bel"),
    (b'{"label": ["ok", "\\u0000"]}', "label.1"),
    (b'{"label": "\\ud800"}', "label"),
    (b'{"label": "\\udc00\\ud800"}', "label"),
    (b'{"\\ud83d": "a"}', "?"),
    (b'{"label": "\xed\xa0\x80"}', "body"),
    (b'{"label": "\xff"}', "body"),
    (b'{"label": "\xc0\x80"}', "body"),
    (b'{"label": "\xf4\x90\x80\x80"}', "body"),
    ('{"label": "a"}'.encode("utf-16"), "body"),
    (b'\xef\xbb\xbf{"label": "a"}', "body"),
    ('ï»¿{"label": "a"}'.encode(), "body"),
    (nested(MAX_DEPTH), "body"),
    (nested(MAX_DEPTH, '{"a":', "}").replace(b":}", b":1}"), "body"),
    (nested(100_000), "body"),
    (b"[" * 100_000, "body"),
    (b'{"a":' * 100_000, "body"),
    (b'{"label": 9223372036854775808}', "label"),
    (b'{"label": -9223372036854775809}', "label"),
    (b'{"label": [1, [2, 18446744073709551616]]}', "label.1.1"),
    (b'{"label": 1' + b"0" * 1_000_000 + b"}", "body"),
    (b'{"label": 0.' + b"1" * 1_000_000 + b"}", "body"),
    (b'{"label": 1e9999999999999999999999}', "body"),
    (b'{"label": -1e-9999999999999999999999}', "body"),
    (b'{"label": NaN}', "body"),
    (b'{"label": Infinity}', "body"),
    (b'{"label": -Infinity}', "body"),
    (b"[]", "body"),
    (b'"text"', "body"),
    (b"1", "body"),
    (b"null", "body"),
    (b"true", "body"),
    (b'{"label": "a"} x', "body"),
    (b'{"label": "a"}{"label": "b"}', "body"),
    (b'{"label": "a"', "body"),
    (b'{"label": "a",}', "body"),
    (b'{label: "a"}', "body"),
    (b"{'label': 'a'}", "body"),
    (b'{"label": "a"} // comment', "body"),
    (b'{"label": 01}', "body"),
    (b'{"label": +1}', "body"),
    (b'{"label": .5}', "body"),
    (b'{"label": 0x10}', "body"),
    ('{"label": ٣}'.encode(), "body"),
    (b'{"label": "tab\tin it"}', "body"),
    (b'{"label": "\\x41"}', "body"),
    (b"\x0b", "body"),
    (b"\xc2\xa0{}", "body"),
    (b"label=a&x=1", "body"),
    (GZIPPED, "body"),
]


@pytest.mark.rule("H-11")
def test_what_is_not_strict_json_is_refused_by_name_and_changes_nothing(world: World) -> None:
    owner = world.person()
    before = everything()

    def refused(row: tuple[bytes, str]) -> None:
        body, named = row
        headers = {"x-api-key": owner.key, "content-type": JSON}
        errors = world.call("POST", "/wallets", raw=body, headers=headers).refused(400)["errors"]
        assert list(errors) == [named]

    all_hold(BROKEN, refused)
    assert everything() == before


@pytest.mark.rule("H-11")
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '["\\"", ' + "[" * 100_000])
def test_depth_is_refused_before_anything_recurses_into_it(text: str) -> None:
    """Libraries raise Python's limit, past which the parser would end the process."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        for read in (lambda: parse_object(text.encode()), lambda: check_parses(text)):
            with pytest.raises(Refused, match="nested"):
                read()
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.rule("H-11")
@pytest.mark.parametrize("filler", [b'\\"', b"x", b"[", b"\\\\", b'"'])
def test_a_long_string_is_read_in_a_moment_whatever_it_is_full_of(filler: bytes) -> None:
    body = b'{"x": [' + b"[]," * 100 + b'[]], "a": "' + filler * (8_000_000 // len(filler)) + b'"}'
    began = time.monotonic()
    with suppress(Refused):
        parse_object(body)
    assert time.monotonic() - began < 10


@pytest.mark.rule("H-11")
def test_every_route_with_a_body_reads_it_as_strictly(world: World) -> None:
    scene = Scene.of(world)
    before = everything()
    for body in (b'{"a": 1, "a": 2}', b"[]", b'{"a": "\\u0000"}', b"{", b"\xff", b"[" * 100_000):
        for route in routes(world.app):
            if route.body is not None:
                headers = {**scene.headers(route), "content-type": JSON}
                answer = world.call(route.method, scene.path(route), raw=body, headers=headers)
                assert answer.refused(400)["errors"], route.name
    assert everything() == before


# Close to what is refused, and right: (body, the label that is kept)
FINE = [
    (b"", ""),
    (b"  \r\n\t ", ""),
    (b"{}", ""),
    (b' \n{"label": "a"}\r\n', "a"),
    (b'{"label": "\\ud83d\\ude00"}', "\N{GRINNING FACE}"),
    ('{"label": "é\u2028\u202e\ufeff"}'.encode(), "é\u2028\u202e\ufeff"),
    (b'{"label": "\\u00e9\\/\\b"}', "é/\b"),
    (b'{"\\u006cabel": "escaped key"}', "escaped key"),
]


@pytest.mark.rule("H-11")
def test_what_is_strict_json_is_kept_as_it_was_meant(world: World) -> None:
    owner = world.person()

    def kept(row: tuple[bytes, str]) -> None:
        headers = {"x-api-key": owner.key, "content-type": f"{JSON}; charset=utf-8"}
        made = world.call("POST", "/wallets", raw=row[0], headers=headers).ok()
        assert made["wallet"]["label"] == row[1]

    all_hold(FINE, kept)
    assert [one["label"] for one in owner.get("/wallets")["wallets"]] == [row[1] for row in FINE]


@pytest.mark.rule("H-11")
def test_nesting_counts_to_64(world: World) -> None:
    """63 lists in an object are 64 levels: the nesting passes, and the field is what is wrong."""
    owner = world.person()
    headers = {"x-api-key": owner.key, "content-type": JSON}
    answer = world.call("POST", "/wallets", raw=nested(MAX_DEPTH - 1), headers=headers)
    assert answer.refused(400)["errors"] == {"label": "Not a valid string"}


WRONG_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonx",
    "application/x-ndjson",
    "json",
    "",
    None,
]


@pytest.mark.rule("H-05")
def test_a_body_that_does_not_say_that_it_is_json_is_415(world: World) -> None:
    scene = Scene.of(world)
    before = everything()

    def refused(content_type: str | None) -> None:
        for route in routes(world.app):
            if route.body is None:
                continue
            headers = scene.headers(route)
            if content_type is not None:
                headers["content-type"] = content_type
            answer = world.call(route.method, scene.path(route), raw=b"label=a", headers=headers)
            answer.refused(415, "wrong_content_type")

    all_hold(WRONG_TYPES, refused)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_a_compressed_body_is_415_and_says_what_to_send(world: World) -> None:
    scene = Scene.of(world)
    before = everything()
    for encoding in ("gzip", "deflate", "br", "x-gzip", "gzip, gzip"):
        headers = {"content-type": JSON, "content-encoding": encoding}
        answer = scene.owner.call("POST", "/wallets", raw=GZIPPED, headers=headers)
        answer.refused(415, "wrong_content_encoding")
        assert answer.headers["accept-encoding"] == "identity"
        path = f"/inbound/webhook/{scene.gig.id}?token={scene.gig.token}"
        world.call("POST", path, raw=GZIPPED, headers=headers).refused(415)
    assert everything() == before
    for encoding in ("identity", "Identity", ""):
        headers = {"content-type": JSON, "content-encoding": encoding}
        scene.owner.call("POST", "/wallets", raw=b"{}", headers=headers).ok()


@pytest.mark.rule("H-05")
def test_a_body_past_the_limit_is_413_and_says_the_limit(world: World) -> None:
    owner = world.person()
    headers = {"content-type": JSON}
    body = b'{"label": "' + b"x" * 9_000_000 + b'"}'
    told = owner.call("POST", "/wallets", raw=body, headers=headers).refused(413)
    assert told["max_bytes"] == 9_000_000
    body = b'{"label": "' + b"x" * 8_999_900 + b'"}'
    assert (
        "label" in owner.call("POST", "/wallets", raw=body, headers=headers).refused(400)["errors"]
    )
