"""What follows from the end of an instance that a fault ended is told of the fault; ends by itself are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_application_stories import ApplicationRun

from chaoskit.base.store import read_json
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.outcome import INFO
from chaoskit.report.brief import brief
from chaoskit.report.run_page import run_page
from chaoskit.report.summary import summary

WORDS = "application-0 ended by itself 2 times (status 1), first at 20.0 s"


def exits(run: ApplicationRun, at: float, how: str, instance: int = 0) -> None:
    """An instance ends."""
    log = run.wal(f"application-{instance}")
    log.complete(log.invoke(log.name("exit"), run.ns(at)), run.ns(at + 0.01), INFO, log.name(how))


def repeated(folder: Path, *ends: float, how: str = "signal SIGKILL") -> tuple[Path, Verdict]:
    """Return a run in which n4, the host of application-0, is killed from 30.5 s to 32.5 s, application-0 ends at these
    times, and ten inputs are processed again long after that; three more because of an end much later."""
    run = ApplicationRun(folder, "at-least-once")
    run.op("application-0", "start", 0.005)
    run.wrote(range(200), 30)
    run.committed(190, 30.4)
    for at in ends:
        exits(run, at, how)
    run.fault("kill", ("n4",), 30.5, 32.5)
    run.op("application-0", "start", 32.4)
    run.wrote(range(190, 300), 60)
    run.committed(297, 60.5)
    exits(run, 61, how)
    run.op("application-0", "start", 62)
    run.wrote(range(297, 400), 70)
    run.committed(400, 75)
    return run.folder, run.judged(40, 10)


def test_what_follows_from_an_end_by_a_fault_is_its_consequence(tmp_path: Path) -> None:
    _, verdict = repeated(tmp_path, 30.6)

    assert verdict.anomalies["processed-twice"].count == 13
    assert verdict.faults[0]["consequence"]["found"] == {"processed-twice": 10}
    assert "had no consequence" not in verdict.headline
    assert verdict.ended == ()


def test_what_follows_from_an_end_without_a_fault_is_not(tmp_path: Path) -> None:
    _, verdict = repeated(tmp_path, 30.4, how="status 1")

    assert verdict.anomalies["processed-twice"].count == 13
    assert "found" not in (verdict.faults[0]["consequence"] or {})


def test_ends_by_itself_during_the_load_are_counted_and_told(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="pip install 'chaoskit[report]'")
    folder, verdict = repeated(tmp_path, 20, 25, how="status 1")
    entry = {"instance": "application-0", "how": "status 1", "count": 2, "first_ms": 20_000.0}

    assert read_json(folder / "verdict.json")["ended"] == [entry] == list(verdict.ended)
    assert f"  {WORDS}\n" in brief(verdict, folder)
    assert f"  application: {WORDS}\n" in summary(verdict, folder)
    assert f"<p>{WORDS}.</p>" in run_page(folder)
