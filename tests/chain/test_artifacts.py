"""What is committed is what the sources compile to."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.chain import anvil, npm
from engine.chain.abi import BUILD, artifact
from engine.chain.reverts import SENTENCES
from engine.chain.treasury import MAX_BATCH

CONTRACTS = BUILD.parent
NAMES = ("MockUSDC", "Treasury")


def test_the_artifacts_are_what_the_committed_sources_compile_to(tmp_path: Path) -> None:
    for name in ("package.json", "package-lock.json", "compile.mjs"):
        shutil.copy(CONTRACTS / name, tmp_path)
    for source in CONTRACTS.glob("*.sol"):
        shutil.copy(source, tmp_path)
    npm.npm(tmp_path, "ci", "--prefer-offline")
    out = tmp_path / "out"
    command = [npm.find_node(), "compile.mjs", str(out)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        fresh = (out / f"{name}.json").read_text()
        assert fresh == (BUILD / f"{name}.json").read_text(), f"{name}: run compile.mjs"


@pytest.mark.parametrize("name", NAMES)
def test_an_artifact_is_small_and_names_the_sources_it_was_made_of(name: str) -> None:
    assert (BUILD / f"{name}.json").stat().st_size < 100_000
    built = json.loads((BUILD / f"{name}.json").read_text())
    ours = {path: digest for path, digest in built["sources"].items() if "/" not in path}
    assert f"{name}.sol" in ours
    for path, digest in ours.items():
        assert hashlib.sha256((CONTRACTS / path).read_bytes()).hexdigest() == digest
    assert any(path.startswith("@openzeppelin/contracts/") for path in built["sources"])
    assert built["settings"]["evmVersion"] == "cancun"
    assert built["compiler"].startswith("0.8.37")
    # EIP-170: a larger contract could not be deployed.
    assert len(artifact(name).bytecode) < 24_576


def test_every_refusal_of_the_treasury_has_a_sentence_of_its_own() -> None:
    for item in artifact("Treasury").errors.values():
        if item.name in ("OwnableInvalidOwner", "SafeERC20FailedOperation"):
            continue
        known = {name: name for name in item.names}
        assert SENTENCES[item.name].format(**known)


def test_the_batch_ceiling_is_the_contracts_own() -> None:
    source = (CONTRACTS / "TreasuryBase.sol").read_text()
    assert f"MAX_BATCH = {MAX_BATCH};" in source


def test_anvil_is_found_where_it_is_installed_and_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = anvil.install_anvil()
    assert anvil.find_anvil() == installed
    # Through npm's wrapper on the PATH, the binary behind it.
    monkeypatch.setattr(anvil, "home", lambda: tmp_path)
    wrapper = installed.parents[3] / ".bin"
    monkeypatch.setenv("PATH", str(wrapper))
    assert anvil.find_anvil() == installed
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(anvil.AnvilMissing, match=r"python -m engine\.chain\.anvil"):
        anvil.find_anvil()
    monkeypatch.setenv("MUSTER_ANVIL", str(installed))
    assert anvil.find_anvil() == installed
    monkeypatch.setenv("MUSTER_ANVIL", str(tmp_path / "nothing"))
    with pytest.raises(anvil.AnvilMissing, match="MUSTER_ANVIL names"):
        anvil.find_anvil()


def test_without_a_systems_npm_pips_own_installs_anvil(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.chain.npm.shutil.which", lambda _: None)
    monkeypatch.setattr(anvil, "home", lambda: tmp_path / "anvil")
    binary = anvil.install_anvil()
    said = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True)
    assert anvil.VERSION in said.stdout


def test_an_install_that_fails_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(anvil, "home", lambda: tmp_path / "anvil")
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/")
    monkeypatch.setenv("NPM_CONFIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NPM_CONFIG_FETCH_RETRIES", "0")
    with pytest.raises(npm.NpmFailed, match="failed:"):
        anvil.install_anvil()
    assert not (tmp_path / "anvil").exists()
    assert not list(tmp_path.glob("anvil-new-*"))
