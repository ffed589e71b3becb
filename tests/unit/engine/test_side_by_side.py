"""Systems side by side: figures come from the runs of their own cells, and nothing else is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from generated import generated

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.cli.main import cli
from chaoskit.report.side_by_side_page import write_side_by_side
from chaoskit.run.floor import Floor
from chaoskit.scenario.files import find_sweep
from chaoskit.search.side_by_side import received_until, side_by_side, smallest
from chaoskit.search.sweep import Results, Sweep, load_sweep

CELLS = ("dds-reliable/ping-pong-64B", "zenoh-drop/firehose-8KiB", "zenoh-drop/feed-partition", "kafka-acks-0/feed")

_TABLED = {"rates": {"acks_per_s": 1.0}, "audit": {"complete": True}, "faults": []}
"""What the table of a sweep takes from verdicts, too."""


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return load_sweep(find_sweep("sweeps/pubsub"), seeds=2, only=CELLS)


def _verdict(verdict: str = "valid", missed: int = 0, reasons: tuple[str, ...] = (), **counts: int) -> dict[str, Any]:
    why = "congestion: drop" if missed else ""
    return {
        "run": str(counts.get("received", 0)),
        "load_start_s": 1.0,
        "verdict": verdict,
        "reasons": list(reasons),
        "counts": {"sent": 0, "acked": 0, "received": 0, "indeterminate": 0, **counts},
        "latency": {"send_from_actual": {"p50_ms": 0.4, "p99_ms": 2.0}},
        "anomalies": {"missed": {"count": missed, "why": why}, "reordered": {"count": 9, "why": "not counted"}},
    }


def _received(run: str, until_ns: int) -> int:
    """Return what the run's name says, if it is asked for until the end of the load."""
    return int(run) if until_ns == 6 * SECOND else 0


def _found(sweep: Sweep, **runs: list[dict[str, Any]]) -> dict[str, Results]:
    verdicts = {cell.name: runs.get(cell.name.rpartition("/")[2].split("-")[0], []) for cell in sweep.cells}
    return {name: Results(dict(enumerate(verdicts_of, 1))) for name, verdicts_of in verdicts.items()}


def test_half_a_round_trip_is_told_beside_the_floor_and_the_published_one(sweep: Sweep) -> None:
    runs = [_verdict(indeterminate=2), _verdict("unknown", indeterminate=3)]
    comparison = side_by_side(sweep, _found(sweep, ping=runs), [Floor("TCP", 64, 100.0, None)], _received)

    floor, ours = comparison.round_trips
    assert (floor.name, floor.p50_us, floor.verdict, floor.published_us) == ("TCP", 100.0, "", None)
    assert (ours.name, ours.payload, ours.p50_us, ours.p99_us) == ("dds-reliable", 64, 200.0, 1000.0)
    assert (ours.published_us, ours.unanswered, ours.verdict) == (8.0, 3, "valid, unknown")
    assert not comparison.throughputs
    assert not comparison.fates


def test_throughput_is_what_was_received_in_the_time_of_the_load(sweep: Sweep) -> None:
    runs = [_verdict(sent=60, received=50, missed=10), _verdict(sent=70, received=70)]
    [rate] = side_by_side(sweep, _found(sweep, firehose=runs), [], _received).throughputs

    assert (rate.messages_per_s, rate.bytes_per_s) == (12.0, 12.0 * 8192)  # the median of 50 and 70, in 5 s
    assert (rate.sent, rate.found["missed"], rate.found["lost"], rate.verdict) == (130, 10, 0, "2 valid")


def test_what_did_not_arrive_is_told_with_the_reason(sweep: Sweep) -> None:
    runs = [_verdict(acked=100, received=150, missed=50), _verdict(acked=100, received=200, reasons=("no final read",))]
    fates = side_by_side(sweep, _found(sweep, feed=runs), [], _received).fates

    assert [(fate.name, fate.load) for fate in fates] == [("zenoh-drop", "feed-partition"), ("kafka-acks-0", "feed")]
    assert (fates[0].acked, fates[0].received) == (200, 350)
    assert fates[0].found == {"lost": 0, "missed": 50, "duplicate": 0, "redelivered": 0}
    assert "congestion: drop" in fates[0].why
    assert "no final read" in fates[0].why
    assert "not counted" not in fates[0].why


def test_the_floor_is_that_of_the_messages_that_go_round(sweep: Sweep) -> None:
    assert smallest(sweep) == 64


