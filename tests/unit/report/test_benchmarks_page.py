"""The page of benchmarks: a row for each result, and charts of what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.report.benchmarks_page import Measurement, Rung, write_benchmarks

_POINTS = ("50pct", "99pct", "999pct", "9999pct", "Max")
DOCUMENT: dict[str, Any] = {
    **{f"aggregatedPublishLatency{point}": 2.0 for point in _POINTS},
    **{f"aggregatedEndToEndLatency{point}": 3.0 for point in _POINTS},
    "aggregatedPublishLatencyQuantiles": {"50.0": 2.0, "99.0": 4.0},
    "publishLatency99pct": [4.0, 5.0],
    "backlog": [7000, 10],
}


def _measured(system: str, backlog: str = "") -> Measurement:
    return Measurement(
        workload="1-topic",
        system=system,
        run="store/1-topic/1",
        verdict="VALID",
        acked=1234,
        lost=0,
        acked_per_s=56.0,
        backlog=backlog,
        document=DOCUMENT,
        machine=None,
        doubts=("the machine was full",) if system == "pulsar" else (),
    )


def _page(folder: Path, *measurements: Measurement, rungs: tuple[Rung, ...] = ()) -> str:
    write_benchmarks(measurements, folder / "page.html", rungs, ["Recording takes 1 us"])
    return (folder / "page.html").read_text()


def test_systems_are_beside_each_other(tmp_path: Path) -> None:
    page = _page(tmp_path, _measured("kafka"), _measured("pulsar"))

    assert page.count("<b style=") == 2
    assert "1,234" in page
    assert "Recording takes 1 us." in page
    assert page.count("NOT a measurement of the system: the machine was full") == 1
    assert "1-topic: latency by percentile (ms)" in page
    assert "1-topic: p99 over time (ms)" in page
    assert "messages that wait for consumers" not in page, "there was no backlog"
    assert "p99 (ms) by rate" not in page


def test_a_backlog_is_told_and_drawn(tmp_path: Path) -> None:
    page = _page(tmp_path, _measured("kafka", "backlog of 7,000 messages built in 3.0 s"), _measured("pulsar"))

    assert page.count("backlog of 7,000 messages built in 3.0 s") == 1
    assert "1-topic: messages that wait for consumers" in page


def test_rates_that_were_tried_are_drawn(tmp_path: Path) -> None:
    page = _page(tmp_path, _measured("kafka"), rungs=(Rung("1-topic", "kafka", 1000.0, DOCUMENT, ""),))

    assert "1-topic: p99 (ms) by rate" in page
