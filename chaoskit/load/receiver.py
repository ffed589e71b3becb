"""Records what readers receive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from chaoskit.contract.clients.client import PositionLost
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import ClientReport
from chaoskit.model.message import PRODUCER_SHIFT, Delivery
from chaoskit.model.outcome import FAIL, OK
from chaoskit.model.place import Place

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000
NOBODY = -1
"""The number of no producer."""


class Source(Protocol):
    """A pollable source: a consumer of partitions, or of a subscription."""

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """See `chaoskit.contract.clients.client.Consumer`."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


S = TypeVar("S", bound=Source)


class Poller(Generic[S]):
    """Polls a source and records every operation and every message.

    Args:
        recorder: the client's recorder.
        source: the source.
        f: name of the operation.
        prober: number of the producer of the probes; `NOBODY` if nothing needs to be counted.

    Attributes:
        error: the last error of the source; empty if there was none.
        probed: the partitions, by their names in the system, of which a probe of the final read was received.
        received: how many messages were received, by partition.
    """

    def __init__(self, recorder: Recorder, source: S, f: str, prober: int = NOBODY) -> None:
        self.source = source
        self.recorder = recorder
        self.error: str = ""
        self.probed: set[Place] = set()
        self.received: Counter[Place] = Counter()
        self._f = f
        self._prober = prober

    def poll(self) -> list[tuple[int, Delivery]]:
        """Receive what is available; return deliveries with their values."""
        op = self.recorder.invoke(self._f)
        deliveries, lost, error = self.source.poll(_POLL_TIMEOUT_S, _MESSAGES_MAX)
        received_ns, values = self.recorder.received(op, deliveries)
        self.recorder.complete(op, OK if error is None else FAIL, error, received_ns)
        self.error = error or self.error
        for lost_position in lost:
            self.go_on(lost_position)
        received = list(zip(values, deliveries, strict=True))
        if self._prober != NOBODY:
            self._count(received)
        return received

    def _count(self, received: Sequence[tuple[int, Delivery]]) -> None:
        for value, (topic, partition, *_) in received:
            self.received[topic, partition] += 1
            if value >> PRODUCER_SHIFT == self._prober:
                self.probed.add((topic, partition))

    def told(self) -> ClientReport:
        """Return what a member of a group reports to the harness."""
        return {
            "probed": sorted(map(self._named, self.probed)),
            "received": {self._named(place): count for place, count in self.received.items()},
        }

    def _named(self, place: Place) -> str:
        return f"{self.recorder.in_history(place[0])}/{place[1]}"

    def go_on(self, lost: PositionLost) -> None:
        """Do nothing: a source without positions cannot lose one."""

    def close(self) -> None:
        """Disconnect."""
        op = self.recorder.invoke("close")
        self.source.close()
        self.recorder.complete(op)
