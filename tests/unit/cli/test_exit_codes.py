"""Exit codes and messages of the program, run as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BAD_INPUT = 254
_PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
_VERBS = ("run", "check", "replay", "list", "doctor", "heal")


def _chaoskit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CHAOSKIT_STATE": str(folder / "state"), "COLUMNS": "110"}
    return subprocess.run(
        [*_PROGRAM, *arguments], cwd=folder, env=environment, text=True, capture_output=True, check=False, timeout=60
    )


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], *([verb, "--help"] for verb in _VERBS)])
def test_help_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    done = _chaoskit(tmp_path, *arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["rum"],
        ["--verbose"],
        ["run"],
        ["run", "x.yaml", "--sede", "7"],
        ["run", "x.yaml", "--seed", "-1"],
        ["run", "x.yaml", "--seed", "seven"],
        ["check"],
        ["check", "a", "b"],
        ["replay", "x", "--times", "0"],
    ],
)
def test_a_usage_error_is_bad_input(tmp_path: Path, arguments: list[str]) -> None:
    done = _chaoskit(tmp_path, *arguments)

    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


def _refused(folder: Path, *arguments: str) -> str:
    """Run a verb that must refuse; return its one message."""
    before = sorted(folder.iterdir())
    done = _chaoskit(folder, *arguments)
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before
    return done.stderr


def test_a_scenario_that_is_missing_is_bad_input(tmp_path: Path) -> None:
    assert _refused(tmp_path, "run", "gone.yaml").startswith("error: gone.yaml: no such file")


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        ("clutser: {}", 'clutser: unknown key; did you mean "cluster"?'),
        ("cluster: {system: kafka}", "workload: is missing"),
        ("cluster: {system: kafka}\nworkload: {kind: log, duration: 8}", "workload.duration: 8 is not a duration;"),
        ("cluster: {system: kafak}\nworkload: {kind: log}", "cluster.system: there is no cluster 'kafak'; did you"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_a_bad_scenario_is_bad_input_and_nothing_is_made(tmp_path: Path, scenario: str, complaint: str) -> None:
    (tmp_path / "bad.yaml").write_text(scenario)

    assert f"bad.yaml: {complaint}" in _refused(tmp_path, "run", "bad.yaml")


def test_every_scenario_is_validated_before_the_first_one_starts(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("cluster: {system: kafka}\nworkload: {kind: log}")
    (tmp_path / "bad.yaml").write_text("cluster: {system: kafka}")

    assert "bad.yaml: workload: is missing" in _refused(tmp_path, "run", "good.yaml", "bad.yaml")


@pytest.mark.parametrize("verb", ["check", "replay"])
def test_what_is_not_a_run_is_bad_input(tmp_path: Path, verb: str) -> None:
    assert f"error: {tmp_path}: is not a run folder" in _refused(tmp_path, verb, str(tmp_path))
    assert "error: gone: is not a run folder" in _refused(tmp_path, verb, "gone")


def test_a_run_folder_that_is_damaged_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("{")

    assert "scenario.yaml: cannot be read" in _refused(tmp_path, "check", ".")


def test_a_store_that_is_missing_is_bad_input(tmp_path: Path) -> None:
    assert _refused(tmp_path, "list", "--store", "gone").startswith("error: store gone: no such folder")


def test_an_empty_store_has_no_runs(tmp_path: Path) -> None:
    done = _chaoskit(tmp_path, "list", "--store", ".")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["run", "verdict", "sent", "acked", "anomalies", "faults"]


def test_a_machine_without_left_overs_has_nothing_to_heal(tmp_path: Path) -> None:
    done = _chaoskit(tmp_path, "heal")

    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to heal\n", "")
