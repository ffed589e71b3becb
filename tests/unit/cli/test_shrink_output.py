"""`chaoskit shrink` prints a scenario that can be run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from chaoskit.base import store, yaml
from chaoskit.cli import shrink
from chaoskit.search.shrink import Happened, Shrunk


def test_what_is_printed_is_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = {"name": "x", "faults": [{"at": "3s", "inject": "kill", "on": "n1"}]}
    smallest = Shrunk(scenario, [Happened({"inject": "kill", "hit": ["n1"]}, 3_000_000_000, 4_000_000_000)], 2, 3, 9)
    monkeypatch.setattr(shrink, "shrink_run", lambda *_: smallest)
    store.write_yaml(tmp_path / store.SCENARIO, {"name": "x"})

    result = CliRunner().invoke(shrink.command, [str(tmp_path), "--store", str(tmp_path)])

    assert yaml.load(result.stdout) == scenario
    assert "# failed in 2 of 3 confirming runs; 9 runs in total\n" in result.stdout
