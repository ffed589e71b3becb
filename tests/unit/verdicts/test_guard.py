"""A checker, a rule or a figure that raises is a doubt with its traceback, and what others found stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from runs import StoryRun

from chaoskit.base.store import VERDICT
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, Part
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.judge.faults import rows as fault_rows
from chaoskit.judge.findings import checking
from chaoskit.judge.findings.guard import LOG as TRACEBACKS
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.verdict import judging
from chaoskit.judge.verdict.check import check_run

LOAD = {"kind": "log", "producers": 1, "consumers": 1, "rate": 10, "duration": "10s"}
LOST = 16

BROKEN = """
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.workloads.datamodel import LOG

class Odd:
    anomalies = (Anomaly("odd", "an odd message", (LOG,)),)
    models = (LOG,)

    def check(self, part):
        raise KeyError("no such column")
"""


class _Stranger:
    """A checker of somebody else that raises, or returns what it must not."""

    models = (LOG,)
    anomalies = (Anomaly("odd", "an odd message", (LOG,)),)

    def __init__(self, result: Any) -> None:
        self._result = result

    def check(self, part: Part) -> pa.Table:
        """Return the result, or raise it."""
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


def _folder(folder: Path, lost: int = LOST, **scenario: Any) -> Path:
    run = StoryRun(folder, LOAD, **scenario)
    run.led("n1")
    run.fault("kill", ("n1",), 2, 4)
    for value in range(100):
        run.send("producer-0", value, value / 10, value)
    run.poll("consumer-0", 10, [(value, value) for value in range(100)])
    run.read_back(12, {value: value for value in range(100) if value >= lost})
    run.ended(10, 10)
    return run.folder


def _with(monkeypatch: pytest.MonkeyPatch, result: Any) -> None:
    checkers = (*installed.checkers(), _Stranger(result))
    monkeypatch.setattr(checking, "checkers", lambda: checkers)


def test_a_checker_that_raises_beside_lost_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, KeyError("no such column"))

    verdict = check_run(folder := _folder(tmp_path))

    assert (verdict.verdict, verdict.lost) == ("invalid", LOST)
    (doubt,) = verdict.problems
    assert re.fullmatch(
        r"the checker .*_Stranger raised KeyError: 'no such column' in log-0/0, so odd cannot be judged "
        r"\(traceback: logs/judging.log\)",
        doubt,
    )
    assert doubt in verdict.reasons
    assert "raise self._result\nKeyError: " in (folder / TRACEBACKS).read_text()


def test_a_run_is_valid_again_once_the_checker_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _folder(tmp_path, lost=0)
    with monkeypatch.context() as patch:
        _with(patch, ZeroDivisionError("division by zero"))
        verdict = check_run(folder)
        assert verdict.verdict == "unknown"
        assert verdict.headline.startswith("UNKNOWN: the checker")

    assert check_run(folder).verdict == "valid"
    assert not (folder / TRACEBACKS).exists()


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (pa.table({"anomaly": ["odd"]}), "raised ArrowInvalid"),
        (FINDINGS.empty_table().append_column("x", pa.array([], pa.int8())), "raised ArrowInvalid"),
        (None, "raised AttributeError"),
        (
            pa.Table.from_pylist([{"anomaly": "strange", "topic": "log-0", "partition": 0}], FINDINGS),
            "returns findings of strange, which its `anomalies` do not declare",
        ),
    ],
)
def test_a_checker_that_returns_what_it_must_not(
    result: Any, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with(monkeypatch, result)

    verdict = check_run(_folder(tmp_path, lost=0))

    assert verdict.verdict == "unknown"
    assert error in verdict.reasons[0]


def test_an_expectation_on_what_was_not_judged_is_not_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = next(checker for checker in installed.checkers() if "lost" in checking.names_of(checker))
    monkeypatch.setattr(type(log), "check", _raise)

    verdict = check_run(_folder(tmp_path, expect={"lost": "none"}))

    assert verdict.verdict == "unknown"
    assert any(reason.startswith("lost was expected, but the checker") for reason in verdict.reasons)
    assert not verdict.headline.startswith("KEPT")


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        (fault_rows, "consequences", "the measurement of consequences"),
        (fault_rows, "at_stake", "the measurement of what was at stake"),
        (fault_rows, "open_under", "the measurement of what was at stake"),
        (fault_rows, "readers_of", "the check of consumers"),
        (judging, "recorded_exposure", "the measurement of exposure"),
    ],
)
def test_a_figure_that_raises_is_a_doubt(
    module: Any, name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, _raise)

    verdict = check_run(folder := _folder(tmp_path, lost=0))

    assert verdict.verdict == "unknown"
    assert f"{code} raised RuntimeError: out of order (traceback: {TRACEBACKS})" in verdict.reasons
    assert (folder / VERDICT).exists()


def test_rules_that_raise_neither_allow_nor_accuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "explain", _raise)

    verdict = check_run(_folder(tmp_path))

    assert (verdict.verdict, verdict.anomalies["lost"].count) == ("unknown", LOST)
    assert any("a rule raised RuntimeError" in reason for reason in verdict.reasons)
    assert any("16 of them cannot be explained or excluded" in reason for reason in verdict.reasons)


def test_the_command_ends_with_the_verdict(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "store")
    plugin = tmp_path / "odd-1.0.dist-info"
    plugin.mkdir()
    (tmp_path / "odd.py").write_text(BROKEN)
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (plugin / "entry_points.txt").write_text("[chaoskit.checkers]\nodd = odd:Odd\n")

    done = subprocess.run(
        [sys.executable, "-c", "from chaoskit.cli.main import main; main()", "check", folder, "--no-report"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True, capture_output=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("LOST 16 of 100 acknowledged messages")
    assert "the checker odd.Odd raised KeyError: 'no such column'" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr
