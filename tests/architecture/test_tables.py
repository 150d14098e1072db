"""Tables that people read, compared with the code that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import models, states
from engine.operations import DEFAULT

README = (Path(__file__).parents[2] / "engine" / "README.md").read_text()


def _documented(entity: str) -> dict[tuple[str, str], str]:
    section = README.split(f"### {entity}\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(\w+)` \|", section, re.M)
    return {(before, verb): after for before, verb, after in rows}


@pytest.mark.parametrize("entity", sorted(states.TABLES))
def test_the_documented_moves_are_the_ones_that_run(entity: str) -> None:
    assert _documented(entity) == states.TABLES[entity]


@pytest.mark.parametrize("entity", sorted(states.TABLES))
def test_a_verb_leads_to_one_state(entity: str) -> None:
    for _, verb in states.TABLES[entity]:
        assert states.target(entity, verb)
        assert states.sources(entity, verb)


@pytest.mark.parametrize("entity", sorted(states.TABLES))
def test_every_table_of_moves_is_of_a_model_with_a_state(entity: str) -> None:
    tables = {model._meta.table_name: model for model in models.ALL}
    assert "status" in tables[entity]._meta.fields


def test_every_operation_is_permitted_somewhere() -> None:
    source = "\n".join(
        path.read_text() for path in (Path(__file__).parents[2] / "engine").glob("*.py")
    )
    for operation in DEFAULT:
        assert f'permit("{operation}"' in source, operation