def test_a_published_figure_is_of_the_smallest_messages_alone() -> None:
    cells = ["dds-reliable/ping-pong-64B", "dds-reliable/ping-pong-8KiB"]
    sweep = load_sweep(find_sweep("sweeps/pubsub"), only=cells)
    trips = side_by_side(sweep, _found(sweep, ping=[_verdict()]), [], _received).round_trips

    assert [(trip.load, trip.published_us) for trip in trips] == [("ping-pong-64B", 8.0), ("ping-pong-8KiB", None)]


def test_round_trips_that_nobody_answered_have_no_time(sweep: Sweep) -> None:
    silent = {**_verdict(indeterminate=6), "latency": {"send_from_actual": {"without": 5}}}
    [trip] = side_by_side(sweep, _found(sweep, ping=[silent]), [], _received).round_trips

    assert (trip.p50_us, trip.p99_us, trip.unanswered) == (None, None, 5)


def test_cells_without_a_run_are_told(sweep: Sweep) -> None:
    results = _found(sweep, ping=[_verdict()])
    results["kafka-acks-0/feed"].broken[1] = "the broker did not start"
    comparison = side_by_side(sweep, results, [], _received)

    assert comparison.round_trips[0].verdict == "valid; 1 of 2 runs"
    assert "kafka-acks-0/feed: 1 failed" in comparison.lacking
    assert "zenoh-drop/firehose-8KiB: not run" in comparison.lacking
    assert len(comparison.lacking) == 3


def test_what_is_received_after_the_load_does_not_count(tmp_path: Path) -> None:
    generated(tmp_path / "any" / "20260101T000000-abc", messages=200)
    run = "any/20260101T000000-abc"

    assert received_until(tmp_path, run, 0) == 0
    assert received_until(tmp_path, run, 10**15) > 100


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("side_by_side: true\naxes: {system: {kafka: {}}}\n", r"side_by_side: needs two axes, .*, not 1 \(system\)"),
        (
            "published: {kafka: 8us}\naxes: {system: {kafka: {}}}\n",
            "published: is shown side by side only; add side_by",
        ),
    ],
)
def test_systems_side_by_side_have_two_axes_and_say_so(tmp_path: Path, written: str, words: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(written)
    with pytest.raises(BadInput, match=words):
        load_sweep(path)


def test_a_sweep_of_systems_side_by_side_writes_a_page_and_figures(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = _found(sweep, ping=[{**_verdict(), **_TABLED}], feed=[{**_verdict(acked=10, received=20), **_TABLED}])
    monkeypatch.setattr("chaoskit.cli.sweep.load_sweep", lambda *_: sweep)
    monkeypatch.setattr("chaoskit.cli.sweep.run_sweep", lambda *_: iter([results]))
    monkeypatch.setattr("chaoskit.search.side_by_side.floors", lambda size: [Floor("TCP", size, 100.0, None)])

    output = CliRunner().invoke(cli, ["sweep", "sweeps/pubsub", "--store", str(tmp_path)], standalone_mode=False).output

    assert "half a round trip" in output
    assert f"page: {tmp_path}/pubsub-sweep.html" in output
    assert "Half a round trip, 64B" in (tmp_path / "pubsub-sweep.html").read_text()
    written = json.loads((tmp_path / "pubsub-sweep.json").read_text())["side_by_side"]
    assert written["round_trips"][0]["name"] == "TCP"


def test_the_page_has_tables_and_charts(sweep: Sweep, tmp_path: Path) -> None:
    floor = [Floor("TCP", 64, 100.0, 300.0)]
    runs = _found(sweep, ping=[_verdict()], firehose=[_verdict(received=50)], feed=[_verdict(acked=10, received=20)])
    page = tmp_path / "page.html"
    write_side_by_side("pubsub", side_by_side(sweep, runs, floor, _received), page)

    text = page.read_text()
    for words in ("Half a round trip, 64B", "dds-reliable", "feed-partition", "published", "a subscriber lacks, %"):
        assert words in text


def test_published_figures_are_of_what_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("side_by_side: true\npublished: {kafak: 8us}\naxes:\n  system:\n    kafka: {}\n  load: {a: {}}\n")
    with pytest.raises(BadInput, match=r"mine\.yaml: published: no variant 'kafak' of system; did you mean"):
        load_sweep(path)
