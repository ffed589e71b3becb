"""Long runs are told shortly: equal faults once, settings without Python's words, lists without repetition."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from samples import content, verdict

from chaoskit.base.errors import BadInput
from chaoskit.base.store import SCENARIO, VERDICT, runs
from chaoskit.cli.list import command
from chaoskit.report.comparison_table import comparison_rows
from chaoskit.report.comparisons import histogram
from chaoskit.report.summary import summary

ROOT = Path(__file__).parents[3]
FOLDER = Path("/store/small/1")


def _fault(at_s: float, target: str = "n1", **changes: Any) -> dict[str, Any]:
    times = {"at_ms": at_s * 1000, "healed_at_ms": at_s * 1000 + 500}
    fault = {
        "kind": "kill",
        "targets": [target],
        "effective": True,
        "healed": True,
        "evidence": f"gone at {at_s:g}",
        "recovered_after_heal_ms": None,
    }
    return {**fault, **times, "unavailable_ms": at_s, **changes}


def test_many_equal_faults_are_one_line_with_their_number() -> None:
    faults = [_fault(at_s) for at_s in range(1, 25)] + [_fault(30, "n2"), _fault(31, effective=False)]

    lines = [line for line in summary(verdict(faults=tuple(faults)), FOLDER).splitlines() if "kill on" in line]

    assert lines == [
        "  24 faults: kill on n1 from 1.0 s to 24.0 s, all healed",
        "  fault: kill on n2 at 30.0 s, healed at 30.5 s",
        "  fault: kill on n1 at 31.0 s, healed at 31.5 s  NO EFFECT",
    ]


def test_the_line_of_many_faults_has_evidence_and_the_longest_outage() -> None:
    text = summary(verdict(faults=tuple(_fault(at_s) for at_s in range(1, 25))), FOLDER)

    assert "    evidence of the first: gone at 1\n    at most 24 ms without an acknowledged send\n" in text


def test_few_faults_are_told_one_by_one() -> None:
    text = summary(verdict(faults=(_fault(1), _fault(2))), FOLDER)

    assert text.count("  fault: kill on n1 at") == 2


def test_settings_by_role_are_compared_as_they_were_written() -> None:
    config = {"bookie": {"journalSyncData": False}, "broker": {}, "zookeeper": {"tickTime": None}}
    scenario = content(cluster={"system": "pulsar", "config": config})

    ((settings, *_),) = comparison_rows([scenario], [verdict()])

    assert settings == "small: journalSyncData=false, tickTime=null"


def test_the_list_of_runs_counts_equal_faults(tmp_path: Path) -> None:
    folder = tmp_path / "small" / "1"
    folder.mkdir(parents=True)
    (folder / SCENARIO).write_text("name: small\n")
    faults = (*(_fault(at_s) for at_s in range(24)), _fault(30, kind="pause", targets=["n2", "n3"]))
    (folder / VERDICT).write_text(json.dumps(verdict(faults=faults).as_json()))

    listed = CliRunner().invoke(command, ["--store", str(tmp_path)]).output

    assert "24 x kill n1, pause n2+n3" in listed


def test_the_folder_of_a_scenario_or_of_a_run_is_told_from_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "small" / "1"
    folder.mkdir(parents=True)
    (folder / SCENARIO).write_text("name: small\n")

    with pytest.raises(BadInput, match=f"holds the runs of one scenario, not a store; give the store: {tmp_path}$"):
        list(runs(tmp_path / "small"))
    with pytest.raises(BadInput, match=f"is one run, not a store; give the store: {tmp_path}$"):
        list(runs(folder))
    assert list(runs(tmp_path)) == [folder]


@pytest.mark.parametrize(("count", "limited"), [(1, True), (8, True), (9, False)])
def test_few_bars_do_not_fill_the_page(count: int, limited: bool) -> None:
    names = [f"{number} s" for number in range(count)]
    spec = histogram([{"name": name, "series": "kill", "value": 1} for name in names], names, "age", "lost")

    assert ("size" in spec["layer"][0]["mark"]) == limited


def test_steps_of_the_set_up_are_told() -> None:
    script = "set -e; . setup/steps; step 'making it' true; step 'breaking it' false; echo unreached"

    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr == "making it  done (0 s)\nbreaking it  failed\n"
    assert done.stdout == ""
