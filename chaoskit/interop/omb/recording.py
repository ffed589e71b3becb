"""What recording takes of the load generator's processor, measured on this machine with a client that sends nowhere."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model import payload
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import OK

_MESSAGES, _BURST, _POLL = 16_000, 64, 500
_LOG_BYTES = 2**22
_TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class RecordingCost:
    """Processor time that recording takes for each message.

    Attributes:
        size: size of the messages in bytes.
        burst_us: building and recording one and its acknowledgement, us, where the client sends bursts.
        single_us: the same where it takes one message after the other.
        received_us: checking and recording one that was received, us.
    """

    size: int
    burst_us: float
    single_us: float
    received_us: float


class _Nowhere:
    """Keeps the reports, and the first payloads; see `chaoskit.model.message.DeliveryReports`."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.reports: list[Callable[[Any, Any], None]] = []

    def send_reported(self, topic: str, partition: int, key: bytes | None, payload: bytes, report: Any) -> bool:
        if len(self.payloads) < _POLL:
            self.payloads.append(payload)
        self.reports.append(report)
        return True

    def delivered(self, token: int, error: Any, message: Any) -> None:
        raise AssertionError("every message has a position")


class _Acknowledged:
    def offset(self) -> int:
        return 7


def recording_cost(size: int) -> RecordingCost:
    """Measure it; this takes less than a second.

    Args:
        size: size of a message in bytes.

    Raises:
        HistoryFull: there is no room for temporary files.
    """
    with tempfile.TemporaryDirectory() as folder, WalWriter(Path(folder), "nobody", 0, _LOG_BYTES) as wal:
        recorder, client = WalRecorder(wal, 1), _Nowhere()
        return RecordingCost(
            size,
            burst_us=_took_us(lambda: _bursts(recorder, client, payload.filler(size))),
            single_us=_took_us(lambda: _singles(recorder, payload.Writer(1, size))),
            received_us=_took_us(lambda: _polls(recorder, client.payloads)),
        )


def _took_us(act: Callable[[], None]) -> float:
    began_ns = time.thread_time_ns()
    act()
    return (time.thread_time_ns() - began_ns) / _MESSAGES / 1000


def _bursts(recorder: WalRecorder, client: _Nowhere, filler: bytes) -> None:
    burst, message = recorder.burst_through(client), _Acknowledged()
    routes = ((_TOPIC, recorder.topic_id(_TOPIC), 0, 0, None),)
    for sequence in range(0, _MESSAGES, _BURST):
        burst(lambda: None, routes, filler, 0, sequence, _BURST, 0, 0, 0.0)
        for report in client.reports:
            report(None, message)
        client.reports.clear()


def _singles(recorder: WalRecorder, writer: payload.Writer) -> None:
    topic_id = recorder.topic_id(_TOPIC)
    for value in range(_MESSAGES):
        now_ns = time.monotonic_ns()
        writer.build(value, now_ns, now_ns)
        recorder.completed(recorder.send(topic_id, 0, 0, value, now_ns, now_ns), OK, None, value)


def _polls(recorder: WalRecorder, payloads: list[bytes]) -> None:
    for first in range(0, _MESSAGES, _POLL):
        with recorder.operation("poll") as op:
            recorder.received(op, [Delivery(_TOPIC, 0, None, payload, first, None) for payload in payloads])
