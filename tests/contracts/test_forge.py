"""The contracts' own tests: units, fuzzing, invariants and gas, run by forge."""

from __future__ import annotations

import json

import pytest

from engine.chain.abi import artifact
from tests.contracts import workspace
from tests.contracts.workspace import HERE, Workspace

SUITES = ("Deposits", "Gas", "Invariants", "OddTokens")
# Refusals of the libraries, not of ours.
NOT_OURS = ("OwnableInvalidOwner", "SafeERC20FailedOperation")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace.prepare(tmp_path_factory.mktemp("contracts"))


@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-05")
@pytest.mark.rule("Y-07")
def test_forge_finds_no_way_around_the_contracts_promises(made: Workspace) -> None:
    done = made.run(str(made.forge), "test")
    assert done.returncode == 0, done.stdout
    for suite in SUITES:
        assert f"test/{suite}.t.sol:{suite}Test" in done.stdout


def test_what_every_function_costs_is_known_to_the_unit(made: Workspace) -> None:
    done = made.run(str(made.forge), "test", "--match-contract", "GasTest")
    assert done.returncode == 0, done.stdout
    found = json.loads(made.gas.read_text())
    assert found == json.loads(workspace.GAS.read_text()), "run: python -m tests.contracts gas"


def test_every_refusal_of_the_treasury_is_provoked_by_name() -> None:
    texts = [path.read_text() for path in (HERE.parent / "chain").glob("test_*.py")]
    texts += [path.read_text() for path in (HERE / "test").glob("*.sol")]
    names = {item.name for item in artifact("Treasury").errors.values()} - set(NOT_OURS)
    untried = {
        name
        for name in names
        if not any(f'"{name}"' in text or f".{name}.selector" in text for text in texts)
    }
    assert untried == set()


@pytest.mark.soak
def test_forge_finds_no_way_around_in_a_long_search_either(made: Workspace) -> None:
    done = made.run(str(made.forge), "test", FOUNDRY_PROFILE="soak")
    assert done.returncode == 0, done.stdout
