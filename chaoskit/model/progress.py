"""How far a client is."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaoskit.base import latency


@dataclass(slots=True)
class Progress:
    """What a client has done so far.

    Attributes:
        sent, acked, failed, indeterminate, received: numbers of messages.
        latency: latency of the sends acknowledged since the last report, measured from when they were due: HDR buckets
            of microseconds and their counts (`chaoskit.base.latency`).
    """

    sent: int = 0
    acked: int = 0
    failed: int = 0
    indeterminate: int = 0
    received: int = 0
    latency: latency.Sparse = field(default_factory=lambda: ([], []))

    @property
    def lag(self) -> int:
        """Number of acknowledged messages that were not received yet."""
        return self.acked - self.received
