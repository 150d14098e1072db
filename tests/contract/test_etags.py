"""ETag and If-Match: nobody overwrites what he has not read (H-05)."""

from __future__ import annotations

import pytest

from tests.contract.scene import all_hold, everything
from tests.world import Answer, Gig, World, at_once


def _tag(gig: Gig, **headers: str) -> str:
    answer = gig.owner.call("GET", gig.path, headers=headers)
    answer.ok()
    return str(answer.headers["etag"])


def _patch(gig: Gig, given: str | None, title: str = "Changed") -> Answer:
    headers = {} if given is None else {"if-match": given}
    return gig.owner.call("PATCH", gig.path, {"title": title}, headers=headers)


@pytest.mark.rule("H-05")
@pytest.mark.case("F14")
def test_a_tag_works_whatever_encoding_was_asked_for_and_is_told_anew_by_the_change(
    world: World,
) -> None:
    gig = world.gig()
    for number, encoding in enumerate(("identity", "gzip", "gzip, deflate, br, zstd", "*")):
        tag = _tag(gig, **{"accept-encoding": encoding})
        assert tag == f'"{2 * number + 1}"'
        changed = _patch(gig, tag)
        assert (changed.status, changed.headers["etag"]) == (200, f'"{2 * number + 2}"')
        again = _patch(gig, changed.headers["etag"])
        assert (again.status, again.headers["etag"]) == (200, _tag(gig))


# (what is sent as If-Match while the tag is "3", whether the change is made)
GIVEN = [
    (None, True),
    ("*", True),
    (" * ", True),
    ('"3"', True),
    ('"x", "3"', True),
    ('"3","4"', True),
    ('W/"3", "3"', True),
    (', "x" ,, "3" ,', True),
    ('"x,y", "3"', True),
    ('"2"', False),
    ('"4"', False),
    ('"x"', False),
    ('""', False),
    ('"03"', False),
    ('"3 "', False),
    ('"x", "2"', False),
    ('W/"3"', False),
    ('w/"3"', False),
    ("3", False),
    ("'3'", False),
    ('"3', False),
    ('3"', False),
    ('"3""3"', False),
    ('"3" "3"', False),
    ('"3", 3', False),
    ('"3", *', False),
    ("**", False),
    ("", False),
    (",", False),
    ('"\u0663"'.encode().decode("latin-1"), False),
    ('"' + "9" * 400 + '"', False),
    (", " * 5_000 + "x", False),
]


@pytest.mark.rule("H-05")
@pytest.mark.case("F14")
def test_a_stale_weak_or_malformed_tag_is_refused_with_the_one_that_stands(world: World) -> None:
    gig = world.gig()

    def holds(row: tuple[str | None, bool]) -> None:
        given, made = row
        answer = _patch(gig, given)
        if made:
            assert answer.status == 200, answer.text
        else:
            assert answer.refused(412, "precondition_failed")["etag"] == '"3"'

    def at_three(row: tuple[str | None, bool]) -> None:
        nonlocal gig
        if _tag(gig) != '"3"':
            gig = world.gig(gig.owner)
            _patch(gig, None)
            _patch(gig, None)
        holds(row)

    all_hold(GIVEN, at_three)
    stranger = world.person()
    before = everything()
    nothing = gig.owner.call("PATCH", gig.path, {}, headers={"if-match": '"1"'})
    nothing.refused(412, "precondition_failed")
    _patch(gig, '"1"').refused(412, "precondition_failed")
    # Who may not change it is told so, and not what its tag is; so is who sends nonsense.
    refused = stranger.call("PATCH", gig.path, {}, headers={"if-match": '"1"'}).refused(403)
    assert "etag" not in refused
    gig.owner.call("PATCH", gig.path, {"title": 5}, headers={"if-match": '"1"'}).refused(400)
    assert everything() == before


@pytest.mark.rule("H-05")
@pytest.mark.case("F14")
def test_of_ten_changes_at_once_with_one_tag_one_is_made(world: World) -> None:
    gig = world.gig()
    for _ in range(3):
        tag = _tag(gig)
        answers = at_once(10, lambda n, tag=tag: _patch(gig, tag, f"By {n}"))
        assert sorted(answer.status for answer in answers) == [200] + [412] * 9
        (won,) = [answer for answer in answers if answer.status == 200]
        now = won.headers["etag"]
        for answer in answers:
            if answer is not won:
                assert answer.refused(412, "precondition_failed")["etag"] == now
        read = gig.owner.call("GET", gig.path)
        assert (read.headers["etag"], read.json["gig"]["title"]) == (now, won.json["gig"]["title"])
    # Without a tag all are made, one after the other.
    before = int(_tag(gig).strip('"'))
    answers = at_once(10, lambda n: _patch(gig, None, f"By {n}"))
    tags = sorted(int(answer.headers["etag"].strip('"')) for answer in answers)
    assert tags == list(range(before + 1, before + 11))


@pytest.mark.rule("H-05")
def test_the_tag_is_the_same_for_all_and_changes_with_what_its_owner_changes(world: World) -> None:
    gig = world.gig(join_policy="open")
    worker = world.worker(gig)

    def tags() -> set[str]:
        answers = [
            gig.owner.call("GET", gig.path),
            worker.call("GET", gig.path),
            world.call("GET", gig.path),
        ]
        return {str(answer.headers["etag"]) for answer in answers}

    assert tags() == {'"1"'}
    gig.owner.patch(gig.path, {"status": "closed"})
    assert tags() == {'"2"'}
    gig.owner.patch(gig.path, {"status": "active", "price": "3"})
    assert tags() == {'"3"'}
    gig.owner.post(f"{gig.path}/rotate-token")
    assert tags() == {'"4"'}
    # What goes on in the gig is no change of it.
    gig.owner.patch(gig.path, {})
    gig.owner.post(f"{gig.path}/invites")
    gig.token = gig.owner.get(gig.path)["gig"]["webhook"].rpartition("=")[2]
    world.task(gig)
    worker.post(f"{gig.path}/queue/poll")
    assert tags() == {'"4"'}


@pytest.mark.rule("H-07")
def test_a_repeat_under_a_key_tells_the_tag_of_the_first_answer(world: World) -> None:
    gig = world.gig()
    headers = {"if-match": '"1"', "idempotency-key": "once"}
    first, again = (
        gig.owner.call("PATCH", gig.path, {"title": "Changed"}, headers=headers) for _ in range(2)
    )
    assert (first.status, again.status) == (200, 200)
    assert first.headers["etag"] == again.headers["etag"] == _tag(gig) == '"2"'
    # A refusal is not kept: with the tag that stands the same request is made.
    headers = {"if-match": '"1"', "idempotency-key": "another"}
    refused = gig.owner.call("PATCH", gig.path, {"title": "More"}, headers=headers).refused(412)
    headers["if-match"] = refused["etag"]
    assert gig.owner.call("PATCH", gig.path, {"title": "More"}, headers=headers).status == 200
