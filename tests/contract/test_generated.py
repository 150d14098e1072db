"""Requests made up from the description: no fault of ours, no answer that it does not tell (H-13).

Half of them keep to the description and half do not. Ids are mostly those of rows that exist, since
a made-up one is 404 and nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.contract.scene import LACKING, Scene
from tests.processes import Layout, Stack, Starter, start_stack
from tests.world import ADMIN_KEY, World

__all__ = ["start_stack"]

CHECKS: list[CheckFunction] = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FEW, MANY = 200, 2000


def play(scene: Scene, schema: Any, urls: Sequence[str | None], count: int) -> dict[int, int]:
    """Send `count` made-up requests to the `urls`; answers how often each status came."""
    operations = [found.ok() for found in schema.get_all_operations()]
    cases = st.one_of(
        [
            one.as_strategy(generation_mode=mode)
            for one in operations
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        ]
    )
    keys = {"owner": scene.owner.key, "worker": scene.worker.key}
    statuses: dict[int, int] = {}

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.sampled_from(sorted(keys)), st.sampled_from(urls), st.integers(0, 9))
    def run(case: Any, who: str, url: str | None, dice: int) -> None:
        if dice > 1:
            for name in case.path_parameters or {}:
                case.path_parameters[name] = scene.ids[name]
            if "token" in (case.query or {}):
                case.query["token"] = _token(scene, case.path)
            if isinstance(case.body, dict) and isinstance(case.body.get("share_token"), str):
                case.body["share_token"] = scene.share_token
        headers = {"x-api-key": keys[who], "x-admin-key": ADMIN_KEY}
        if url is not None:
            _hurry(case, headers)
        answer = case.call(base_url=url, headers=headers)
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        kind = answer.headers.get("content-type", [""])[0]
        told = answer.json() if "json" in kind and "ndjson" not in kind else {}
        lacking = answer.status_code == 503 and (
            told.get("reason") in LACKING or case.path.endswith("/ready")
        )
        assert answer.status_code < 500 or lacking, answer.text
        case.validate_response(answer, checks=CHECKS)
        if case.path.endswith("/auth/rotate-key") and answer.status_code == 200:
            keys[who] = told["api_key"]

    run()
    return statuses


def _token(scene: Scene, path: str) -> str:
    if not path.startswith("/api/public/"):
        return scene.gig.token
    return scene.gig.invite if path.endswith("/invite-info") else scene.share_token


def _hurry(case: Any, headers: dict[str, str]) -> None:
    """Over the wire whoever asks to wait is let wait, a minute if he likes."""
    if case.path.endswith("/queue/poll") and "wait" in (case.query or {}):
        case.query["wait"] = 0
    headers["prefer"] = "wait=1"


def in_process(world: World, count: int) -> dict[int, int]:
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", world.app)
    return play(Scene.of(world), schema, [None], count)


def over_the_wire(stack: Stack, count: int) -> dict[int, int]:
    urls = [f"http://127.0.0.1:{serve.port}" for serve in stack.serves]
    schema = schemathesis.openapi.from_url(f"{urls[0]}/api/openapi.json")
    statuses = play(Scene.of(stack), schema, urls, count)
    assert all(process.running for process in stack.processes)
    assert stack.complaints() == []
    return statuses


@pytest.mark.rule("H-05")
@pytest.mark.rule("H-13")
def test_requests_made_up_from_the_description_are_answered_as_it_says(world: World) -> None:
    statuses = in_process(world, FEW)
    assert {200, 400} <= set(statuses), statuses


@pytest.mark.soak
@pytest.mark.rule("H-05")
@pytest.mark.rule("H-13")
def test_two_thousand_requests_made_up_from_the_description_are_answered_as_it_says(
    world: World,
) -> None:
    statuses = in_process(world, MANY)
    assert {200, 201, 400, 403, 404} <= set(statuses), statuses


@pytest.mark.rule("H-05")
@pytest.mark.rule("H-13")
@pytest.mark.parametrize(
    "count", [pytest.param(FEW // 2), pytest.param(MANY, marks=pytest.mark.soak)]
)
def test_requests_made_up_and_sent_to_two_served_processes_are_answered_as_it_says(
    start_stack: Starter, count: int
) -> None:
    statuses = over_the_wire(start_stack(Layout("postgres", serve=2)), count)
    assert {200, 400} <= set(statuses), statuses
