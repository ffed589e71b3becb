"""OMB's result from a history: all fields in OMB's order and units, and true figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.recording.wal import WalWriter
from chaoskit.interop.omb.result import measured, result
from chaoskit.interop.omb.workload import OmbWorkload
from chaoskit.model.outcome import FAIL, INFO
from chaoskit.model.payload import OK

BENCH = Path(__file__).parents[3] / "docs" / "bench.md"
_POINTS = ("Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")
_FIELDS = [
    "workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic",
    "publishRate", "publishErrorRate", "consumeRate", "backlog",
    *(f"publishLatency{point}" for point in _POINTS),
    *(f"publishDelayLatency{point}" for point in _POINTS),
    *(f"aggregatedPublishLatency{point}" for point in _POINTS),
    *(f"aggregatedPublishDelayLatency{point}" for point in _POINTS),
    "aggregatedPublishLatencyQuantiles", "aggregatedPublishDelayLatencyQuantiles",
    *(f"endToEndLatency{point}" for point in _POINTS),
    "aggregatedEndToEndLatencyQuantiles",
    *(f"aggregatedEndToEndLatency{point}" for point in _POINTS),
]  # fmt: skip
_MS, _S = 1_000_000, 1_000_000_000
_WORKLOAD = OmbWorkload(
    name="w", topics=1, partitionsPerTopic=1, messageSize=100, producersPerTopic=1, consumerPerSubscription=1,
    producerRate=100, testDurationMinutes=0.4,
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """25 s at 100/s, of which 5 s are warm-up: sends take 3 ms (99 of 100) or 40 ms, calls are 250 us late, messages
    travel 700 us after their acknowledgement; one send in 1,000 fails or times out; the last 50 messages are never
    received."""
    (tmp_path / "wal").mkdir()
    start_ns = write_origin(tmp_path / "wal") + _S
    write_topics(tmp_path / "wal", {"t": LOG.name})
    with (
        WalWriter(tmp_path / "wal", "producer-0", 0) as producer,
        WalWriter(tmp_path / "wal", "consumer-0", 1) as consumer,
        WalWriter(tmp_path / "wal", "auditor", 2) as auditor,
    ):
        topics = [client.name("t") for client in (producer, consumer, auditor)]
        for number in range(2500):
            due_ns = start_ns + number * 10 * _MS
            sent_ns = due_ns + 250_000
            done_ns = sent_ns + (40 if number % 100 == 99 else 3) * _MS
            op = producer.send(topics[0], 0, 0, number, due_ns, sent_ns)
            if number % 1000 == 500:
                producer.complete(op, done_ns, FAIL if number == 500 else INFO, producer.name("refused"))
                continue
            producer.complete(op, done_ns, 0, position=number)
            for log, topic in ((consumer, topics[1]), (auditor, topics[2])):
                if log is consumer and number >= 2450:
                    continue
                read = log.invoke(log.name("poll"), done_ns)
                log.received(read, topic, 0, 0, number, number, due_ns, sent_ns, done_ns + 700_000, OK)
                log.complete(read, done_ns + 700_000, 0)
        probe = auditor.send(topics[2], 0, 0, 1 << 40, start_ns + 10 * _S, start_ns + 10 * _S)
        auditor.complete(probe, start_ns + 11 * _S, 0, position=9999)
    compact(tmp_path)
    return tmp_path


def _result(run: Path) -> dict[str, Any]:
    return result(measured(run, _S, 5 * _S, 20 * _S), _WORKLOAD, "Kafka")


def test_all_fields_in_their_order(run: Path) -> None:
    document = _result(run)

    assert list(document) == _FIELDS
    assert f"all {len(document)} fields" in BENCH.read_text(encoding="utf-8")
    series = [value for value in document.values() if isinstance(value, list)]
    assert {len(values) for values in series} == {2}, "periods of 10 s; the warm-up is not in the file"


def test_the_figures_are_true(run: Path) -> None:
    document = _result(run)

    assert document["publishRate"] == pytest.approx([100, 100], abs=0.3)
    assert document["publishErrorRate"] == [0.1, 0.1]
    assert document["consumeRate"] == pytest.approx([100, 95], abs=0.3)
    assert document["backlog"][0] <= 5
    assert 50 <= document["backlog"][1] <= 55
    assert document["aggregatedPublishLatency50pct"] == 3
    assert document["aggregatedPublishLatency95pct"] == 3
    assert document["aggregatedPublishLatency999pct"] == 40
    assert document["aggregatedPublishLatencyMax"] == 40
    assert document["aggregatedPublishLatencyAvg"] == pytest.approx(3.37, abs=0.01)
    assert document["publishDelayLatency99pct"] == [250, 250], "us"
    assert document["publishDelayLatencyAvg"] == [250, 250]
    assert document["endToEndLatency50pct"] == [3.7, 3.7], "fractions of milliseconds count"
    assert isinstance(document["aggregatedPublishDelayLatencyMax"], int)


def test_quantiles_ascend_to_the_maximum(run: Path) -> None:
    document = _result(run)

    for name in ("Publish", "PublishDelay", "EndToEnd"):
        levels = document[f"aggregated{name}LatencyQuantiles"]
        keys, values = [float(key) for key in levels], list(levels.values())
        assert keys == sorted(keys)
        assert keys[-1] == 100
        assert values == sorted(values)
        assert values[-1] == pytest.approx(document[f"aggregated{name}LatencyMax"], rel=1e-3)
    quantiles = document["aggregatedPublishLatencyQuantiles"]
    assert np.interp(50, [float(key) for key in quantiles], list(quantiles.values())) == pytest.approx(3, rel=1e-2)


def test_a_run_without_consumers(run: Path) -> None:
    measurements = measured(run, _S, 5 * _S, 7 * _S)
    document = result(measurements, _WORKLOAD.model_copy(update={"subscriptionsPerTopic": 0}), "Kafka")

    assert len(document["publishRate"]) == 1, "a test of less than a period is one period"
    assert document["backlog"] == [0]
    assert read_origin(run / "wal") > 0
