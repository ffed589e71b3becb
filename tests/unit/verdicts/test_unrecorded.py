"""An expectation about what nobody recorded is not met: it is told, and the run is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import StoryRun

from chaoskit.report.summary import summary

GROUP = {"kind": "log", "producers": 1, "consumers": 1, "consumption": "group"}


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("anomaly", ["commit-beyond", "commit-regression"])
def test_an_expectation_about_commits_needs_commits(anomaly: str, commits: bool, tmp_path: Path) -> None:
    run = StoryRun(tmp_path, GROUP, expect={anomaly: "none"})
    run.send("producer-0", 0, 1, 0)
    run.op("consumer-0", "assign", 0.5, observed=[("assigned", "log-0", 0, "g", 1, None)])
    run.poll("consumer-0", 2, [(0, 0)])
    if commits:
        run.op("consumer-0", "commit", 3, observed=[("committed", "log-0", 0, "g", 1, 1)])
    run.read_back(10, {0: 0})
    verdict = run.judged(load_end=5)

    assert verdict.verdict == ("valid" if commits else "unknown")
    reason = f"{anomaly} was expected, but it could not be looked for: nothing was recorded as committed"
    assert (reason in verdict.reasons) is not commits
    line = f"{anomaly}: none, {'as expected' if commits else 'but it could not be looked for'}"
    assert line in summary(verdict, run.folder)


@pytest.mark.parametrize("expect", [{}, {"lost": "none"}])
def test_what_nobody_expects_need_not_be_recorded(expect: dict[str, str], tmp_path: Path) -> None:
    run = StoryRun(tmp_path, GROUP, expect=expect)
    run.send("producer-0", 0, 1, 0)
    run.read_back(10, {0: 0})

    assert run.judged(load_end=5).verdict == "valid"
