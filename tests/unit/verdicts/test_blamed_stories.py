"""What the instance that is to blame printed is in the verdict's example, in the summary and in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_application_stories import ApplicationRun

from chaoskit.base.store import read_json
from chaoskit.history.format.log_times import packed, times_path
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.outcome import INFO
from chaoskit.report.brief import LINES, brief
from chaoskit.report.run_page import run_page
from chaoskit.report.summary import summary

MS = 1_000_000
COMMITTED = b"committed <b>210</b>\x1b[2J\n"


def killed(folder: Path, *, noted: bool = True) -> tuple[Path, Verdict]:
    """Return a run whose application-0 committed, was killed and began again; whether the times of its log were
    noted."""
    run = ApplicationRun(folder, "at-least-once")
    run.op("application-0", "start", 0.005)
    run.wrote(range(200), 30)
    run.committed(210, 30.4)
    log = run.wal("application-0")
    op = log.invoke(log.name("exit"), run.ns(30.6))
    log.complete(op, run.ns(30.61), INFO, log.name("signal SIGKILL"))
    run.fault("kill", ("n4",), 30.5, 32.5)
    run.op("application-0", "start", 32.4)
    run.wrote(range(210, 400), 50)
    run.committed(400, 55)
    _print(
        run.folder, (30_000, b"older\n"), (30_200, b"old\n"), (30_450, COMMITTED), (32_500, b"begins\n"), noted=noted
    )
    return run.folder, run.judged(40, 10)


def _print(folder: Path, *written: tuple[int, bytes], noted: bool) -> None:
    path = folder / "logs" / "application" / "application-0.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(text for _, text in written))
    pairs, size = [(0, 0)], 0
    for at_ms, text in written:
        pairs += [(size, (at_ms - 50) * MS), (size + len(text), at_ms * MS)]
        size += len(text)
    if noted:
        times_path(path).write_bytes(packed(pairs))


def test_the_example_names_instance_moment_and_end(tmp_path: Path) -> None:
    folder, verdict = killed(tmp_path)
    blamed = {"instance": "application-0", "at_ns": 30_600 * MS, "ended": "signal SIGKILL"}

    assert [example["blamed"] for example in verdict.anomalies["unprocessed"].examples] == [blamed] * 5
    assert read_json(folder / "verdict.json")["anomalies"]["unprocessed"]["examples"][0]["blamed"] == blamed


def test_the_summaries_have_three_lines(tmp_path: Path) -> None:
    folder, verdict = killed(tmp_path)
    lines = [
        "    printed around 30.60 s in logs/application/application-0.log:",
        "      30.20 s  old",
        "      30.45 s  committed <b>210</b>",
        "      32.50 s  begins",
    ]

    for text in (brief(verdict, folder), summary(verdict, folder)):
        assert "\n".join(lines) in text
    assert len(brief(verdict, folder).splitlines()) <= LINES


def test_the_report_marks_the_moment_and_escapes_the_lines(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="pip install 'chaoskit[report]'")
    folder, _ = killed(tmp_path)
    page = run_page(folder)

    begin = page.index("What application-0 printed around the first, at 30.600 s")
    marked = page[begin : page.index("</details>", begin)]
    assert "<mark>30.600 s  application-0 ended (signal SIGKILL)</mark>" in marked
    in_order = ["older", "old<", "committed &lt;b&gt;210&lt;/b&gt;", "<mark>", "begins"]
    places = [marked.find(text) for text in ["older", "old\n", *in_order[2:]]]
    assert places == sorted(places)
    assert places[0] > 0
    assert "<b>210" not in page


def test_a_run_whose_times_nobody_noted_is_judged_as_before(tmp_path: Path) -> None:
    folder, verdict = killed(tmp_path, noted=False)

    assert "printed around" not in brief(verdict, folder) + summary(verdict, folder)
    assert json.dumps(check_run(folder).as_json()) == json.dumps(verdict.as_json())
