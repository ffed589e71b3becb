"""OMB's result: the 62 fields of its JSON, in their order, from the history of a run.

Times are exact to the nanosecond and every message counts, where OMB's end-to-end latency is in whole milliseconds and
leaves out what arrived within one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import latency
from chaoskit.base.errors import BadInput
from chaoskit.history.reading.reader import History
from chaoskit.interop.omb.workload import OmbWorkload
from chaoskit.model.operation import AUDITOR, SENDING

Ints = npt.NDArray[np.int64]

_PERIOD_NS = 10_000_000_000
_MS, _US = 1e6, 1e3
_POINTS = {"50pct": 50, "75pct": 75, "95pct": 95, "99pct": 99, "999pct": 99.9, "9999pct": 99.99, "Max": 100}
_TICKS = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """The messages of a run that count, without those of the warm-up and of the final read.

    Attributes:
        start_ns, end_ns: what is measured, ns since the start of the run.
        done_ns, took_ns, late_ns: of each acknowledged send: when it was acknowledged, how long after the call, and how
            late the call was.
        failed_ns: when sends failed, or were given up without an answer, which is the same to OMB.
        sent_ns: when each message was sent, in order, warm-up included.
        received_ns, travelled_ns: of each delivery: when it was received, and how long after it was sent.
        all_received_ns: when each message was received, in order, warm-up included.
    """

    start_ns: int
    end_ns: int
    done_ns: Ints
    took_ns: Ints
    late_ns: Ints
    failed_ns: Ints
    sent_ns: Ints
    received_ns: Ints
    travelled_ns: Ints
    all_received_ns: Ints

    @property
    def due_p99_ms(self) -> float:
        """The 99th percentile of the time from when a send was due to its acknowledgement; 0 if there was none."""
        whole_ns = self.took_ns + self.late_ns
        return float(np.percentile(whole_ns, 99, method="inverted_cdf")) / _MS if whole_ns.size else 0.0


def measured(folder: Path, load_start_ns: int, warm_up_ns: int, length_ns: int) -> Measured:
    """Read what was measured in a run.

    Args:
        folder: the run folder.
        load_start_ns: start of the load, ns since the start of the run.
        warm_up_ns: how much of it does not count.
        length_ns: how much counts.
    """
    history, start_ns = History.open(folder), load_start_ns + warm_up_ns
    end_ns = start_ns + length_ns
    operations = history.operations
    auditor = np.asarray(pc.equal(operations["client"].cast("string"), AUDITOR))
    sending = np.asarray(pc.is_in(operations["f"].cast("string"), value_set=pa.array(SENDING)))
    acked = np.asarray(pc.equal(operations["outcome"].cast("string"), "ok"))
    done = operations["end_ns"].fill_null(-1).to_numpy()
    parts: list[tuple[Ints, ...]] = []
    for partition in history.partitions:
        table = history.messages(partition.topic, partition.partition)
        op = table["op"].to_numpy()
        sent = np.asarray(pc.equal(table["direction"].cast("string"), "sent"))
        own = ~auditor[op] & np.asarray(pc.equal(table["payload"].cast("string"), "ok"))
        due_ns, sent_ns = (table[name].fill_null(-1).to_numpy() for name in ("intended_ns", "sent_ns"))
        received_ns = table["received_ns"].fill_null(-1).to_numpy()
        sends = sent & own & (due_ns >= load_start_ns)
        arrived = ~sent & own & (due_ns >= load_start_ns)
        good = sends & acked[op] & (done[op] >= start_ns) & (done[op] < end_ns)
        counted = arrived & (received_ns >= start_ns) & (received_ns < end_ns)
        parts.append(
            (
                done[op][good],
                (done[op] - sent_ns)[good],
                (sent_ns - due_ns)[good],
                sent_ns[sends],
                received_ns[counted],
                (received_ns - sent_ns)[counted],
                received_ns[arrived],
            )
        )
    if not parts:
        raise BadInput(f"{folder}: no message was sent")
    done_ns, took_ns, late_ns, sent_ns, received_ns, travelled_ns, all_ns = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    failures = done[sending & ~acked & ~auditor]
    return Measured(
        start_ns=start_ns,
        end_ns=end_ns,
        done_ns=done_ns,
        took_ns=took_ns,
        late_ns=late_ns,
        failed_ns=failures[(failures >= start_ns) & (failures < end_ns)],
        sent_ns=np.sort(sent_ns),
        received_ns=received_ns,
        travelled_ns=travelled_ns,
        all_received_ns=np.sort(all_ns),
    )


def result(measurements: Measured, workload: OmbWorkload, driver: str) -> dict[str, Any]:
    """Return OMB's result.

    Args:
        measurements: what was measured.
        workload: the workload.
        driver: the driver's name.
    """
    edges = np.append(np.arange(measurements.start_ns, measurements.end_ns, _PERIOD_NS), measurements.end_ns)
    if len(edges) > 2 and edges[-1] - edges[-2] < _PERIOD_NS:
        edges = np.delete(edges, -2)
    lasts_s = np.diff(edges) / 1e9

    def rate(times_ns: Ints) -> list[float]:
        return [round(float(count), 3) for count in np.histogram(times_ns, edges)[0] / lasts_s]

    waiting = np.searchsorted(measurements.sent_ns, edges[1:]) * workload.subscriptionsPerTopic
    waiting = np.maximum(0, waiting - np.searchsorted(measurements.all_received_ns, edges[1:]))
    publish = _Series(measurements.done_ns, measurements.took_ns, edges, _MS)
    delay = _Series(measurements.done_ns, measurements.late_ns, edges, _US)
    travel = _Series(measurements.received_ns, measurements.travelled_ns, edges, _MS)
    return {
        "workload": workload.name,
        "driver": driver,
        "messageSize": workload.messageSize,
        "topics": workload.topics,
        "partitions": workload.partitionsPerTopic,
        "producersPerTopic": workload.producersPerTopic,
        "consumersPerTopic": workload.consumerPerSubscription,
        "publishRate": rate(measurements.done_ns),
        "publishErrorRate": rate(measurements.failed_ns),
        "consumeRate": rate(measurements.received_ns),
        "backlog": waiting.tolist(),
        **publish.by_period("publishLatency"),
        **delay.by_period("publishDelayLatency"),
        **publish.whole("aggregatedPublishLatency"),
        **delay.whole("aggregatedPublishDelayLatency"),
        "aggregatedPublishLatencyQuantiles": publish.quantiles(),
        "aggregatedPublishDelayLatencyQuantiles": delay.quantiles(),
        **travel.by_period("endToEndLatency"),
        "aggregatedEndToEndLatencyQuantiles": travel.quantiles(),
        **travel.whole("aggregatedEndToEndLatency"),
    }


class _Series:
    """Durations in a unit of OMB's; whole numbers in microseconds, as OMB's, but for the mean."""

    def __init__(self, at_ns: Ints, durations_ns: Ints, edges: Ints, unit: float) -> None:
        order = np.argsort(at_ns, kind="stable")
        self._durations_ns = durations_ns[order]
        self._cuts = np.searchsorted(at_ns[order], edges)
        self._unit = unit

    def by_period(self, prefix: str) -> dict[str, list[float]]:
        rows = [
            self._statistics(self._durations_ns[first:last])
            for first, last in zip(self._cuts[:-1], self._cuts[1:], strict=True)
        ]
        return {f"{prefix}{name}": [row[name] for row in rows] for name in ("Avg", *_POINTS)}

    def whole(self, prefix: str) -> dict[str, float]:
        return {f"{prefix}{name}": value for name, value in self._statistics(self._durations_ns).items()}

    def quantiles(self) -> Mapping[str, float]:
        levels = latency.quantiles(latency.histogram(self._durations_ns), _TICKS)
        return {repr(level): self._scaled(us * 1000) for level, us in levels}

    def _statistics(self, durations_ns: Ints) -> dict[str, float]:
        if not durations_ns.size:
            return dict.fromkeys(("Avg", *_POINTS), self._scaled(0))
        points = np.percentile(durations_ns, list(_POINTS.values()), method="inverted_cdf")
        mean = round(float(durations_ns.mean()) / self._unit, 3)
        return {"Avg": mean, **{name: self._scaled(value) for name, value in zip(_POINTS, points, strict=True)}}

    def _scaled(self, ns: float) -> float:
        return int(ns / _US) if self._unit == _US else round(float(ns) / self._unit, 3)
