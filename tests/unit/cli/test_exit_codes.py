"""Exit codes and messages of the program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from chaoskit.cli.main import main

BAD_INPUT = 254
_PROGRAM = [sys.executable, "-c", "from chaoskit.cli.main import main; main()"]
_VERBS = ("run", "check", "replay", "list", "doctor", "heal")


class Done(NamedTuple):
    """How the program ended, and what it said."""

    code: object
    stdout: str
    stderr: str


Program = Callable[..., Done]
Refused = Callable[..., str]


@pytest.fixture
def chaoskit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program, run in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHAOSKIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "110")

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["chaoskit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(chaoskit: Program, tmp_path: Path) -> Refused:
    """Run a verb that must refuse; return its one message."""

    def run(*arguments: str) -> str:
        before = sorted(tmp_path.iterdir())
        done = chaoskit(*arguments)
        assert (done.code, done.stdout) == (BAD_INPUT, "")
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.iterdir()) == before
        return done.stderr

    return run


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["run", "gone.yaml"], BAD_INPUT)])
def test_the_process_ends_with_the_exit_code(arguments: list[str], code: int) -> None:
    assert subprocess.run([*_PROGRAM, *arguments], capture_output=True, check=False, timeout=300).returncode == code


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], *([verb, "--help"] for verb in _VERBS)])
def test_help_is_no_error(chaoskit: Program, arguments: list[str]) -> None:
    done = chaoskit(*arguments)

    assert (done.code, done.stderr) == (0, "")
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
def test_a_usage_error_is_bad_input(chaoskit: Program, arguments: list[str]) -> None:
    done = chaoskit(*arguments)

    assert (done.code, done.stdout) == (BAD_INPUT, "")
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scenario_that_is_missing_is_bad_input(refused: Refused) -> None:
    assert refused("run", "gone.yaml").startswith("error: gone.yaml: no such file")


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
def test_a_bad_scenario_is_bad_input_and_nothing_is_made(
    refused: Refused, tmp_path: Path, scenario: str, complaint: str
) -> None:
    (tmp_path / "bad.yaml").write_text(scenario)

    assert f"bad.yaml: {complaint}" in refused("run", "bad.yaml")


def test_every_scenario_is_validated_before_the_first_one_starts(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("cluster: {system: kafka}\nworkload: {kind: log}")
    (tmp_path / "bad.yaml").write_text("cluster: {system: kafka}")

    assert "bad.yaml: workload: is missing" in refused("run", "good.yaml", "bad.yaml")


def test_junit_needs_a_folder(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("cluster: {system: kafka}\nworkload: {kind: log}")

    told = refused("run", "good.yaml", "--junit", "gone/results.xml")
    assert told == "error: --junit gone/results.xml: there is no such folder; choose another file\n"


@pytest.mark.parametrize("verb", ["check", "replay"])
def test_what_is_not_a_run_is_bad_input(refused: Refused, tmp_path: Path, verb: str) -> None:
    assert f"error: {tmp_path}: is not a run folder" in refused(verb, str(tmp_path))
    assert "error: gone: is not a run folder" in refused(verb, "gone")


def test_a_run_folder_that_is_damaged_is_bad_input(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("{")

    assert "scenario.yaml: cannot be read" in refused("check", ".")


def test_a_store_that_is_missing_is_bad_input(refused: Refused) -> None:
    assert refused("list", "--store", "gone").startswith("error: store gone: no such folder")


def test_an_empty_store_has_no_runs(chaoskit: Program) -> None:
    done = chaoskit("list", "--store", ".")

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.split() == ["run", "verdict", "sent", "acked", "anomalies", "faults"]


def test_a_machine_without_left_overs_has_nothing_to_heal(chaoskit: Program) -> None:
    done = chaoskit("heal")

    assert (done.code, done.stdout, done.stderr) == (0, "nothing to heal\n", "")
