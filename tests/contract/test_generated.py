"""Requests made up from the description: no fault of ours, no answer that it does not tell (H-13).

Half of them keep to the description and half do not. Ids are mostly those of rows that exist, since
a made-up one is 404 and nothing more.
"""

from __future__ import annotations

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
from tests.world import ADMIN_KEY, World

CHECKS: list[CheckFunction] = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
FEW, MANY = 200, 2000


def play(world: World, count: int) -> dict[int, int]:
    """Send `count` made-up requests; answers how often each status came."""
    scene = Scene.of(world)
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", world.app)
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
    @given(cases, st.sampled_from(sorted(keys)), st.integers(0, 9))
    def run(case: Any, who: str, dice: int) -> None:
        if dice > 1:
            for name in case.path_parameters or {}:
                case.path_parameters[name] = scene.ids[name]
            if "token" in (case.query or {}):
                case.query["token"] = scene.gig.token
        headers = {"x-api-key": keys[who], "x-admin-key": ADMIN_KEY}
        answer = case.call(headers=headers)
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        told = answer.json() if "json" in answer.headers.get("content-type", [""])[0] else {}
        lacking = answer.status_code == 503 and (
            told.get("reason") in LACKING or case.path.endswith("/ready")
        )
        assert answer.status_code < 500 or lacking, answer.text
        case.validate_response(answer, checks=CHECKS)
        if case.path.endswith("/auth/rotate-key") and answer.status_code == 200:
            keys[who] = told["api_key"]

    run()
    return statuses


@pytest.mark.rule("H-05")
@pytest.mark.rule("H-13")
def test_requests_made_up_from_the_description_are_answered_as_it_says(world: World) -> None:
    statuses = play(world, FEW)
    assert {200, 400} <= set(statuses), statuses


@pytest.mark.soak
@pytest.mark.rule("H-05")
@pytest.mark.rule("H-13")
def test_two_thousand_requests_made_up_from_the_description_are_answered_as_it_says(
    world: World,
) -> None:
    statuses = play(world, MANY)
    assert {200, 201, 400, 403, 404} <= set(statuses), statuses
