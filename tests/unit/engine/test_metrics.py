"""Counts, latency and availability are those of the history, against numpy and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.latency import histogram, summary, write_histogram
from chaoskit.history.compact import compact
from chaoskit.history.models import DataModel, write_topics
from chaoskit.history.origin import read_origin, write_origin
from chaoskit.history.reader import History
from chaoskit.history.schema import FAIL, INFO, OK
from chaoskit.history.wal import NO_TIME, WalWriter
from chaoskit.judge.metrics import availability, measure

MS = 1_000_000


@given(st.lists(st.integers(1_000, 10**12), min_size=1, max_size=200))
def test_percentiles_are_those_of_numpy_to_three_digits(durations: list[int]) -> None:
    told = summary(histogram(np.array(durations)))

    points = {"p50_ms": 50, "p99_ms": 99, "p999_ms": 99.9, "max_ms": 100}
    for name, point in points.items():
        exact = float(np.percentile(durations, point, method="inverted_cdf")) / MS
        assert told[name] == pytest.approx(exact, rel=2e-3, abs=1e-3)


def test_no_latency_has_no_percentiles(tmp_path: Path) -> None:
    empty = histogram(np.zeros(0, np.int64))

    write_histogram(empty, tmp_path / "latency" / "send.hgrm")

    assert summary(empty) == {}
    assert "#[Mean" in (tmp_path / "latency" / "send.hgrm").read_text()


def test_a_histogram_file_counts_every_value(tmp_path: Path) -> None:
    write_histogram(histogram(np.arange(1, 501) * MS), tmp_path / "send.hgrm")

    text = (tmp_path / "send.hgrm").read_text()
    counted = [int(line.split()[2]) for line in text.splitlines() if line and line.strip()[0].isdigit()]
    assert counted[-1] == 500
    assert text.splitlines()[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]


def _available(ends_ms: list[int], healed_ms: list[int], start_ms: int = 0, end_ms: int = 100) -> tuple[float, object]:
    ends = np.array(ends_ms, np.int64) * MS
    told = availability(ends, start_ms * MS, end_ms * MS, [(0, at * MS) for at in healed_ms])
    return told["longest_unavailable_ms"], told["recovered_after_heal_ms"]


@pytest.mark.parametrize(
    ("ends_ms", "longest_ms"),
    [
        (list(range(0, 101, 10)), 10),
        ([90, 10, 20, 70], 50),  # in any order
        ([60, 100], 60),  # from the start of the load
        ([0, 30], 70),  # to its end
        ([], 100),
        ([150], 150),  # to the first that completed after it
    ],
)
def test_the_longest_gap_counts_while_sends_were_due(ends_ms: list[int], longest_ms: int) -> None:
    assert _available(ends_ms, [])[0] == longest_ms


@pytest.mark.parametrize(
    ("fault", "unavailable_ms", "recovered_ms"),
    [
        ((25, 35), 40, 25),  # from 20 to 60, healed within
        ((25, 70), 40, 20),
        ((5, 15), 10, 5),
        ((60, 61), 30, 29),  # begun at a completion: what follows it counts
        ((50, None), 40, None),  # never healed
        ((95, 99), 10, 1),
        ((120, 130), None, None),  # after the load
    ],
)
def test_each_fault_has_its_own_gap_and_recovery(
    fault: tuple[int, int | None], unavailable_ms: float, recovered_ms: float | None
) -> None:
    start, healed = fault
    ends = np.array([10, 20, 60, 90, 100], np.int64) * MS

    told = availability(ends, 0, 100 * MS, [(start * MS, None if healed is None else healed * MS)])["by_fault"]

    assert told == [{"unavailable_ms": unavailable_ms, "recovered_after_heal_ms": recovered_ms}]


def test_a_load_that_never_began_was_not_unavailable() -> None:
    assert _available([], [], start_ms=0, end_ms=0) == (0, None)


@pytest.mark.parametrize(
    ("healed_ms", "back_ms"),
    [([], None), ([200], None), ([40], 10), ([50], 0), ([40, 60], 30), ([40, 150], 10), ([40, 91], None), ([95], None)],
)
def test_recovery_is_the_longest_wait_from_a_healing_to_the_next_send(
    healed_ms: list[int], back_ms: int | None
) -> None:
    assert _available([10, 50, 90], healed_ms)[1] == back_ms


@pytest.fixture
def history(tmp_path: Path) -> History:
    """One warm-up send, four sends of the load, three received messages, and an audit that does not count."""
    wal = tmp_path / "wal"
    wal.mkdir()
    write_origin(wal)
    write_topics(wal, {"t": DataModel.LOG})
    origin = read_origin(wal)
    with WalWriter(wal, "producer-0", 0) as log:
        topic = log.name("t")
        for sequence, (intended_ms, sent_ms, end_ms, outcome) in enumerate(
            [(5, 5, 105, OK), (10, 12, 14, OK), (20, 20, 21, FAIL), (30, 34, 38, OK), (40, 40, 90, INFO)]
        ):
            op = log.send(topic, 0, 0, sequence, origin + intended_ms * MS, origin + sent_ms * MS)
            log.complete(op, origin + end_ms * MS, outcome)
    for process, client in enumerate(["consumer-0", "auditor"], start=1):
        with WalWriter(wal, client, process) as log:
            topic = log.name("t")
            poll = log.invoke(log.name("poll"), origin + 50 * MS)
            for value, intended_ms in [(0, 5), (1, 10), (3, 30)]:
                at = origin + intended_ms * MS
                log.received(poll, topic, 0, 0, value, value, at, at, origin + 50 * MS, 0)
            log.received(poll, topic, 0, 0, -1, 9, NO_TIME, NO_TIME, origin + 50 * MS, 1)
            log.complete(poll, origin + 50 * MS, OK)
    compact(tmp_path)
    return History.open(tmp_path)


def test_a_history_is_measured(history: History, tmp_path: Path) -> None:
    measured = measure(history, tmp_path / "latency", [(0, 13 * MS)], 10 * MS)

    assert measured["counts"] == {"sent": 5, "acked": 3, "failed": 1, "indeterminate": 1, "received": 4}
    assert measured["availability"] == {
        "longest_unavailable_ms": 24.0,
        "recovered_after_heal_ms": 1.0,
        "by_fault": [{"unavailable_ms": 2.0, "recovered_after_heal_ms": 1.0}],
    }
    assert sorted(path.name for path in (tmp_path / "latency").iterdir()) == [
        "end_to_end.hgrm",
        "send.hgrm",
        "send_from_actual.hgrm",
    ]


def test_latency_counts_from_the_intended_time_and_leaves_out_the_warm_up(history: History, tmp_path: Path) -> None:
    latency = measure(history, tmp_path / "latency", [], 10 * MS)["latency"]

    assert latency["send"]["p50_ms"] == pytest.approx(4, rel=1e-3)
    assert latency["send"]["max_ms"] == pytest.approx(8, rel=1e-3)
    assert latency["send_from_actual"]["max_ms"] == pytest.approx(4, rel=1e-3)
    assert latency["end_to_end"]["p50_ms"] == pytest.approx(20, rel=1e-3)
    assert latency["end_to_end"]["max_ms"] == pytest.approx(40, rel=1e-3)


def test_rates_are_those_of_the_load(history: History, tmp_path: Path) -> None:
    rates = measure(history, tmp_path / "latency", [], 10 * MS)["rates"]

    assert rates == {"sends_per_s": pytest.approx(4 / 0.028, abs=0.1), "acks_per_s": pytest.approx(2 / 0.028, abs=0.1)}


def test_a_run_that_sent_nothing_is_measured(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    compact(tmp_path)

    measured = measure(History.open(tmp_path), tmp_path / "latency", [], 0)

    assert set(measured["counts"].values()) == {0}
    assert measured["latency"] == {"send": {}, "send_from_actual": {}, "end_to_end": {}}
