"""Counts, latency and availability are those of the history, against numpy and by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import MS, STALLED, Sent, fault, figures_of, load, recorded

from chaoskit.base.latency import histogram, summary, write_histogram
from chaoskit.base.store import write_json
from chaoskit.contract.workloads.datamodel import LOG, PUBSUB
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import NO_TIME, WalWriter
from chaoskit.judge.timing.timing import Load, load_of
from chaoskit.model.outcome import FAIL, INFO, OK


@given(st.lists(st.integers(1_000, 10**12), min_size=1, max_size=200))
def test_percentiles_are_those_of_numpy_to_three_digits(durations: list[int]) -> None:
    percentiles = summary(histogram(np.array(durations)))

    points = {"p50_ms": 50, "p99_ms": 99, "p999_ms": 99.9, "p9999_ms": 99.99, "max_ms": 100}
    for name, point in points.items():
        exact = float(np.percentile(durations, point, method="inverted_cdf")) / MS
        assert percentiles[name] == pytest.approx(exact, rel=2e-3, abs=1e-3)


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


def test_sends_that_were_due_and_never_made_are_counted(tmp_path: Path) -> None:
    figures = figures_of(recorded(tmp_path, STALLED), load(19_000, last_ms=7_990, every_ms=10))

    assert figures["counts"]["sent"] == 800
    assert figures["counts"]["never_made"] == 1_100
    send = figures["latency"]["send"]
    assert (send["without"], send["max_ms"]) == (1_500, pytest.approx(1, rel=1e-2))
    assert send["all_due"]["p50_ms"] == pytest.approx(5_500, rel=1e-2)  # that of the 550th from the end of the load
    assert send["all_due"]["max_ms"] == pytest.approx(56_000, rel=1e-3)  # given up at 60 s
    assert figures["latency"]["send_from_actual"]["without"] == 400


def test_nothing_is_owed_at_the_maximum_rate_and_nothing_is_known_of_an_unknown_rate(tmp_path: Path) -> None:
    history = recorded(tmp_path, STALLED)

    fastest = figures_of(history, load(19_000, last_ms=7_990, every_ms=0))
    assert fastest["counts"]["never_made"] == 0
    assert fastest["availability"]["longest_unavailable_ms"] == 15_000
    assert figures_of(history, load(19_000))["counts"]["never_made"] is None


def test_a_message_that_is_sent_again_makes_up_for_no_other(tmp_path: Path) -> None:
    sends: list[Sent] = [(0, 0, 5, INFO), (0, 0, 7, OK), (0, 10, 12, OK)]

    figures = figures_of(recorded(tmp_path, sends, values=[0, 0, 1]), load(30, every_ms=10))

    assert (figures["counts"]["sent"], figures["counts"]["never_made"]) == (3, 1)


def test_a_client_that_starts_again_owes_what_was_due_in_between() -> None:
    paced = load(1_000, every_ms=10)
    bins = paced.bins(np.array([*range(0, 300, 10), *range(505, 1_000, 10)], np.int64) * MS)

    due_ns, missing = paced.never_made(*np.unique(bins, return_counts=True))

    assert missing.sum() == 20
    assert (due_ns.min() // MS, due_ns.max() // MS) == (305, 495)


@given(st.integers(1, 5), st.integers(1, 700), st.integers(0, 300), st.integers(301, 5_000))
def test_a_schedule_that_was_kept_owes_nothing(clients: int, every_us: int, start_ms: int, end_ms: int) -> None:
    every_ns = every_us * 1_000 / 3
    paced = Load(start_ms * MS, (start_ms + end_ms // 100) * MS, 0, every_ns, clients)
    count = int(np.ceil((paced.end_ns - paced.begin_ns) / every_ns))
    due_ns = np.tile(paced.begin_ns + (np.arange(count) * every_ns).astype(np.int64), clients)

    assert paced.never_made(*np.unique(paced.bins(due_ns), return_counts=True))[1].sum() == 0


def test_latency_outside_faults_under_them_and_after_them_is_told_apart(tmp_path: Path) -> None:
    sends: list[Sent] = [
        (0, 1_000, 1_001, OK),  # long before
        (0, 2_990, 8_000, OK),  # due before, but caught by the fault
        (0, 5_000, 9_000, FAIL),
        (0, 6_000, 6_005, OK),  # right after it was healed
        (0, 8_900, 8_902, OK),  # as long after as it had lasted
        (0, 9_000, 9_001, OK),
    ]

    latency = figures_of(recorded(tmp_path, sends), load(10_000), fault(3_000, 5_500, 6_000))["latency"]

    phases = {name: latency[name]["send"] for name in ("quiet", "under_faults", "after_faults")}
    maxima = {name: phase["max_ms"] for name, phase in phases.items()}
    assert maxima == pytest.approx({"quiet": 1, "under_faults": 5_010, "after_faults": 5}, rel=1e-2)
    assert {name: phase["without"] for name, phase in phases.items()} == {
        "quiet": 0,
        "under_faults": 1,
        "after_faults": 0,
    }
    assert latency["send"]["p99_ms"] == pytest.approx(5_010, rel=1e-2)  # of all together: the outage


def test_who_pays_for_a_fault_of_some_producers_is_told(tmp_path: Path) -> None:
    sends: list[Sent] = [
        (0, 1_000, 1_001, OK),
        (0, 3_000, 5_000, OK),
        (0, 3_000, 3_002, OK),
        (0, 3_100, 3_103, FAIL),
        (0, 8_000, 8_900, OK),  # after the healing
    ]
    names = ["producer-0", "producer-0", "producer-1", "producer-1", "producer-0"]
    history = recorded(tmp_path, sends, producers=names)
    quota = fault(2_500, 5_500, 6_000)

    latency = figures_of(history, load(10_000), replace(quota, producers=frozenset({"producer-0"})))["latency"]

    assert latency["hit_producers"]["max_ms"] == pytest.approx(2_000, rel=1e-2)
    assert latency["other_producers"]["max_ms"] == pytest.approx(2, rel=1e-2)
    for producers in ((), names):
        others = figures_of(history, load(10_000), replace(quota, producers=frozenset(producers)))["latency"]
        assert "hit_producers" not in others, "all pay, or nobody was chosen"


SENDS: list[Sent] = [(0, 0, 1, OK), (0, 10, 11, OK), (0, 20, 21, OK)]


@pytest.mark.parametrize(
    ("received", "group", "latencies_ms"),
    [
        ([("consumer-0", 0, 5), ("consumer-0", 1, 15), ("consumer-0", 0, 900)], "", [5, 5]),  # after a seek
        ([("consumer-0", 0, 5), ("consumer-0#1", 0, 900)], "", [5]),  # after a crash
        ([("consumer-0", 0, 5), ("consumer-1", 0, 900)], "g", [5]),  # delivered again, to another member
        ([("consumer-0", 0, 5), ("consumer-1", 0, 900)], "", [5, 900]),  # by two independent readers
    ],
)
def test_a_message_that_is_read_again_is_not_delivered_again(
    received: list[tuple[str, int, int]], group: str, latencies_ms: list[int], tmp_path: Path
) -> None:
    figures = figures_of(recorded(tmp_path, SENDS, received, group=group), load(100))

    assert figures["counts"]["received"] == len(received)
    end_to_end = figures["latency"]["end_to_end"]
    assert end_to_end["max_ms"] == pytest.approx(max(latencies_ms), rel=1e-3)
    assert end_to_end["without"] == 3 - len({value for _, value, _ in received})
    assert re.search(rf"TotalCount += +{len(latencies_ms)}\.0", (tmp_path / "latency" / "end_to_end.hgrm").read_text())


def test_each_group_is_a_reader_of_its_own(tmp_path: Path) -> None:
    received = [("consumer-0", 0, 5), ("consumer-1", 0, 900), ("consumer-2", 0, 950), ("consumer-0", 1, 15)]
    groups = {"consumer-0": "g", "consumer-1": "h", "consumer-2": "h"}

    end_to_end = figures_of(recorded(tmp_path, SENDS, received, group=groups), load(100))["latency"]["end_to_end"]

    assert end_to_end["max_ms"] == pytest.approx(900, rel=1e-3), "the second member of h had it again"
    assert end_to_end["without"] == 1 + 2, "what each group did not get"


def test_each_subscriber_of_a_topic_that_keeps_nothing_is_a_reader_of_its_own(tmp_path: Path) -> None:
    received = [("consumer-0", 0, 5), ("consumer-1", 0, 900)]

    figures = figures_of(recorded(tmp_path, SENDS, received, group="exactly-once", model=PUBSUB), load(100))

    assert figures["latency"]["end_to_end"]["max_ms"] == pytest.approx(900, rel=1e-3)


def test_the_load_is_what_the_run_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, STALLED)
    assert load_of(tmp_path) == Load(0, 7_990 * MS, 7_990 * MS)

    paced = {"per_second": 200, "clients": 2}
    write_json(
        tmp_path / "recovery.json",
        {"recovered": None, "load_start_ns": 50, "load": {"end_ns": 19_000 * MS, "paced": paced}},
    )

    assert load_of(tmp_path) == Load(50, 19_000 * MS, 7_990 * MS, 10 * MS, 2)


@pytest.fixture
def history(tmp_path: Path) -> History:
    """One warm-up send, four sends of the load, three received messages, and an audit that does not count."""
    wal = tmp_path / "wal"
    wal.mkdir()
    write_origin(wal)
    write_topics(wal, {"t": LOG.name})
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
    measured = figures_of(history, load(40, start_ms=10), fault(0, None, 13))

    outcomes = {"sent": 5, "acked": 3, "failed": 1, "indeterminate": 1}
    assert measured["counts"] == {**outcomes, "acked_in_load": 2, "never_made": None, "received": 4}
    again = {"recovered_after_heal_ms": 1.0, "recovered_after_undoing_ms": None}
    recovered = {**again, "not_recovered": 0}
    assert measured["availability"] == {
        "longest_unavailable_ms": 18.0,
        **recovered,
        "partitions": [
            {"partition": "t/0", "longest_unavailable_ms": 18.0, "from_s": 0.02, "recovered": True, **again}
        ],
        "by_fault": [{"unavailable_ms": 4.0, "unavailable_in": "t/0", "unheard_ms": None, **recovered}],
    }
    assert sorted(path.name for path in (tmp_path / "latency").iterdir()) == [
        "end_to_end.hgrm",
        "send.hgrm",
        "send_all_due.hgrm",
        "send_from_actual.hgrm",
    ]


def test_latency_counts_from_the_intended_time_and_leaves_out_the_warm_up(history: History, tmp_path: Path) -> None:
    latency = figures_of(history, load(40, start_ms=10))["latency"]

    assert latency["send"]["p50_ms"] == pytest.approx(4, rel=1e-3)
    assert latency["send"]["max_ms"] == pytest.approx(8, rel=1e-3)
    assert latency["send_from_actual"]["max_ms"] == pytest.approx(4, rel=1e-3)
    assert latency["end_to_end"]["p50_ms"] == pytest.approx(20, rel=1e-3)
    assert latency["end_to_end"]["max_ms"] == pytest.approx(40, rel=1e-3)


def test_rates_are_those_of_the_load(history: History, tmp_path: Path) -> None:
    rates = figures_of(history, load(40, start_ms=10))["rates"]

    assert rates == {
        "sends_per_s": pytest.approx(4 / 0.030, abs=0.1),
        "acks_per_s": pytest.approx(2 / 0.030, abs=0.1),
        "due_per_s": 0.0,
    }


def test_a_run_that_sent_nothing_is_measured(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    compact(tmp_path)

    measured = figures_of(History.open(tmp_path), load(0, every_ms=10))

    assert set(measured["counts"].values()) == {0}
    phases: dict[str, Any] = {
        name: {"send": {}, "end_to_end": {}} for name in ("quiet", "under_faults", "after_faults")
    }
    assert measured["latency"] == {"send": {}, "send_from_actual": {}, "end_to_end": {}, **phases}
