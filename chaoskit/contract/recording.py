"""How clients record what they do: every operation, every message, and what they were told."""

from __future__ import annotations

from chaoskit.history.compacting.drivers import DriverLog
from chaoskit.history.format import payload
from chaoskit.history.format.occurrences import search as payloads
from chaoskit.history.recording.hot import delivered
from chaoskit.history.recording.recorder import Delivery, DeliveryReports, OperationFailed, Progress, Recorder
from chaoskit.history.recording.wal import NO_POSITION

__all__ = [
    "NO_POSITION",
    "Delivery",
    "DeliveryReports",
    "DriverLog",
    "OperationFailed",
    "Progress",
    "Recorder",
    "delivered",
    "payload",
    "payloads",
]
